// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/SearchIndex.h"

#include "backend/registry/Connection.h"
#include "backend/registry/Postings.h"
#include "backend/registry/VersionColumns.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace modulelens::registry {

namespace {

constexpr int kSqliteCorrupt = 11;
constexpr std::int64_t kMostIds = std::int64_t{1} << 31;
constexpr std::size_t kMaxHeldChanges = 65'536;
constexpr std::int64_t kStartMark = std::int64_t{1} << 24;

std::int64_t byteAt(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

/// Letters and digits, and every byte of what is not ASCII.
bool isWordByte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

/// What is no letter and no digit begins a part by itself.
bool startsPart(std::string_view text, std::size_t at) {
    return at == 0 || !isWordByte(text[at - 1]) || !isWordByte(text[at]);
}

/// One block of one column, on its way from and to the file.
class Block {
public:
    void load(Connection& connection, VersionColumn column, std::int64_t block) {
        m_width = isWideColumn(column) ? 8 : 4;
        m_bytes.assign(static_cast<std::size_t>(kBlockVersions) * m_width, '\0');
        SQLite::Statement& row = connection.prepare("SELECT cells FROM version_block WHERE kind = ?1 AND block = ?2");
        row.bind(1, static_cast<int>(column));
        row.bind(2, block);
        m_isStored = row.executeStep();
        if (m_isStored) {
            const SQLite::Column data = row.getColumn(0);
            if (static_cast<std::size_t>(data.getBytes()) != m_bytes.size()) {
                throw SQLite::Exception("a block of the search index has another size", kSqliteCorrupt);
            }
            std::memcpy(m_bytes.data(), data.getBlob(), m_bytes.size());
        } else if (m_width == 8) {
            for (int cell = 0; cell < kBlockVersions; ++cell) {
                std::memcpy(m_bytes.data() + static_cast<std::size_t>(cell) * 8, &kNoNumber, 8);
            }
        }
        row.tryReset();
        m_isChanged = false;
    }

    void set(std::int64_t cell, std::int64_t value) {
        const auto narrow = static_cast<std::int32_t>(value);
        const void* source = m_width == 8 ? static_cast<const void*>(&value) : static_cast<const void*>(&narrow);
        char* target = m_bytes.data() + static_cast<std::size_t>(cell) * m_width;
        if (std::memcmp(target, source, m_width) != 0) {
            std::memcpy(target, source, m_width);
            m_isChanged = true;
        }
    }

    void store(Connection& connection, VersionColumn column, std::int64_t block, std::int64_t generation) const {
        if (!m_isChanged) {
            return;
        }
        SQLite::Statement& row = connection.prepare(
            "INSERT INTO version_block (kind, block, stamp, cells) VALUES (?1, ?2, ?3, ?4) "
            "ON CONFLICT (kind, block) DO UPDATE SET stamp = excluded.stamp, cells = excluded.cells");
        row.bind(1, static_cast<int>(column));
        row.bind(2, block);
        row.bind(3, generation);
        row.bind(4, m_bytes.data(), static_cast<int>(m_bytes.size()));
        row.exec();
    }

private:
    std::string m_bytes;
    std::size_t m_width = 0;
    bool m_isStored = false;
    bool m_isChanged = false;
};

/// The blocks of all columns for one range of versions at a time. Confined to its thread.
class BlockWriter {
public:
    BlockWriter(Connection& connection, std::int64_t generation) : m_connection(connection), m_generation(generation) {}

    void select(std::int64_t version) {
        const std::int64_t block = version / kBlockVersions;
        if (block == m_block) {
            return;
        }
        flush();
        m_block = block;
        for (int column = 0; column < kVersionColumns; ++column) {
            m_blocks[static_cast<std::size_t>(column)].load(m_connection, static_cast<VersionColumn>(column), block);
        }
    }
    void set(VersionColumn column, std::int64_t version, std::int64_t value) {
        m_blocks[static_cast<std::size_t>(column)].set(version % kBlockVersions, value);
    }
    void flush() {
        for (int column = 0; m_block >= 0 && column < kVersionColumns; ++column) {
            m_blocks[static_cast<std::size_t>(column)].store(m_connection, static_cast<VersionColumn>(column), m_block,
                                                             m_generation);
        }
        m_block = -1;
    }

private:
    Connection& m_connection;
    const std::int64_t m_generation;
    std::int64_t m_block = -1;
    std::array<Block, kVersionColumns> m_blocks;
};

/// What the index keeps of the versions of a list `p`.
constexpr const char* kIndexedVersions = R"sql(
SELECT p.version, v.collection, v.model, v.module, v.class, v.device, v.created, v.parameter_count, v.parameter_bytes,
       v.latency_ns, v.flops, v.bytes_moved, v.activation_bytes, v.peak_bytes,
       v.id IS NOT NULL AND v.deleted IS NULL, c.latest IS v.id AND v.id IS NOT NULL, v.verdict IS 'pass', v.verdict IS 'fail',
       v.verdict IS 'pass' AND v.exact IS 1, EXISTS (SELECT 1 FROM result AS r WHERE r.version = v.id AND r.kind = 'profile'),
       v.program IS NOT NULL
FROM ({list}) AS p
LEFT JOIN version AS v ON v.id = p.version LEFT JOIN collection AS c ON c.id = v.collection ORDER BY p.version)sql";

std::string indexedVersions(std::string_view list) {
    std::string sql = kIndexedVersions;
    constexpr std::string_view kPlace = "{list}";
    return sql.replace(sql.find(kPlace), kPlace.size(), list);
}

/// The cell of a column in a row of indexedVersions().
std::int64_t cellOf(SQLite::Statement& row, int column) {
    const SQLite::Column cell = row.getColumn(column + 1);
    return cell.isNull() ? (isWideColumn(static_cast<VersionColumn>(column)) ? kNoNumber : 0) : cell.getInt64();
}

bool isInState(SQLite::Statement& row, int state) {
    return row.getColumn(kVersionColumns + 1 + state).getInt() != 0;
}

void foldVersions(Connection& connection, std::int64_t generation) {
    BlockWriter blocks(connection, generation);
    std::array<PostingChanges, kVersionStates> states;
    const auto flushStates = [&] {
        for (int state = 0; state < kVersionStates; ++state) {
            changePosting(connection, PostingKind::State, state, states[static_cast<std::size_t>(state)]);
            states[static_cast<std::size_t>(state)].clear();
        }
    };
    SQLite::Statement& row = connection.prepare(indexedVersions("SELECT DISTINCT version FROM pending WHERE kind = 0"));
    while (row.executeStep()) {
        const std::int64_t version = row.getColumn(0).getInt64();
        if (version <= 0 || version > kMostIds) {
            throw SQLite::Exception("a version has an impossible row id", kSqliteCorrupt);
        }
        blocks.select(version);
        if (states[0].size() >= kMaxHeldChanges) {
            flushStates();
        }
        for (int column = 0; column < kVersionColumns; ++column) {
            blocks.set(static_cast<VersionColumn>(column), version, cellOf(row, column));
        }
        for (int state = 0; state < kVersionStates; ++state) {
            states[static_cast<std::size_t>(state)].emplace_back(version, isInState(row, state));
        }
    }
    row.tryReset();
    blocks.flush();
    flushStates();
}

/// Labels: a row of pending names the label and the version, the tables say whether it has it.
void foldLabels(Connection& connection, PostingKind kind, const std::string& table) {
    SQLite::Statement& row = connection.prepare(
        "SELECT p.value, p.version, t.version IS NOT NULL FROM (SELECT DISTINCT value, version FROM pending WHERE kind = ?1) "
        "AS p "
        "LEFT JOIN " +
        table + " AS t ON t.name = p.value AND t.version = p.version ORDER BY p.value, p.version");
    row.bind(1, static_cast<int>(kind));
    std::int64_t value = 0;
    PostingChanges changes;
    while (row.executeStep()) {
        if (const std::int64_t next = row.getColumn(0).getInt64(); next != value || changes.size() >= kMaxHeldChanges) {
            changePosting(connection, kind, value, changes);
            changes.clear();
            value = next;
        }
        changes.emplace_back(row.getColumn(1).getInt64(), row.getColumn(2).getInt() != 0);
    }
    row.tryReset();
    changePosting(connection, kind, value, changes);
}

void foldNames(Connection& connection) {
    SQLite::Statement& row = connection.prepare(
        "SELECT DISTINCT name.id, name.folded FROM pending AS p JOIN name ON name.id = p.value WHERE p.kind = 1 "
        "ORDER BY name.id");
    std::unordered_map<std::int64_t, std::vector<std::int64_t>> names;
    while (row.executeStep()) {
        const std::int64_t id = row.getColumn(0).getInt64();
        for (const std::int64_t gram : gramsOf(row.getColumn(1).getString())) {
            names[gram].push_back(id);
        }
    }
    row.tryReset();
    for (const auto& [gram, ids] : names) {
        PostingChanges changes;
        changes.reserve(ids.size());
        for (const std::int64_t id : ids) {
            changes.emplace_back(id, true);
        }
        changePosting(connection, PostingKind::Gram, gram, changes);
    }
}

/// Compares the index with the rows. Confined to its thread.
class IndexCheck {
public:
    explicit IndexCheck(Connection& connection) : m_connection(connection) {
        SQLite::Statement& last = connection.prepare("SELECT ifnull(max(id), 0) FROM version");
        last.executeStep();
        m_bound = static_cast<std::size_t>(std::clamp<std::int64_t>(last.getColumn(0).getInt64(), 0, kMostIds)) + 1;
        last.tryReset();
    }

