// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/Task.h"
#include "models/VersionInfo.h"

#include <QWidget>

class QStackedWidget;

namespace modulelens::widgets {
class EmptyState;
class KeyValueList;
class NoteRow;
} // namespace modulelens::widgets

namespace modulelens::explorer {

class PythonHighlighter;
class Session;
class SourceView;

/// Constructor arguments and class source of a captured module. Shown, never run. Reads when it is shown first. Confined to
/// its thread.
class SourcePage : public QWidget {
    Q_OBJECT

public:
    SourcePage(Session& session, const models::VersionInfo& version, QWidget* parent = nullptr);

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void read();

    Session& m_session;
    models::VersionInfo m_version;
    models::LatestTask m_task;
    widgets::NoteRow* m_note;
    widgets::KeyValueList* m_arguments;
    QStackedWidget* m_pages;
    SourceView* m_source;
    PythonHighlighter* m_highlighter;
    widgets::EmptyState* m_empty;
    bool m_asked = false;
};

} // namespace modulelens::explorer
