// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/IdSet.h"
#include "backend/registry/QueryEvaluation.h"
#include "backend/registry/SearchCursor.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace modulelens::registry {

/// One page of versions.
struct PageOfIds {
    std::vector<std::int64_t> ids;
    std::optional<SearchCursor> next;   ///< Place of the last, when there are more.
};

/// The first `limit` versions of `found` after `cursor`, in the order of `sort`. Throws SQLite::Exception.
[[nodiscard]] PageOfIds selectPage(Connection& connection, VersionColumns& columns, const IdSet& found, SortKey sort,
                                   const std::optional<SearchCursor>& cursor, int limit);

}  // namespace modulelens::registry
