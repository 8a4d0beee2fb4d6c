// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Aggregate.h"

#include "backend/base/Guarded.h"
#include "backend/profile/Preorder.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace modulelens::profile {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

/// What two siblings must share to be one scope.
struct GroupKey {
    ScopeId parent;
    ScopeKind kind;
    std::int32_t first;
    std::int32_t second;
    bool operator==(const GroupKey&) const = default;
};

struct GroupKeyHash {
    std::size_t operator()(const GroupKey& key) const {
        std::uint64_t hash = static_cast<std::uint32_t>(key.parent);
        for (const std::int32_t part : {static_cast<std::int32_t>(key.kind), key.first, key.second}) {
            hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15ULL;
            hash ^= hash >> 29;
        }
        return static_cast<std::size_t>(hash);
    }
};

GroupKey keyOf(const Profile& source, ScopeId scope, ScopeId parentGroup, Grouping grouping) {
    const ScopeKind kind = source.kind(scope);
    if (grouping == Grouping::Module) {
        return {parentGroup, kind, source.nameId(scope), source.pathId(scope)};
    }
    return {parentGroup, kind, kind == ScopeKind::Module ? source.classId(scope) : source.nameId(scope), 0};
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

/// Groups in order of first appearance: a parent before its children.
class Grouper {
public:
    Grouper(const Profile& source, Grouping grouping) : m_source(source), m_grouping(grouping) {}

    void run() {
        const ScopeId count = m_source.scopeCount();
        m_groupOf.resize(static_cast<std::size_t>(count));
        addGroup(0, -1);
        m_groupOf[0] = 0;
        for (ScopeId scope = 1; scope < count; ++scope) {
            m_groupOf[static_cast<std::size_t>(scope)] = groupFor(scope);
        }
    }

    std::vector<ScopeId> m_groupOf;
    std::vector<ScopeId> m_first;
    std::vector<std::int32_t> m_members;
    ProfileParts m_parts;

private:
    ScopeId groupFor(ScopeId scope) {
        ScopeId parentGroup = m_groupOf[static_cast<std::size_t>(m_source.parent(scope))];
        if (m_grouping == Grouping::Operator) {
            if (m_source.kind(scope) == ScopeKind::Module) {
                return 0;
            }
            parentGroup = 0;
        }
        const auto [found, isNew] =
            m_groups.try_emplace(keyOf(m_source, scope, parentGroup, m_grouping), static_cast<ScopeId>(m_first.size()));
        if (isNew) {
            addGroup(scope, parentGroup);
        } else {
            ++m_members[static_cast<std::size_t>(found->second)];
        }
        return found->second;
    }

    void addGroup(ScopeId scope, ScopeId parentGroup) {
        const bool isClass = m_grouping == Grouping::Class && m_source.kind(scope) == ScopeKind::Module && scope != 0;
        m_first.push_back(scope);
        m_members.push_back(1);
        m_parts.parent.push_back(parentGroup);
        m_parts.kind.push_back(m_source.kind(scope));
        m_parts.call.push_back(m_source.call(scope));
        m_parts.name.push_back(isClass ? m_source.classId(scope) : m_source.nameId(scope));
        m_parts.path.push_back(m_source.pathId(scope));
        m_parts.className.push_back(m_source.classId(scope));
    }

    const Profile& m_source;
    Grouping m_grouping;
    std::unordered_map<GroupKey, ScopeId, GroupKeyHash> m_groups;
};

} // namespace

Result<Aggregation> aggregate(std::shared_ptr<const Profile> source, Grouping grouping) {
    return base::guarded("aggregating a profile", [&]() -> Result<Aggregation> {
        if (grouping == Grouping::Call) {
            return Aggregation{std::move(source), {}, {}, {}};
        }
        Grouper grouper(*source, grouping);
        grouper.run();
        ProfileParts& parts = grouper.m_parts;
        parts.texts = source->parts().texts;
        parts.textEnds = source->parts().textEnds;
        parts.coverage = source->coverage();
        parts.facts = source->facts();
        bool overflow = false;
        for (const Column& column : source->columns()) {
            Column merged{column.metric, column.direction, {}, {}, column.samples};
            merged.self.assign(grouper.m_first.size(), kUnknown);
            const Combine combine = findMetric(column.metric)->combine;
            for (std::size_t i = 0; i < column.self.size(); ++i) {
                addValue(merged.self[static_cast<std::size_t>(grouper.m_groupOf[i])], column.self[i], combine, overflow);
            }
            parts.columns.push_back(std::move(merged));
        }
        if (overflow) {
            return Error{ErrorCode::InvalidArgument, "a metric's sum over merged scopes exceeds 2^63", ""};
        }
        const std::vector<ScopeId> newId = toPreorder(parts);
        Aggregation result;
        result.groupOf.resize(grouper.m_groupOf.size());
        for (std::size_t i = 0; i < result.groupOf.size(); ++i) {
            result.groupOf[i] = newId[static_cast<std::size_t>(grouper.m_groupOf[i])];
        }
        result.first.resize(newId.size());
        result.members.resize(newId.size());
        for (std::size_t i = 0; i < newId.size(); ++i) {
            result.first[static_cast<std::size_t>(newId[i])] = grouper.m_first[i];
            result.members[static_cast<std::size_t>(newId[i])] = grouper.m_members[i];
        }
        Result<std::shared_ptr<const Profile>> merged = Profile::create(std::move(parts));
        if (!merged) {
            return merged.error();
        }
        result.profile = std::move(merged).value();
        return result;
    });
}

} // namespace modulelens::profile
