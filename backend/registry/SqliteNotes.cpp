// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// What people add to versions of SqliteRegistry beside labels: notes, lineage, the way out of the trash; saved searches.
#include "backend/registry/Query.h"
#include "backend/registry/SqliteRegistry.h"
#include "backend/registry/Summaries.h"
#include "backend/registry/TextPosition.h"
#include "backend/registry/VersionAddress.h"

#include <utility>

namespace modulelens::registry {

namespace {

constexpr std::size_t kMaxNoteBytes = std::size_t{64} << 10;

base::Result<void> checkNote(const std::string& text) {
    if (text.size() > kMaxNoteBytes) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "The note has " + std::to_string(text.size()) + " bytes; 65536 are allowed.", "Shorten it."};
    }
    if (findInvalidUtf8(text) != std::string::npos || text.find('\0') != std::string::npos) {
        return base::Error{base::ErrorCode::InvalidArgument, "The note is not text in UTF-8.", "Type it again."};
    }
    return {};
}

/// True when one comes from the other, over any number of links.
bool comesFrom(Connection& connection, std::int64_t version, std::int64_t other) {
    SQLite::Statement& row = connection.prepare(
        "WITH RECURSIVE origin(id) AS (SELECT ?1 UNION SELECT link.other FROM link JOIN origin ON link.version = origin.id) "
        "SELECT 1 FROM origin WHERE id = ?2");
    row.bind(1, version);
    row.bind(2, other);
    return hasRow(row);
}

void readLinks(Connection& connection, std::int64_t version, bool incoming, std::vector<LineageLink>& links) {
    SQLite::Statement& row = connection.prepare(
        std::string("SELECT l.kind, v.key, model.text, module.text, v.number FROM link AS l JOIN version AS v ON v.id = ") +
        (incoming ? "l.version" : "l.other") +
        " JOIN name AS model ON model.id = v.model JOIN name AS module ON module.id = v.module WHERE " +
        (incoming ? "l.other" : "l.version") + " = ?1 AND v.deleted IS NULL ORDER BY l.kind, v.id");
    row.bind(1, version);
    while (row.executeStep()) {
        if (const std::optional<LinkKind> kind = linkKindOf(row.getColumn(0).getString())) {
            links.push_back(
                {*kind, row.getColumn(1).getString(),
                 formatVersionAddress(row.getColumn(2).getString(), row.getColumn(3).getString(), row.getColumn(4).getInt()),
                 incoming});
        }
    }
    row.tryReset();
}

}  // namespace

base::Result<std::vector<VersionSummary>> SqliteRegistry::trash() {
    return m_pool->read([&](Connection& connection) -> base::Result<std::vector<VersionSummary>> {
        SQLite::Statement& row =
            connection.prepare("SELECT id FROM version WHERE deleted IS NOT NULL ORDER BY deleted DESC, id DESC");
        std::vector<VersionSummary> versions;
        while (row.executeStep()) {
            versions.push_back(readVersion(connection, row.getColumn(0).getInt64()));
        }
        return versions;
    });
}

base::Result<void> SqliteRegistry::restore(const std::string& id) {
    if (base::Result<void> writable = requireWritable(); !writable) {
        return writable;
    }
    return m_pool->write([&](Connection& connection) -> base::Result<void> {
        const std::optional<std::int64_t> version = findDeletedVersion(connection, id);
        if (!version) {
            if (findVersion(connection, id)) {
                return base::Error{base::ErrorCode::NotFound, "The version " + id + " is not in the trash.", ""};
            }
            return noSuchVersion(connection, id);
        }
        SQLite::Statement& twin = connection.prepare(
            "SELECT 1 FROM version AS v JOIN version AS old ON old.collection = v.collection AND old.digest = v.digest "
            "WHERE old.id = ?1 AND v.deleted IS NULL");
        twin.bind(1, *version);
        if (hasRow(twin)) {
            return base::Error{base::ErrorCode::AlreadyExists, "The content of the version " + id + " was imported again.",
                               "Use the newer version; this one can stay in the trash."};
        }
        SQLite::Statement& restored = connection.prepare("UPDATE version SET deleted = NULL WHERE id = ?1");
        restored.bind(1, *version);
        restored.exec();
        chooseLatest(connection, *version);
        return {};
    });
}

