// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/ChildOrder.h"

#include <algorithm>

namespace modulelens::profile {

ChildOrder::ChildOrder(std::shared_ptr<const Profile> profile, Before before)
    : m_profile(std::move(profile)), m_before(std::move(before)), m_rows(static_cast<std::size_t>(m_profile->scopeCount())) {}

const std::vector<ScopeId>& ChildOrder::children(ScopeId parent) const {
    static const std::vector<ScopeId> kNone;
    if (!m_profile->hasChildren(parent)) {
        return kNone;
    }
    const auto found = m_children.find(parent);
    if (found != m_children.end()) {
        return found->second;
    }
    std::vector<ScopeId> children;
    const ScopeId end = m_profile->subtreeEnd(parent);
    for (ScopeId child = parent + 1; child < end; child = m_profile->subtreeEnd(child)) {
        children.push_back(child);
    }
    if (m_before) {
        std::sort(children.begin(), children.end(), [this](ScopeId left, ScopeId right) {
            return m_before(left, right) || (left < right && !m_before(right, left));
        });
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
        m_rows[static_cast<std::size_t>(children[i])] = static_cast<std::int32_t>(i);
    }
    return m_children.emplace(parent, std::move(children)).first->second;
}

int ChildOrder::row(ScopeId scope) const {
    const ScopeId parent = m_profile->parent(scope);
    if (parent < 0) {
        return 0;
    }
    [[maybe_unused]] const std::vector<ScopeId>& siblings = children(parent);
    return m_rows[static_cast<std::size_t>(scope)];
}

} // namespace modulelens::profile
