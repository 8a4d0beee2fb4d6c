// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/Profile.h"

namespace modulelens::profile {

/// What becomes one scope of an aggregated profile.
enum class Grouping : std::uint8_t {
    Call,     ///< Every call and operator execution by itself.
    Module,   ///< Calls of one module below one parent, and executions of one operator by one module.
    Class,    ///< Siblings of one class, recursively; operators by name.
    Operator, ///< A flat list of operators below the root; what modules hold themselves stays with the root.
};

/// A profile whose scopes stand for several scopes of `source`. The arrays are empty when `profile` is the source itself.
struct Aggregation {
    std::shared_ptr<const Profile> profile;
    std::vector<ScopeId> groupOf;      ///< By scope of the source: its scope in `profile`.
    std::vector<ScopeId> first;        ///< By scope of `profile`: its first source scope.
    std::vector<std::int32_t> members; ///< By scope of `profile`: how many source scopes it stands for.
};

/// Merges scopes of `source`; values combine by each metric's rule, unknown ones are left out. Scopes keep the order in which
/// the first of each appears. One pass. Errors are those of Profile::create.
[[nodiscard]] base::Result<Aggregation> aggregate(std::shared_ptr<const Profile> source, Grouping grouping);

} // namespace modulelens::profile
