// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/VersionColumns.h"

#include "backend/registry/Connection.h"
#include "backend/registry/SearchIndex.h"

#include <cstring>

namespace modulelens::registry {

namespace {

constexpr int kSqliteCorrupt = 11;
constexpr std::int64_t kMaxBlock = (std::int64_t{1} << 31) / kBlockVersions;

/// Copies the blocks that were written after `since` into `cells`, which grows.
template <class Cell>
void readBlocks(Connection& connection, VersionColumn column, std::int64_t since, Cell absent, std::vector<Cell>& cells) {
    SQLite::Statement& size = connection.prepare("SELECT ifnull(max(block) + 1, 0) FROM version_block WHERE kind = ?1");
    size.bind(1, static_cast<int>(column));
    size.executeStep();
    const std::int64_t blocks = size.getColumn(0).getInt64();
    size.tryReset();
    if (blocks < 0 || blocks > kMaxBlock) {
        throw SQLite::Exception("a block of the search index lies outside", kSqliteCorrupt);
    }
    cells.resize(static_cast<std::size_t>(blocks) * kBlockVersions, absent);
    SQLite::Statement& row =
        connection.prepare("SELECT block, cells FROM version_block WHERE kind = ?1 AND stamp > ?2 ORDER BY block");
    row.bind(1, static_cast<int>(column));
    row.bind(2, since);
    while (row.executeStep()) {
        const std::int64_t block = row.getColumn(0).getInt64();
        const SQLite::Column data = row.getColumn(1);
        if (block < 0 || data.getBytes() != static_cast<int>(kBlockVersions * sizeof(Cell))) {
            throw SQLite::Exception("a block of the search index has another size", kSqliteCorrupt);
        }
        std::memcpy(cells.data() + block * kBlockVersions, data.getBlob(), kBlockVersions * sizeof(Cell));
    }
    row.tryReset();
}

}  // namespace

template <class Cell>
std::shared_ptr<const std::vector<Cell>> VersionColumns::read(Connection& connection, VersionColumn column,
                                                              Cache<Cell> VersionColumns::* cache, Cell absent) {
    const std::int64_t generation = indexGeneration(connection);
    Cached<Cell> known;
    {
        const base::MutexLock lock(m_mutex);
        known = (this->*cache)[static_cast<std::size_t>(column)];
    }
    if (known.cells && known.generation == generation) {
        return known.cells;
    }
    // A reader of an older moment than the cache knows reads everything; nobody else needs it.
    const bool isNewer = known.cells && known.generation < generation;
    auto cells = isNewer ? std::make_shared<std::vector<Cell>>(*known.cells) : std::make_shared<std::vector<Cell>>();
    readBlocks(connection, column, isNewer ? known.generation : -1, absent, *cells);
    const base::MutexLock lock(m_mutex);
    Cached<Cell>& kept = (this->*cache)[static_cast<std::size_t>(column)];
    if (kept.generation < generation) {
        kept = {generation, cells};
    }
    return cells;
}

std::shared_ptr<const VersionColumns::Ids> VersionColumns::ids(Connection& connection, VersionColumn column) {
    return read<std::int32_t>(connection, column, &VersionColumns::m_ids, 0);
}

std::shared_ptr<const VersionColumns::Numbers> VersionColumns::numbers(Connection& connection, VersionColumn column) {
    return read<std::int64_t>(connection, column, &VersionColumns::m_numbers, kNoNumber);
}

std::shared_ptr<const std::vector<std::string>> VersionColumns::foldedNames(Connection& connection) {
    std::shared_ptr<const std::vector<std::string>> known;
    {
        const base::MutexLock lock(m_mutex);
        known = m_names;
    }
    SQLite::Statement& last = connection.prepare("SELECT ifnull(max(id), 0) FROM name");
    last.executeStep();
    const std::int64_t greatest = last.getColumn(0).getInt64();
    last.tryReset();
    if (known && greatest < static_cast<std::int64_t>(known->size())) {
        return known;
    }
    if (greatest < 0 || greatest >= kMaxBlock * kBlockVersions) {
        throw SQLite::Exception("a name has an impossible row id", kSqliteCorrupt);
    }
    auto names = known ? std::make_shared<std::vector<std::string>>(*known) : std::make_shared<std::vector<std::string>>();
    const auto from = static_cast<std::int64_t>(names->size());
    names->resize(static_cast<std::size_t>(greatest) + 1);
    SQLite::Statement& row = connection.prepare("SELECT id, folded FROM name WHERE id >= ?1");
    row.bind(1, from);
    while (row.executeStep()) {
        const std::int64_t id = row.getColumn(0).getInt64();
        if (id >= from && id <= greatest) {
            (*names)[static_cast<std::size_t>(id)] = row.getColumn(1).getString();
        }
    }
    row.tryReset();
    const base::MutexLock lock(m_mutex);
    if (!m_names || m_names->size() < names->size()) {
        m_names = names;
    }
    return names;
}

}  // namespace modulelens::registry
