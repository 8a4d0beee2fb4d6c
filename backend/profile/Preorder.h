// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/Profile.h"

namespace modulelens::profile {

/// Reorders the scopes of `parts` from "a parent before its children, siblings in order" to preorder. Returns the new id of
/// each old one. Requires: parent[0] == -1 and 0 <= parent[i] < i for all others; all arrays of the same length.
[[nodiscard]] std::vector<ScopeId> toPreorder(ProfileParts& parts);

} // namespace modulelens::profile
