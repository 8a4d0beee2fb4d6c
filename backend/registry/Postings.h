// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/IdSet.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace modulelens::registry {

class Connection;

// Rows of the table `posting`: for each value that a search may ask for, the ids that have it, as roaring bitmaps of
// 65,536 ids. All functions throw SQLite::Exception; a damaged bitmap is SQLITE_CORRUPT.

/// What the value of a posting is. The numbers are in the file.
enum class PostingKind {
    State = 0,   ///< A VersionState; ids of versions.
    Gram = 1,    ///< Three bytes, as gramsOf() makes them; ids of names.
    Tag = 2,     ///< Id of the name; ids of versions. As are the next two.
    Dtype = 3,
    Alias = 4,
};

/// States of versions that are kept as sets. The numbers are in the file.
enum class VersionState { Live = 0, Latest = 1, Validated = 2, Failed = 3, Exact = 4, Profiled = 5, Program = 6 };
inline constexpr int kVersionStates = 7;

/// Adds the ids of a posting to `into`.
void addPosting(Connection& connection, PostingKind kind, std::int64_t value, IdSet& into);

/// How many ids of a posting are in `among`.
[[nodiscard]] std::int64_t countPosting(Connection& connection, PostingKind kind, std::int64_t value, const IdSet& among);

/// The values that have a posting of that kind, ascending.
[[nodiscard]] std::vector<std::int64_t> postingValues(Connection& connection, PostingKind kind);

/// Ids and whether each is to be in the posting afterwards; ascending by id.
using PostingChanges = std::vector<std::pair<std::int64_t, bool>>;
void changePosting(Connection& connection, PostingKind kind, std::int64_t value, const PostingChanges& changes);

}  // namespace modulelens::registry
