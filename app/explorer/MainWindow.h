// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/explorer/Settings.h"
#include "models/VersionInfo.h"

#include <QMainWindow>

class QStackedWidget;

namespace modulelens::widgets {
class Banner;
class EmptyState;
class ThemeController;
} // namespace modulelens::widgets

namespace modulelens::explorer {

class BundleOpener;
class CommandPalette;
class DocumentArea;
class JobsPanel;
class RegistryDock;
class RegistryPanel;
class Session;
class StatusStrip;
class TopRow;
class VersionPage;
class WelcomePage;

/// The window: registry on the left, documents in the middle, jobs below. Wires its parts; each part does its own work.
/// Confined to its thread.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    MainWindow(Session& session, widgets::ThemeController& theme, const Settings& settings);
    ~MainWindow() override;

    [[nodiscard]] Settings settings() const;
    [[nodiscard]] RegistryDock* registryDock() const { return m_dock; }
    [[nodiscard]] RegistryPanel* registryPanel() const;
    [[nodiscard]] DocumentArea* documents() const { return m_documents; }
    [[nodiscard]] JobsPanel* jobsPanel() const { return m_jobs; }
    [[nodiscard]] BundleOpener* bundles() const { return m_bundles; }
    [[nodiscard]] widgets::Banner* banner() const { return m_banner; }

    VersionPage* openVersion(const models::VersionInfo& version);
    /// Opens a version by address or id once the registry is open; `view` names its page.
    void openAddress(const QString& addressOrId, const QString& view);
    /// Opens the version that was open last, once the registry is open and if it is still there.
    void restoreSession();

public slots:
    void showPalette();
    void switchTheme();
    void resetLayout();
    void showLog(int jobId);
    void showError(const QString& sentence);
    /// Something to know that is no fault.
    void showNote(const QString& sentence);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void buildLayout();
    void connectParts();
    void showBanner(bool isFault, const QString& sentence);
    void showCentre();
    void showStatus();

    Session& m_session;
    widgets::ThemeController& m_theme;
    Settings m_settings;
    TopRow* m_top;
    RegistryDock* m_dock;
    widgets::Banner* m_banner;
    QStackedWidget* m_centre;
    WelcomePage* m_welcome;
    widgets::EmptyState* m_choose;
    DocumentArea* m_documents;
    JobsPanel* m_jobs;
    StatusStrip* m_status;
    BundleOpener* m_bundles;
    CommandPalette* m_palette = nullptr; ///< Made when it is first asked for.
    QString m_wantedView;
    bool m_greeted = false;
};

} // namespace modulelens::explorer
