// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backend/operations/Operations.h"
#include "models/Task.h"
#include "models/VersionInfo.h"

#include <QWidget>

class QStackedWidget;

namespace modulelens::widgets {
class Banner;
class TabStrip;
} // namespace modulelens::widgets

namespace modulelens::explorer {

class HierarchyPage;
class Session;
class SourcePage;
class TensorsPage;
class ValidationPage;
class VersionHeader;

/// One document: a version with its header and its pages. Confined to its thread.
class VersionPage : public QWidget {
    Q_OBJECT

public:
    enum class View { Hierarchy, Tensors, Source, Validation };

    VersionPage(Session& session, const models::VersionInfo& version, QWidget* parent = nullptr);

    [[nodiscard]] const models::VersionInfo& version() const { return m_version; }
    [[nodiscard]] HierarchyPage* hierarchy() const { return m_hierarchy; }
    [[nodiscard]] TensorsPage* tensors() const { return m_tensors; }
    [[nodiscard]] SourcePage* source() const { return m_source; }
    [[nodiscard]] ValidationPage* validation() const { return m_validation; }
    void showView(View view);
    [[nodiscard]] View view() const;
    /// "hierarchy", "tensors", "source", "validation"; anything else is the hierarchy.
    [[nodiscard]] static View viewFromName(const QString& name);
    [[nodiscard]] static QString viewName(View view);
    /// The command that does what the page shows.
    [[nodiscard]] QString command() const;

    void validate();
    void profile();
    void profileBackward();
    void profileTraining();
    void benchmark();
    /// Opens the captured source in the user's editor and verifies it at every save.
    void editSource();
    /// Asks for the dimension and its values first.
    void chooseSweep();

signals:
    /// The first profile, static or measured, is shown (or there is none).
    void hierarchyLoaded();

private:
    void connectSession();
    void makeProfileMenu();
    void makeMoreMenu();
    void readProfile();
    void readValidation();
    void readNames();
    void update(const models::VersionInfo& version);

    Session& m_session;
    models::VersionInfo m_version;
    models::LatestTask m_profileTask;
    models::LatestTask m_validationTask;
    VersionHeader* m_header;
    widgets::Banner* m_banner;
    widgets::TabStrip* m_tabs;
    QStackedWidget* m_stack;
    HierarchyPage* m_hierarchy;
    TensorsPage* m_tensors;
    SourcePage* m_source;
    ValidationPage* m_validation;
    bool m_hasMeasured = false;
};

} // namespace modulelens::explorer
