// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Mutex.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace modulelens::registry {

class Connection;

/// What is kept of every version as an array by its row id, so that a search reads millions of them in milliseconds. The
/// numbers are in the file (docs/formats/registry.md).
enum class VersionColumn {
    Collection = 0,
    Model = 1,
    Module = 2,
    Class = 3,
    Device = 4,
    Created = 5,
    ParameterCount = 6,
    ParameterBytes = 7,
    Latency = 8,
    Flops = 9,
    BytesMoved = 10,
    Activation = 11,
    Peak = 12,
};
inline constexpr int kVersionColumns = 13;
inline constexpr int kBlockVersions = 4096;

/// Cells are 8 bytes for these, 4 for the columns before.
inline constexpr bool isWideColumn(VersionColumn column) {
    return column >= VersionColumn::Created;
}

/// Cell of a number that is not known, and of a version that is not there.
inline constexpr std::int64_t kNoNumber = std::numeric_limits<std::int64_t>::min();

/// Columns in memory, read from blocks of the file when first asked for and renewed by what has changed since. Thread-safe.
class VersionColumns {
public:
    using Ids = std::vector<std::int32_t>;
    using Numbers = std::vector<std::int64_t>;

    /// The column as the open read transaction of `connection` sees it. Its length is that of whole blocks and may be below
    /// the greatest row id. Throws SQLite::Exception. Requires of the first: a narrow column; of the second: a wide one.
    [[nodiscard]] std::shared_ptr<const Ids> ids(Connection& connection, VersionColumn column);
    [[nodiscard]] std::shared_ptr<const Numbers> numbers(Connection& connection, VersionColumn column);

    /// Folded names by their ids, those of the open read transaction among them. A name never changes, and is never removed.
    [[nodiscard]] std::shared_ptr<const std::vector<std::string>> foldedNames(Connection& connection);

private:
    template <class Cell>
    struct Cached {
        std::int64_t generation = -1;
        std::shared_ptr<const std::vector<Cell>> cells;
    };
    template <class Cell>
    using Cache = std::array<Cached<Cell>, kVersionColumns>;
    template <class Cell>
    std::shared_ptr<const std::vector<Cell>> read(Connection& connection, VersionColumn column,
                                                  Cache<Cell> VersionColumns::* cache, Cell absent);

    base::Mutex m_mutex;
    Cache<std::int32_t> m_ids ML_GUARDED_BY(m_mutex);
    Cache<std::int64_t> m_numbers ML_GUARDED_BY(m_mutex);
    std::shared_ptr<const std::vector<std::string>> m_names ML_GUARDED_BY(m_mutex);
};

}  // namespace modulelens::registry
