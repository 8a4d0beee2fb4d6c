// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backend/profile/Profile.h"

class QMenu;
class QWidget;

namespace modulelens::models {
class ProfileView;
}

namespace modulelens::widgets {

/// The context menu of one scope, the same in the flame graph and the tree: zoom, find its class, copy its name, its
/// qualified name, or it and its children as a Markdown table. The caller owns the menu.
[[nodiscard]] QMenu* makeScopeMenu(models::ProfileView* view, profile::ScopeId scope, QWidget* parent);

} // namespace modulelens::widgets