    bool versionsMatch() {
        std::vector<IdSet> states;
        states.reserve(kVersionStates);
        for (int state = 0; state < kVersionStates; ++state) {
            states.push_back(idsOf(PostingKind::State, state));
        }
        for (int column = 0; column < kVersionColumns; ++column) {
            const auto kind = static_cast<VersionColumn>(column);
            isWideColumn(kind) ? static_cast<void>(m_numbers.push_back(m_columns.numbers(m_connection, kind)))
                               : static_cast<void>(m_ids.push_back(m_columns.ids(m_connection, kind)));
        }
        SQLite::Statement& row = m_connection.prepare(indexedVersions("SELECT id AS version FROM version"));
        std::array<std::int64_t, kVersionStates> counts{};
        bool isEqual = true;
        while (isEqual && row.executeStep()) {
            const auto id = static_cast<std::size_t>(row.getColumn(0).getInt64());
            for (int state = 0; state < kVersionStates; ++state) {
                const auto at = static_cast<std::size_t>(state);
                counts[at] += isInState(row, state) ? 1 : 0;
                isEqual = isEqual && states[at].contains(id) == isInState(row, state);
            }
            for (int column = 0; column < kVersionColumns; ++column) {
                isEqual = isEqual && indexedCell(column, id) == cellOf(row, column);
            }
        }
        row.tryReset();
        for (std::size_t state = 0; state < counts.size(); ++state) {
            isEqual = isEqual && states[state].count() == counts[state];
        }
        return isEqual;
    }

