// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDockWidget>

class QStackedWidget;

namespace modulelens::explorer {

class RegistryPanel;
class RegistryRail;
class Session;

/// The registry at the left edge: the whole panel, or a rail of 40 px in a narrow window. What a person opened or closed by
/// hand stays until the window crosses the limit again. Confined to its thread.
class RegistryDock : public QDockWidget {
    Q_OBJECT

public:
    RegistryDock(Session& session, QWidget* parent = nullptr);

    [[nodiscard]] RegistryPanel* panel() const { return m_panel; }
    void setRail(bool rail);
    [[nodiscard]] bool isRail() const;
    /// Tells the width of the window.
    void adaptTo(int windowWidth);
    void toggle();
    /// Opens the panel if need be and puts the keyboard into the query box.
    void focusQuery();
    void resetWidth();

private:
    QStackedWidget* m_side;
    RegistryPanel* m_panel;
    RegistryRail* m_rail;
    bool m_railByWidth = false;
};

} // namespace modulelens::explorer
