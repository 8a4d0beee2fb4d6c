// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace modulelens::widgets {

struct Theme;

/// Qt style sheet for the widgets that Qt paints itself: buttons, fields, combo boxes, menus, headers, scroll bars, tool
/// tips. Dynamic properties that it knows: "quiet" (no outline), "strip" (window ground), "surface" (content ground).
[[nodiscard]] QString styleSheetFor(const Theme& theme);

} // namespace modulelens::widgets
