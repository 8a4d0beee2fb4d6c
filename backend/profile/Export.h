// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/Profile.h"

namespace modulelens::profile {

/// Folded stacks of one column, one line for each scope whose self value is above 0: names from the root down joined by ";",
/// a space, the self value. ";" and line ends inside names become "_".
[[nodiscard]] std::string foldedStacks(const Profile& profile, const Column& column);

/// RFC 4180 table of all scopes in preorder: depth, kind, name, path, class, call, then self and total of every column.
/// Unknown values are empty fields.
[[nodiscard]] std::string csv(const Profile& profile);

/// Markdown table of `root` and what lies below it down to `levels` further levels: name, class, then the total of every
/// column in its raw unit. Unknown values are "—".
[[nodiscard]] std::string markdown(const Profile& profile, ScopeId root, int levels);

} // namespace modulelens::profile
