// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Preorder.h"

namespace modulelens::profile {

namespace {

template <class T>
void permute(std::vector<T>& values, const std::vector<ScopeId>& newId) {
    std::vector<T> moved(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        moved[static_cast<std::size_t>(newId[i])] = values[i];
    }
    values = std::move(moved);
}

} // namespace

std::vector<ScopeId> toPreorder(ProfileParts& parts) {
    const std::size_t count = parts.parent.size();
    std::vector<ScopeId> size(count, 1);
    for (std::size_t i = count; i-- > 1;) {
        size[static_cast<std::size_t>(parts.parent[i])] += size[i];
    }
    std::vector<ScopeId> newId(count, 0);
    std::vector<ScopeId> nextChild(count, 1);
    bool isOrdered = true;
    for (std::size_t i = 1; i < count; ++i) {
        const auto parent = static_cast<std::size_t>(parts.parent[i]);
        newId[i] = nextChild[parent];
        nextChild[parent] += size[i];
        nextChild[i] = newId[i] + 1;
        isOrdered = isOrdered && static_cast<std::size_t>(newId[i]) == i;
    }
    if (isOrdered) {
        return newId;
    }
    for (std::size_t i = 1; i < count; ++i) {
        parts.parent[i] = newId[static_cast<std::size_t>(parts.parent[i])];
    }
    permute(parts.parent, newId);
    permute(parts.kind, newId);
    permute(parts.call, newId);
    permute(parts.name, newId);
    permute(parts.path, newId);
    permute(parts.className, newId);
    for (Column& column : parts.columns) {
        permute(column.self, newId);
    }
    return newId;
}

} // namespace modulelens::profile
