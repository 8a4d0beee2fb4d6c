// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/registry/QuerySql.h"
#include "backend/registry/Registry.h"

#include <optional>
#include <string>
#include <vector>

namespace modulelens::registry {

/// The place of the last version of a page: its sort columns, the rowid last. Nothing stands for NULL.
struct SearchCursor {
    std::vector<std::optional<SqlValue>> values;
};

/// The cursor as an opaque text of letters, digits, '-' and '_', tied to its query and sort.
[[nodiscard]] std::string formatCursor(const SearchCursor& cursor, const std::string& query, SortKey sort);

/// InvalidArgument: not a cursor, or one of another query or sort.
[[nodiscard]] base::Result<SearchCursor> parseCursor(const std::string& text, const std::string& query, SortKey sort);

}  // namespace modulelens::registry
