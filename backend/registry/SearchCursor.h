// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/registry/Registry.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace modulelens::registry {

using CursorValue = std::variant<std::int64_t, std::string>;

/// The place of the last version of a page: its sort columns, the rowid last. Nothing stands for NULL.
struct SearchCursor {
    std::vector<std::optional<CursorValue>> values;
};

/// The cursor as an opaque text of letters, digits, '-' and '_', tied to its query and sort.
[[nodiscard]] std::string formatCursor(const SearchCursor& cursor, const std::string& query, SortKey sort);

/// InvalidArgument: not a cursor, or one of another query or sort.
[[nodiscard]] base::Result<SearchCursor> parseCursor(const std::string& text, const std::string& query, SortKey sort);

}  // namespace modulelens::registry
