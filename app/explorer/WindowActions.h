// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace modulelens::explorer {

class MainWindow;
class Session;
class TopRow;

/// Fills the menus of `top` with the window's commands and adds each to the window, where the command palette finds it.
void addWindowActions(MainWindow& window, TopRow& top, Session& session);

} // namespace modulelens::explorer
