// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSize>
#include <QString>

namespace modulelens::widgets {
class ThemeController;
}

namespace modulelens::explorer {

class MainWindow;
class Session;

/// Renders the pages of the window with real data into pictures (PAGE-light.png and PAGE-dark.png): welcome on
/// an empty registry, then browser, hierarchy by latency and by FLOPs, tensors, validation and jobs of the first top-level
/// version that the registry finds, MiniLM first, validated and profiled by the real worker. Waits on signals, in event
/// loops of its own. Confined to its thread.
class Screenshots {
public:
    Screenshots(const QString& folder, const QSize& size, Session& session, widgets::ThemeController& theme);

    /// 0, or 1 after a sentence on standard error.
    [[nodiscard]] int run(MainWindow& window);

private:
    [[nodiscard]] bool fail(const QString& sentence) const;
    [[nodiscard]] bool saveWelcome();
    [[nodiscard]] bool savePages(MainWindow& window);
    /// Grabs the window in both themes.
    [[nodiscard]] bool save(MainWindow& window, const QString& page);
    /// Waits for a job to end; false after a sentence when it did not end well.
    [[nodiscard]] bool waitForJob(int job, const QString& what);

    QString m_folder;
    QSize m_size;
    Session& m_session;
    widgets::ThemeController& m_theme;
};

} // namespace modulelens::explorer
