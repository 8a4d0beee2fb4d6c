// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/Profile.h"

#include <functional>
#include <unordered_map>

namespace modulelens::profile {

/// The children of scopes in a chosen order, sorted when first asked for, so that a tree of a million scopes costs only what
/// is looked at. Ties keep the order of execution. Confined to its thread.
class ChildOrder {
public:
    /// True when the first scope stands before the second.
    using Before = std::function<bool(ScopeId, ScopeId)>;

    /// Without `before`, the order of execution.
    explicit ChildOrder(std::shared_ptr<const Profile> profile, Before before = nullptr);

    /// The children of `parent` in order; valid as long as this object.
    [[nodiscard]] const std::vector<ScopeId>& children(ScopeId parent) const;
    /// Index of `scope` among the children of its parent; 0 for the root.
    [[nodiscard]] int row(ScopeId scope) const;

private:
    std::shared_ptr<const Profile> m_profile;
    Before m_before;
    mutable std::unordered_map<ScopeId, std::vector<ScopeId>> m_children;
    mutable std::vector<std::int32_t> m_rows; ///< By scope; valid where the parent is in m_children.
};

} // namespace modulelens::profile
