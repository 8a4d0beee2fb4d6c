// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::registry {

class Registry;

/// One way to go on with a query.
struct QueryCompletion {
    std::string text;        ///< What takes the place of the bytes from `from` to `until`; quoted where need be.
    std::string meaning;     ///< For a field what it asks for; empty for a name.
    std::size_t from = 0;
    std::size_t until = 0;
};

/// Completions for the word of `query` that the cursor (a byte offset) stands in or right behind, at most `limit`: fields that begin with
/// it, and names of the registry that the field may ask for. Nothing where the query takes no word, such as behind a
/// finished quotation. Asks the registry for names only.
[[nodiscard]] base::Result<std::vector<QueryCompletion>> completeQuery(Registry& registry, std::string_view query,
                                                                       std::size_t cursor, int limit);

/// A value as it stands in a query: in double quotes when it needs them.
[[nodiscard]] std::string quotedForQuery(const std::string& value);

}  // namespace modulelens::registry
