// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/Task.h"
#include "models/VersionInfo.h"
#include "widgets/KeyValueList.h"

#include <QWidget>

class QPushButton;
class QStackedWidget;

namespace modulelens::widgets {
class DifferenceView;
class EmptyState;
class NoteRow;
class SegmentedControl;
} // namespace modulelens::widgets

namespace modulelens::explorer {

class PythonHighlighter;
class Session;
class SourceEditPanel;
class SourceView;

/// Constructor arguments and class source of a captured module, and the edit of that source with what came of it. Captured
/// source is shown and not run before someone edits it. Reads when it is shown first. Confined to its thread.
class SourcePage : public QWidget {
    Q_OBJECT

public:
    SourcePage(Session& session, const models::VersionInfo& version, QWidget* parent = nullptr);

    /// What stands right of the arguments.
    enum class Shown { Captured, Difference, Edited };
    [[nodiscard]] Shown shown() const;
    [[nodiscard]] SourceEditPanel* panel() const { return m_panel; }
    [[nodiscard]] widgets::DifferenceView* difference() const { return m_difference; }
    [[nodiscard]] SourceView* editedText() const { return m_edited; }
    [[nodiscard]] const widgets::KeyValueList* list() const { return m_arguments; }

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void buildLayout();
    void read();
    void readEdited();
    void showEdit();
    void showPane();
    void showList();

    Session& m_session;
    models::VersionInfo m_version;
    models::LatestTask m_task;
    models::LatestTask m_editedTask;
    SourceEditPanel* m_panel;
    widgets::SegmentedControl* m_choice;
    QPushButton* m_editButton;
    widgets::DifferenceView* m_difference;
    SourceView* m_edited;
    PythonHighlighter* m_editedHighlighter;
    QList<widgets::KeyValueList::Group> m_facts;   ///< Of the class and its arguments.
    int m_answers = -1;                            ///< Runs of the edit when its answer was shown last.
    bool m_hasSource = false;
    widgets::NoteRow* m_note;
    widgets::KeyValueList* m_arguments;
    QStackedWidget* m_pages;
    SourceView* m_source;
    PythonHighlighter* m_highlighter;
    widgets::EmptyState* m_empty;
    bool m_asked = false;
};

} // namespace modulelens::explorer