base::Result<std::string> SqliteRegistry::note(const std::string& id) {
    return m_pool->read([&](Connection& connection) -> base::Result<std::string> {
        const std::optional<std::int64_t> version = findVersion(connection, id);
        if (!version) {
            return noSuchVersion(connection, id);
        }
        SQLite::Statement& row = connection.prepare("SELECT ifnull(note, '') FROM version WHERE id = ?1");
        row.bind(1, *version);
        return row.executeStep() ? row.getColumn(0).getString() : std::string();
    });
}

base::Result<void> SqliteRegistry::setNote(const std::string& id, const std::string& text) {
    if (base::Result<void> fit = checkNote(text); !fit) {
        return fit;
    }
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        SQLite::Statement& update = connection.prepare("UPDATE version SET note = nullif(?2, '') WHERE id = ?1");
        update.bind(1, version);
        update.bind(2, text);
        update.exec();
        return {};
    });
}

base::Result<std::vector<LineageLink>> SqliteRegistry::links(const std::string& id) {
    return m_pool->read([&](Connection& connection) -> base::Result<std::vector<LineageLink>> {
        const std::optional<std::int64_t> version = findVersion(connection, id);
        if (!version) {
            return noSuchVersion(connection, id);
        }
        std::vector<LineageLink> links;
        readLinks(connection, *version, false, links);
        readLinks(connection, *version, true, links);
        return links;
    });
}

base::Result<void> SqliteRegistry::addLink(const std::string& id, LinkKind kind, const std::string& otherId) {
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        const std::optional<std::int64_t> other = findVersion(connection, otherId);
        if (!other) {
            return noSuchVersion(connection, otherId);
        }
        if (comesFrom(connection, *other, version)) {
            return base::Error{base::ErrorCode::InvalidArgument,
                               id == otherId ? "A version cannot come from itself."
                                             : "The version " + otherId + " comes from " + id + " already.",
                               "Link the later version to the earlier one."};
        }
        SQLite::Statement& insert = connection.prepare("INSERT OR IGNORE INTO link (version, kind, other) VALUES (?1, ?2, ?3)");
        insert.bind(1, version);
        insert.bind(2, std::string(linkKindName(kind)));
        insert.bind(3, *other);
        insert.exec();
        return {};
    });
}

base::Result<void> SqliteRegistry::removeLink(const std::string& id, LinkKind kind, const std::string& otherId) {
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        SQLite::Statement& statement = connection.prepare(
            "DELETE FROM link WHERE version = ?1 AND kind = ?2 AND other = (SELECT id FROM version WHERE key = ?3)");
        statement.bind(1, version);
        statement.bind(2, std::string(linkKindName(kind)));
        statement.bind(3, otherId);
        statement.exec();
        return {};
    });
}

base::Result<std::vector<SavedSearch>> SqliteRegistry::savedSearches() {
    return m_pool->read([&](Connection& connection) -> base::Result<std::vector<SavedSearch>> {
        SQLite::Statement& row = connection.prepare("SELECT name, query FROM saved_search ORDER BY name");
        std::vector<SavedSearch> searches;
        while (row.executeStep()) {
            searches.push_back({row.getColumn(0).getString(), row.getColumn(1).getString()});
        }
        return searches;
    });
}

base::Result<void> SqliteRegistry::saveSearch(const SavedSearch& search) {
    base::Result<void> fit = checkLabel(search.name, "saved search");
    if (fit) {
        fit = requireWritable();
    }
    if (!fit) {
        return fit;
    }
    if (const base::Result<Query> query = parseQuery(search.query); !query) {
        return query.error();
    }
    return m_pool->write([&](Connection& connection) -> base::Result<void> {
        SQLite::Statement& insert = connection.prepare(
            "INSERT INTO saved_search (name, query) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET query = excluded.query");
        insert.bind(1, search.name);
        insert.bind(2, search.query);
        insert.exec();
        return {};
    });
}

base::Result<void> SqliteRegistry::removeSavedSearch(const std::string& name) {
    if (base::Result<void> writable = requireWritable(); !writable) {
        return writable;
    }
    return m_pool->write([&](Connection& connection) -> base::Result<void> {
        SQLite::Statement& statement = connection.prepare("DELETE FROM saved_search WHERE name = ?1");
        statement.bind(1, name);
        if (statement.exec() == 0) {
            return base::Error{base::ErrorCode::NotFound, "There is no saved search '" + name + "'.", ""};
        }
        return {};
    });
}

}  // namespace modulelens::registry
