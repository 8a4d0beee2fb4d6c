// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Names.h"

#include "backend/registry/Connection.h"
#include "backend/registry/IdSet.h"
#include "backend/registry/NameFolding.h"
#include "backend/registry/Postings.h"
#include "backend/registry/SearchIndex.h"
#include "backend/registry/VersionColumns.h"

#include <algorithm>

namespace modulelens::registry {

namespace {

constexpr std::size_t kFewLetters = 3;
constexpr std::size_t kMostGrams = 12;
constexpr std::size_t kGramBytes = 3;
constexpr std::int64_t kFewCandidates = 500;

std::size_t letterCount(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); at += decodeUtf8(text, at).sizeBytes) {
        ++count;
    }
    return count;
}

/// The keys that every name with the text must have.
std::vector<std::int64_t> gramsToAsk(const std::string& folded, bool isStart) {
    if (folded.size() < kGramBytes) {
        return {startGram(folded)};
    }
    std::vector<std::int64_t> grams;
    if (isStart) {
        grams.push_back(startGram(std::string_view(folded).substr(0, 2)));
    }
    // A long text has more than enough: a few of them, spread over it, leave little to look at.
    const std::size_t places = folded.size() - kGramBytes + 1;
    const std::size_t step = (places + kMostGrams - 1) / kMostGrams;
    for (std::size_t at = 0; at < places; at += step) {
        // The grams of three bytes are their own and those of the starts in them; the former are the smallest.
        grams.push_back(gramsOf(std::string_view(folded).substr(at, kGramBytes)).front());
    }
    return grams;
}

std::vector<std::int64_t> idColumn(SQLite::Statement& row) {
    std::vector<std::int64_t> ids;
    while (row.executeStep()) {
        ids.push_back(row.getColumn(0).getInt64());
    }
    row.tryReset();
    return ids;
}

}  // namespace

std::vector<std::int64_t> namesWith(Connection& connection, VersionColumns& columns, const std::string& text) {
    const std::string folded = foldCase(text);
    const bool isStart = letterCount(folded) < kFewLetters;
    SQLite::Statement& last = connection.prepare("SELECT ifnull(max(id), 0) FROM name");
    last.executeStep();
    const auto bound = static_cast<std::size_t>(last.getColumn(0).getInt64()) + 1;
    last.tryReset();
    const std::vector<std::int64_t> grams = gramsToAsk(folded, isStart);
    IdSet candidates(bound);
    addPosting(connection, PostingKind::Gram, grams.front(), candidates);
    for (std::size_t i = 1; i < grams.size(); ++i) {
        IdSet withGram(bound);
        addPosting(connection, PostingKind::Gram, grams[i], withGram);
        candidates.intersect(withGram);
    }
    std::vector<std::int64_t> found;
    // One gram alone is the whole text, so that the names with it need no second look.
    if (folded.size() <= kGramBytes && grams.size() == 1) {
        candidates.forEach([&](std::size_t id) { found.push_back(static_cast<std::int64_t>(id)); });
        return found;
    }
    const auto look = [&](std::size_t id, std::string_view name) {
        if (isStart ? hasPartWith(name, folded) : name.find(folded) != std::string_view::npos) {
            found.push_back(static_cast<std::int64_t>(id));
        }
    };
    if (candidates.count() > kFewCandidates) {
        const auto names = columns.foldedNames(connection);
        candidates.forEach([&](std::size_t id) { look(id, id < names->size() ? (*names)[id] : std::string_view()); });
        return found;
    }
    SQLite::Statement& row = connection.prepare("SELECT folded FROM name WHERE id = ?1");
    candidates.forEach([&](std::size_t id) {
        row.bind(1, static_cast<std::int64_t>(id));
        if (row.executeStep()) {
            const SQLite::Column column = row.getColumn(0);
            look(id, std::string_view(column.getText(), static_cast<std::size_t>(column.getBytes())));
        }
        row.tryReset();
    });
    return found;
}

std::vector<std::int64_t> namesEqualTo(Connection& connection, const std::string& text) {
    SQLite::Statement& row = connection.prepare("SELECT id FROM name WHERE text = ?1");
    row.bind(1, text);
    return idColumn(row);
}

std::vector<std::int64_t> namesSpelled(Connection& connection, const std::string& text) {
    SQLite::Statement& row = connection.prepare("SELECT id FROM name WHERE folded = ?1 ORDER BY id");
    row.bind(1, foldCase(text));
    return idColumn(row);
}

std::vector<std::int64_t> namesOfKind(Connection& connection, const std::string& text) {
    const std::string folded = foldCase(text);
    // ';' is the character after ':'.
    SQLite::Statement& row =
        connection.prepare("SELECT id FROM name WHERE folded = ?1 OR (folded >= ?1 || ':' AND folded < ?1 || ';') ORDER BY id");
    row.bind(1, folded);
    return idColumn(row);
}

}  // namespace modulelens::registry
