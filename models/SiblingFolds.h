// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/ChildOrder.h"
#include "backend/profile/Profile.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace modulelens::models {

/// Which children of a scope are told in one row, such as the 24 equal layers of a model: modules of one class with the same
/// scopes below them, the same parameters and the same FLOPs, three or more of them. Worked out where it is asked for.
/// Confined to its thread.
class SiblingFolds {
public:
    using ScopeId = profile::ScopeId;

    struct Row {
        ScopeId scope = -1;                ///< Of several, the one that comes first in the run.
        std::vector<ScopeId> members;      ///< In the order of the children; empty for a scope of its own.
    };
    struct Place {
        int row = 0;                       ///< Among the rows of its parent.
        int member = -1;                   ///< Among the members of that row, or -1.
    };

    /// What holds `apart` keeps a row of its own; -1 for none. `order` must outlive this.
    SiblingFolds(std::shared_ptr<const profile::Profile> profile, const profile::ChildOrder& order, ScopeId apart);

    [[nodiscard]] const std::vector<Row>& rows(ScopeId parent) const;
    [[nodiscard]] Place placeOf(ScopeId scope) const;

private:
    [[nodiscard]] std::uint64_t formOf(ScopeId scope) const;
    [[nodiscard]] std::vector<Row> fold(ScopeId parent) const;

    std::shared_ptr<const profile::Profile> m_profile;
    const profile::ChildOrder& m_order;
    ScopeId m_apart;
    mutable std::unordered_map<ScopeId, std::vector<Row>> m_rows;
    mutable std::unordered_map<ScopeId, Place> m_places;
    mutable std::vector<std::uint64_t> m_forms; ///< By scope; empty before the first is asked for.
};

} // namespace modulelens::models
