// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace modulelens::registry {

class Connection;

// The search index beside the rows: postings, columns, grams of names. Triggers note in the table `pending` what has changed;
// folding brings the index up to date with it. All functions throw SQLite::Exception.

/// Brings the index up to date. Requires: a write transaction is open.
void foldPending(Connection& connection);

/// True when rows have changed that the index does not know yet: somebody wrote them without folding.
[[nodiscard]] bool hasPending(Connection& connection);

/// False when the index says of a version or a label what its rows do not. Names are not looked at. Requires: a read transaction is open.
[[nodiscard]] bool indexMatchesRows(Connection& connection);

/// Makes the index anew from the rows. Requires: a write transaction is open.
void rebuildIndex(Connection& connection);

/// Counts the foldings; what was read from the index at the same number is the same.
[[nodiscard]] std::int64_t indexGeneration(Connection& connection);

/// Keys of all three-byte parts of a folded name, and of the first one and two bytes of its parts: words of letters and digits, and
/// whatever stands between them; ascending, each once.
[[nodiscard]] std::vector<std::int64_t> gramsOf(std::string_view folded);

/// The key for names with a part that begins with one or two bytes. Requires: `start` holds one or two bytes.
[[nodiscard]] std::int64_t startGram(std::string_view start);

/// True when a part of the name begins with `start`.
[[nodiscard]] bool hasPartWith(std::string_view folded, std::string_view start);

}  // namespace modulelens::registry
