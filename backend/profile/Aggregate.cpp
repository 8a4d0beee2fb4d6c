// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Aggregate.h"

#include "backend/base/Guarded.h"

#include <algorithm>
#include <unordered_map>

namespace modulelens::profile {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

/// What two siblings must share to be one scope. Confined to its thread.
struct GroupKey {
    ScopeKind kind;
    std::int32_t first;
    std::int32_t second;
    bool operator==(const GroupKey&) const = default;
};

struct GroupKeyHash {
    std::size_t operator()(const GroupKey& key) const {
        std::uint64_t hash = static_cast<std::uint64_t>(key.kind);
        for (const std::int32_t part : {key.first, key.second}) {
            hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15ULL;
            hash ^= hash >> 29U;
        }
        return static_cast<std::size_t>(hash);
    }
};

GroupKey keyOf(const Profile& source, ScopeId scope, Grouping grouping) {
    const ScopeKind kind = source.kind(scope);
    if (grouping == Grouping::Module) {
        return {kind, source.nameId(scope), source.pathId(scope)};
    }
    return {kind, kind == ScopeKind::Module ? source.classId(scope) : source.nameId(scope), 0};
}

void addValue(std::int64_t& into, std::int64_t value, Combine combine, bool& overflow) {
    if (value == kUnknown) {
        return;
    }
    if (into == kUnknown) {
        into = value;
    } else if (combine == Combine::Max) {
        into = std::max(into, value);
    } else {
        overflow = __builtin_add_overflow(into, value, &into) || overflow;
    }
}

/// Finds the groups and emits them in preorder, the children of one group in order of first appearance. Confined to its
/// thread.
class Grouper {
public:
    Grouper(const Profile& source, Grouping grouping) : m_source(source), m_grouping(grouping) {}

    void run() {
        const auto count = static_cast<std::size_t>(m_source.scopeCount());
        groupOf.assign(count, 0);
        m_nextMember.assign(count, -1);
        m_open.push_back(Group{0, 0, -1, 1});
        while (!m_open.empty()) {
            const Group group = m_open.back();
            m_open.pop_back();
            const ScopeId id = emit(group);
            m_children.clear();
            m_index.clear();
            for (ScopeId member = group.firstMember; member >= 0; member = next(member)) {
                groupOf[static_cast<std::size_t>(member)] = id;
                addChildrenOf(member, id);
            }
            m_open.insert(m_open.end(), m_children.rbegin(), m_children.rend());
        }
    }

    std::vector<ScopeId> groupOf;
    std::vector<ScopeId> first;
    std::vector<std::int32_t> members;
    ProfileParts parts;

private:
    struct Group {
        ScopeId firstMember;
        ScopeId lastMember;
        ScopeId parent; ///< As emitted.
        std::int32_t count;
    };
    /// Up to here the groups below one parent are compared one by one.
    static constexpr std::size_t kLinearLimit = 16;

    [[nodiscard]] ScopeId& next(ScopeId member) { return m_nextMember[static_cast<std::size_t>(member)]; }

    void addChildrenOf(ScopeId member, ScopeId parent) {
        const ScopeId end = m_source.subtreeEnd(member);
        if (m_grouping != Grouping::Operator) {
            for (ScopeId child = member + 1; child < end; child = m_source.subtreeEnd(child)) {
                add(child, parent);
            }
            return;
        }
        // All operators become children of the root; modules become the root itself.
        for (ScopeId scope = member + 1; parent == 0 && scope < end; ++scope) {
            if (m_source.kind(scope) != ScopeKind::Module) {
                add(scope, parent);
            }
        }
    }

    void add(ScopeId scope, ScopeId parent) {
        const std::size_t at = find(keyOf(m_source, scope, m_grouping));
        if (at == m_children.size()) {
            m_children.push_back(Group{scope, scope, parent, 1});
            return;
        }
        Group& group = m_children[at];
        next(group.lastMember) = scope;
        group.lastMember = scope;
        ++group.count;
    }

    /// Position in m_children; its size when there is none, which the caller then adds.
    [[nodiscard]] std::size_t find(const GroupKey& key) {
        if (m_children.size() <= kLinearLimit && m_index.empty()) {
            const auto found = std::find_if(m_children.begin(), m_children.end(), [&](const Group& group) {
                return keyOf(m_source, group.firstMember, m_grouping) == key;
            });
            return static_cast<std::size_t>(found - m_children.begin());
        }
        if (m_index.empty()) {
            for (std::size_t i = 0; i < m_children.size(); ++i) {
                m_index.emplace(keyOf(m_source, m_children[i].firstMember, m_grouping), i);
            }
        }
        return m_index.try_emplace(key, m_children.size()).first->second;
    }

    ScopeId emit(const Group& group) {
        const ScopeId scope = group.firstMember;
        const bool isClass = m_grouping == Grouping::Class && m_source.kind(scope) == ScopeKind::Module && scope != 0;
        first.push_back(scope);
        members.push_back(group.count);
        parts.parent.push_back(group.parent);
        parts.kind.push_back(m_source.kind(scope));
        parts.call.push_back(m_source.call(scope));
        parts.name.push_back(isClass ? m_source.classId(scope) : m_source.nameId(scope));
        parts.path.push_back(m_source.pathId(scope));
        parts.className.push_back(m_source.classId(scope));
        return static_cast<ScopeId>(first.size()) - 1;
    }

    const Profile& m_source;
    Grouping m_grouping;
    std::vector<ScopeId> m_nextMember; ///< By source scope: the next one of its group.
    std::vector<Group> m_open;
    std::vector<Group> m_children; ///< Of the group that is being emitted.
    std::unordered_map<GroupKey, std::size_t, GroupKeyHash> m_index;
};

} // namespace

Result<Aggregation> aggregate(std::shared_ptr<const Profile> source, Grouping grouping) {
    return base::guarded("aggregating a profile", [&]() -> Result<Aggregation> {
        if (grouping == Grouping::Call) {
            return Aggregation{std::move(source), {}, {}, {}};
        }
        Grouper grouper(*source, grouping);
        grouper.run();
        if (grouping == Grouping::Module && grouper.first.size() == static_cast<std::size_t>(source->scopeCount())) {
            return Aggregation{std::move(source), {}, {}, {}}; // Nothing was merged: one copy is enough.
        }
        ProfileParts& parts = grouper.parts;
        parts.texts = source->parts().texts;
        parts.textEnds = source->parts().textEnds;
        parts.coverage = source->coverage();
        parts.facts = source->facts();
        bool overflow = false;
        for (const Column& column : source->columns()) {
            Column merged{column.metric, column.direction, {}, {}, column.samples};
            merged.self.assign(grouper.first.size(), kUnknown);
            const Combine combine = findMetric(column.metric)->combine;
            for (std::size_t i = 0; i < column.self.size(); ++i) {
                addValue(merged.self[static_cast<std::size_t>(grouper.groupOf[i])], column.self[i], combine, overflow);
            }
            parts.columns.push_back(std::move(merged));
        }
        if (overflow) {
            return Error{ErrorCode::InvalidArgument, "a metric's sum over merged scopes exceeds 2^63", ""};
        }
        Aggregation result;
        result.groupOf = std::move(grouper.groupOf);
        result.first = std::move(grouper.first);
        result.members = std::move(grouper.members);
        Result<std::shared_ptr<const Profile>> merged = Profile::create(std::move(parts));
        if (!merged) {
            return merged.error();
        }
        result.profile = std::move(merged).value();
        return result;
    });
}

} // namespace modulelens::profile