    bool labelsMatch(PostingKind kind, const std::string& table) {
        std::map<std::int64_t, IdSet> indexed;
        for (const std::int64_t value : postingValues(m_connection, kind)) {
            indexed.emplace(value, idsOf(kind, value));
        }
        std::map<std::int64_t, std::int64_t> counts;
        SQLite::Statement& row = m_connection.prepare("SELECT DISTINCT name, version FROM " + table);
        bool isEqual = true;
        while (isEqual && row.executeStep()) {
            const auto found = indexed.find(row.getColumn(0).getInt64());
            ++counts[row.getColumn(0).getInt64()];
            isEqual = found != indexed.end() && found->second.contains(static_cast<std::size_t>(row.getColumn(1).getInt64()));
        }
        row.tryReset();
        for (const auto& [value, ids] : indexed) {
            isEqual = isEqual && ids.count() == counts[value];
        }
        return isEqual;
    }

private:
    IdSet idsOf(PostingKind kind, std::int64_t value) {
        IdSet ids(m_bound);
        addPosting(m_connection, kind, value, ids);
        return ids;
    }
    [[nodiscard]] std::int64_t indexedCell(int column, std::size_t id) const {
        const std::size_t narrow = m_ids.size();
        const auto at = static_cast<std::size_t>(column);
        if (at < narrow) {
            return id < m_ids[at]->size() ? (*m_ids[at])[id] : 0;
        }
        return id < m_numbers[at - narrow]->size() ? (*m_numbers[at - narrow])[id] : kNoNumber;
    }

