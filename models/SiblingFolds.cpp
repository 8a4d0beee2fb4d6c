// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/SiblingFolds.h"

#include <algorithm>
#include <utility>

namespace modulelens::models {

namespace {

constexpr std::size_t kFewestEqual = 3;

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
    seed ^= value + kOdd + (seed << 6) + (seed >> 2);
    return seed * 0xD6E8FEB86659FD93;
}

std::int64_t totalIn(const profile::Column* column, profile::ScopeId scope) {
    return column == nullptr ? 0 : column->total[static_cast<std::size_t>(scope)];
}

} // namespace

SiblingFolds::SiblingFolds(std::shared_ptr<const profile::Profile> profile, const profile::ChildOrder& order, ScopeId apart)
    : m_profile(std::move(profile)), m_order(order), m_apart(apart) {}

/// Equal for scopes of one class that have the same scopes below them, whatever their own names.
std::uint64_t SiblingFolds::formOf(ScopeId scope) const {
    if (m_forms.empty()) {
        const ScopeId count = m_profile->scopeCount();
        m_forms.assign(static_cast<std::size_t>(count), 0);
        // From the last scope: what is below a scope has been added to it when its turn comes.
        for (ScopeId id = count - 1; id >= 0; --id) {
            std::uint64_t& form = m_forms[static_cast<std::size_t>(id)];
            form = mixed(form, static_cast<std::uint64_t>(m_profile->classId(id)));
            form = mixed(form, static_cast<std::uint64_t>(m_profile->kind(id)));
            if (const ScopeId parent = m_profile->parent(id); parent >= 0) {
                std::uint64_t& above = m_forms[static_cast<std::size_t>(parent)];
                above = mixed(above, mixed(form, static_cast<std::uint64_t>(m_profile->nameId(id))));
            }
        }
    }
    return m_forms[static_cast<std::size_t>(scope)];
}

std::vector<SiblingFolds::Row> SiblingFolds::fold(ScopeId parent) const {
    using profile::Direction;
    const std::vector<ScopeId>& children = m_order.children(parent);
    std::vector<Row> rows;
    rows.reserve(children.size());
    if (children.size() < kFewestEqual) {
        for (const ScopeId child : children) {
            rows.push_back({child, {}});
        }
        return rows;
    }
    const profile::Column* parameters = m_profile->column("parameters", Direction::Forward);
    const profile::Column* flops = m_profile->column("flops", Direction::Forward);
    std::unordered_map<std::uint64_t, std::vector<ScopeId>> equal;
    std::vector<std::uint64_t> keys(children.size(), 0);
    for (std::size_t i = 0; i < children.size(); ++i) {
        const ScopeId child = children[i];
        const bool isApart = m_apart >= 0 && m_profile->isInside(m_apart, child);
        if (m_profile->kind(child) == profile::ScopeKind::Module && !isApart) {
            keys[i] = mixed(mixed(formOf(child), static_cast<std::uint64_t>(totalIn(parameters, child))),
                            static_cast<std::uint64_t>(totalIn(flops, child))) |
                      1U;
            equal[keys[i]].push_back(child);
        }
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
        const auto group = keys[i] == 0 ? equal.end() : equal.find(keys[i]);
        if (group == equal.end() || group->second.size() < kFewestEqual) {
            rows.push_back({children[i], {}});
        } else if (group->second.front() == children[i]) {
            const ScopeId first = *std::min_element(group->second.begin(), group->second.end());
            rows.push_back({first, group->second});
        }
    }
    return rows;
}

const std::vector<SiblingFolds::Row>& SiblingFolds::rows(ScopeId parent) const {
    const auto [found, isNew] = m_rows.try_emplace(parent);
    if (isNew) {
        found->second = fold(parent);
        for (std::size_t row = 0; row < found->second.size(); ++row) {
            const Row& made = found->second[row];
            if (made.members.empty()) {
                m_places[made.scope] = {static_cast<int>(row), -1};
            }
            for (std::size_t member = 0; member < made.members.size(); ++member) {
                m_places[made.members[member]] = {static_cast<int>(row), static_cast<int>(member)};
            }
        }
    }
    return found->second;
}

SiblingFolds::Place SiblingFolds::placeOf(ScopeId scope) const {
    const ScopeId parent = m_profile->parent(scope);
    if (parent < 0) {
        return {};
    }
    static_cast<void>(rows(parent));
    return m_places.at(scope);
}

} // namespace modulelens::models