    Connection& m_connection;
    std::size_t m_bound = 0;
    VersionColumns m_columns;
    std::vector<std::shared_ptr<const VersionColumns::Ids>> m_ids;
    std::vector<std::shared_ptr<const VersionColumns::Numbers>> m_numbers;
};

}  // namespace

bool indexMatchesRows(Connection& connection) {
    if (hasPending(connection)) {
        return true;
    }
    try {
        IndexCheck check(connection);
        return check.versionsMatch() && check.labelsMatch(PostingKind::Tag, "version_tag") &&
               check.labelsMatch(PostingKind::Dtype, "version_dtype") && check.labelsMatch(PostingKind::Alias, "alias");
    } catch (const SQLite::Exception& exception) {
        // A bitmap or block that cannot be read is as good as a wrong one; a file that cannot be read is found elsewhere.
        if ((exception.getErrorCode() & 0xFF) == kSqliteCorrupt) {
            return false;
        }
        throw;
    }
}

std::vector<std::int64_t> gramsOf(std::string_view folded) {
    std::vector<std::int64_t> grams;
    grams.reserve(folded.size() * 2);
    for (std::size_t at = 0; at < folded.size(); ++at) {
        if (at + 3 <= folded.size()) {
            grams.push_back(byteAt(folded, at) << 16 | byteAt(folded, at + 1) << 8 | byteAt(folded, at + 2));
        }
        if (startsPart(folded, at)) {
            grams.push_back(startGram(folded.substr(at, 1)));
            grams.push_back(startGram(folded.substr(at, 2)));
        }
    }
    std::sort(grams.begin(), grams.end());
    grams.erase(std::unique(grams.begin(), grams.end()), grams.end());
    return grams;
}

std::int64_t startGram(std::string_view start) {
    return kStartMark | byteAt(start, 0) << 8 | (start.size() > 1 ? byteAt(start, 1) : 0);
}

bool hasPartWith(std::string_view folded, std::string_view start) {
    for (std::size_t at = folded.find(start); at != std::string_view::npos; at = folded.find(start, at + 1)) {
        if (startsPart(folded, at)) {
            return true;
        }
    }
    return false;
}

bool hasPending(Connection& connection) {
    SQLite::Statement& row = connection.prepare("SELECT 1 FROM pending LIMIT 1");
    return hasRow(row);
}

std::int64_t indexGeneration(Connection& connection) {
    SQLite::Statement& row = connection.prepare("SELECT generation FROM index_state");
    const std::int64_t generation = row.executeStep() ? row.getColumn(0).getInt64() : 0;
    row.tryReset();
    return generation;
}

void foldPending(Connection& connection) {
    if (!hasPending(connection)) {
        return;
    }
    const std::int64_t generation = indexGeneration(connection) + 1;
    foldVersions(connection, generation);
    foldNames(connection);
    foldLabels(connection, PostingKind::Tag, "version_tag");
    foldLabels(connection, PostingKind::Dtype, "version_dtype");
    foldLabels(connection, PostingKind::Alias, "alias");
    connection.database().exec("DELETE FROM pending");
    SQLite::Statement& state = connection.prepare("UPDATE index_state SET generation = ?1");
    state.bind(1, generation);
    state.exec();
}

void rebuildIndex(Connection& connection) {
    connection.database().exec(R"sql(
DELETE FROM posting;
DELETE FROM version_block;
DELETE FROM pending;
INSERT INTO pending SELECT 0, 0, id FROM version;
INSERT INTO pending SELECT 1, id, 0 FROM name;
INSERT INTO pending SELECT 2, name, version FROM version_tag;
INSERT INTO pending SELECT 3, name, version FROM version_dtype;
INSERT INTO pending SELECT 4, name, version FROM alias;
)sql");
    foldPending(connection);
}

}  // namespace modulelens::registry
