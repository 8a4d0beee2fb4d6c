// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Changes to versions of SqliteRegistry: tags, aliases, attributes, deletion, results.
#include "backend/base/Digest.h"
#include "backend/registry/Names.h"
#include "backend/registry/SqliteRegistry.h"
#include "backend/registry/Summaries.h"
#include "backend/registry/Timestamp.h"
#include "backend/registry/VersionAddress.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace modulelens::registry {

namespace {

using nlohmann::json;

base::Result<void> checkAlias(const std::string& alias) {
    if (base::Result<void> fit = checkLabel(alias, "alias"); !fit) {
        return fit;
    }
    if (isReservedAlias(alias)) {
        return base::Error{base::ErrorCode::InvalidArgument, "The alias '" + alias + "' is reserved.",
                           "'latest' moves by itself and v0, v1, ... are version numbers; choose another name."};
    }
    return {};
}

/// What later searches and lists need of a result, taken from its JSON.
struct ResultFigures {
    std::string verdict;
    bool exact = false;
    std::optional<std::int64_t> latencyNs;
    std::optional<std::int64_t> flops;
    std::optional<std::int64_t> bytesMoved;
    std::optional<std::int64_t> activationBytes;
    std::optional<std::int64_t> peakBytes;
};

/// A figure that can be: a finite number that is not negative.
std::optional<std::int64_t> figure(const json& holder, const char* key) {
    const auto found = holder.find(key);
    if (found != holder.end() && found->is_number()) {
        const double value = found->get<double>();
        if (std::isfinite(value) && value >= 0 && value < 9e18) {
            return static_cast<std::int64_t>(value);
        }
    }
    return std::nullopt;
}

base::Result<ResultFigures> figuresOf(const StoredResult& result) {
    if (result.kind != "profile" && result.kind != "validation" && result.kind != "benchmark" && result.kind != "memory") {
        return base::Error{base::ErrorCode::InvalidArgument, "There is no kind of result '" + result.kind + "'.",
                           "Kinds are profile, validation, benchmark and memory."};
    }
    const json document = json::parse(result.json, nullptr, false);
    if (!document.is_object()) {
        return base::Error{base::ErrorCode::InvalidArgument, "The result to store is no JSON object.", ""};
    }
    ResultFigures figures;
    if (result.kind == "validation") {
        const auto verdict = document.find("verdict");
        if (verdict == document.end() || !verdict->is_string()) {
            return base::Error{base::ErrorCode::InvalidArgument, "The validation to store has no verdict.", ""};
        }
        figures.verdict = verdict->get<std::string>();
        const auto exact = document.find("exact");
        figures.exact = exact != document.end() && exact->is_boolean() && exact->get<bool>();
    }
    const auto totals = document.find("totals");
    const json& holder = totals != document.end() && totals->is_object() ? *totals : document;
    figures.latencyNs = figure(holder, "latency_ns");
    figures.flops = figure(holder, "flops");
    figures.bytesMoved = figure(holder, "bytes");
    figures.activationBytes = figure(holder, "activation_bytes");
    figures.peakBytes = figure(holder, "peak_bytes");
    return figures;
}

void bindFigure(SQLite::Statement& statement, int index, const std::optional<std::int64_t>& value) {
    if (value) {
        statement.bind(index, *value);
    }
}

/// Keeps the figures of a result beside its version, unless a newer result of that kind is there.
void storeFigures(Connection& connection, std::int64_t version, const std::string& kind, std::int64_t created,
                  const ResultFigures& figures) {
    SQLite::Statement& newer =
        connection.prepare("SELECT 1 FROM result WHERE version = ?1 AND kind = ?2 AND created > ?3 LIMIT 1");
    newer.bind(1, version);
    newer.bind(2, kind);
    newer.bind(3, created);
    if (hasRow(newer)) {
        return;
    }
    if (kind == "validation") {
        SQLite::Statement& update = connection.prepare("UPDATE version SET verdict = ?2, exact = ?3 WHERE id = ?1");
        update.bind(1, version);
        update.bind(2, figures.verdict);
        update.bind(3, figures.exact ? 1 : 0);
        update.exec();
    } else if (kind == "profile") {
        // What this profile did not measure stays as another measured it; only the latency is always its own.
        SQLite::Statement& update = connection.prepare(
            "UPDATE version SET latency_ns = ?2, flops = ifnull(?3, flops), bytes_moved = ifnull(?4, bytes_moved), "
            "activation_bytes = ifnull(?5, activation_bytes), peak_bytes = ifnull(?6, peak_bytes) WHERE id = ?1");
        update.bind(1, version);
        bindFigure(update, 2, figures.latencyNs);
        bindFigure(update, 3, figures.flops);
        bindFigure(update, 4, figures.bytesMoved);
        bindFigure(update, 5, figures.activationBytes);
        bindFigure(update, 6, figures.peakBytes);
        update.exec();
    } else if (kind == "memory") {
        SQLite::Statement& update = connection.prepare(
            "UPDATE version SET activation_bytes = ifnull(?2, activation_bytes), peak_bytes = ifnull(?3, peak_bytes) "
            "WHERE id = ?1");
        update.bind(1, version);
        bindFigure(update, 2, figures.activationBytes);
        bindFigure(update, 3, figures.peakBytes);
        update.exec();
    }
}

/// When the newest result of a kind was stored, or 0. What is stored now is newer, also on a machine whose clock is behind.
std::int64_t newestResult(Connection& connection, std::int64_t version, const std::string& kind) {
    SQLite::Statement& row = connection.prepare("SELECT ifnull(max(created), 0) FROM result WHERE version = ?1 AND kind = ?2");
    row.bind(1, version);
    row.bind(2, kind);
    row.executeStep();
    const std::int64_t created = row.getColumn(0).getInt64();
    row.tryReset();
    return created;
}

}  // namespace

base::Result<void> checkLabelName(LabelKind kind, const std::string& name) {
    if (kind == LabelKind::Alias) {
        return checkAlias(name);
    }
    return checkLabel(name, kind == LabelKind::Tag ? "tag" : "attribute name");
}

base::Result<void> SqliteRegistry::changeVersion(const std::string& id,
                                                 const std::function<base::Result<void>(Connection&, std::int64_t)>& change) {
    if (base::Result<void> writable = requireWritable(); !writable) {
        return writable;
    }
    return m_pool->write([&](Connection& connection) -> base::Result<void> {
        const std::optional<std::int64_t> version = findVersion(connection, id);
        if (!version) {
            return noSuchVersion(connection, id);
        }
        return change(connection, *version);
    });
}

base::Result<void> SqliteRegistry::addTag(const std::string& id, const std::string& tag) {
    if (base::Result<void> fit = checkLabel(tag, "tag"); !fit) {
        return fit;
    }
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        insertTag(connection, version, tag);
        return {};
    });
}

base::Result<void> SqliteRegistry::removeTag(const std::string& id, const std::string& tag) {
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        SQLite::Statement& statement =
            connection.prepare("DELETE FROM version_tag WHERE version = ?1 AND name = (SELECT id FROM name WHERE text = ?2)");
        statement.bind(1, version);
        statement.bind(2, tag);
        statement.exec();
        return {};
    });
}

base::Result<void> SqliteRegistry::setAlias(const std::string& id, const std::string& alias) {
    if (base::Result<void> fit = checkAlias(alias); !fit) {
        return fit;
    }
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        const std::int64_t name = internName(connection, alias, kAliasName);
        SQLite::Statement& statement = connection.prepare(
            "INSERT INTO alias (collection, name, version) SELECT collection, ?2, id FROM version WHERE id = ?1 "
            "ON CONFLICT (collection, name) DO UPDATE SET version = excluded.version");
        statement.bind(1, version);
        statement.bind(2, name);
        statement.exec();
        return {};
    });
}

base::Result<void> SqliteRegistry::removeAlias(const std::string& id, const std::string& alias) {
    if (base::Result<void> fit = checkAlias(alias); !fit) {
        return fit;
    }
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        SQLite::Statement& statement =
            connection.prepare("DELETE FROM alias WHERE version = ?1 AND name = (SELECT id FROM name WHERE text = ?2)");
        statement.bind(1, version);
        statement.bind(2, alias);
        statement.exec();
        return {};
    });
}

base::Result<void> SqliteRegistry::setAttribute(const std::string& id, const std::string& key, const AttributeValue& value) {
    if (base::Result<void> fit = checkLabel(key, "attribute name"); !fit) {
        return fit;
    }
    if (const auto* number = std::get_if<double>(&value); number != nullptr && !std::isfinite(*number)) {
        return base::Error{base::ErrorCode::InvalidArgument, "The value of the attribute '" + key + "' is not a finite number.",
                           "Write a finite number or a text."};
    }
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        insertAttribute(connection, version, key, value);
        return {};
    });
}

base::Result<void> SqliteRegistry::removeAttribute(const std::string& id, const std::string& key) {
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        SQLite::Statement& statement =
            connection.prepare("DELETE FROM attribute WHERE version = ?1 AND key = (SELECT id FROM name WHERE text = ?2)");
        statement.bind(1, version);
        statement.bind(2, key);
        statement.exec();
        return {};
    });
}

base::Result<void> SqliteRegistry::remove(const std::string& id) {
    return changeVersion(id, [&](Connection& connection, std::int64_t version) -> base::Result<void> {
        SQLite::Statement& aliases = connection.prepare("DELETE FROM alias WHERE version = ?1");
        aliases.bind(1, version);
        aliases.exec();
        SQLite::Statement& trash = connection.prepare("UPDATE version SET deleted = ?2 WHERE id = ?1");
        trash.bind(1, version);
        trash.bind(2, currentUtcMicroseconds());
        trash.exec();
        chooseLatest(connection, version);
        return {};
    });
}

base::Result<StoredResult> SqliteRegistry::storeResult(const std::string& id, const StoredResult& result) {
    if (base::Result<void> writable = requireWritable(); !writable) {
        return writable.error();
    }
    const base::Result<ResultFigures> figures = figuresOf(result);
    if (!figures) {
        return figures.error();
    }
    const std::optional<TimeSpan> given = result.created.empty() ? std::nullopt : parseTimeSpan(result.created);
    if (!result.created.empty() && !given) {
        return base::Error{base::ErrorCode::InvalidArgument, "The result's time '" + result.created + "' is not a UTC time.",
                           ""};
    }
    std::int64_t created = given ? given->from : currentUtcMicroseconds();
    base::Result<FileLock> lock = lockForCommit({});
    if (!lock) {
        return lock.error();
    }
    StagedFiles staged(m_files, m_layout, "result");
    std::string digest;
    std::int64_t sizeBytes = 0;
    if (!result.file.empty()) {
        const base::Result<std::shared_ptr<const base::MappedFile>> file = m_files.map(result.file);
        if (!file) {
            return file.error();
        }
        digest = base::sha256Hex((*file)->bytes());
        sizeBytes = static_cast<std::int64_t>((*file)->bytes().size());
        if (base::Result<void> added = staged.addObject(digest, (*file)->bytes()); !added) {
            return added.error();
        }
    }
    base::Result<StoredResult> stored = m_pool->write([&](Connection& connection) -> base::Result<StoredResult> {
        const std::optional<std::int64_t> version = findVersion(connection, id);
        if (!version) {
            return noSuchVersion(connection, id);
        }
        if (!given) {
            created = std::max(created, newestResult(connection, *version, result.kind) + 1);
        }
        std::optional<std::int64_t> object;
        if (!digest.empty()) {
            SQLite::Statement& insert = connection.prepare(
                "INSERT INTO object (digest, kind, size) VALUES (?1, 'result', ?2) ON CONFLICT DO NOTHING RETURNING id");
            bindDigest(insert, 1, digest);
            insert.bind(2, sizeBytes);
            if (insert.executeStep()) {
                object = insert.getColumn(0).getInt64();
            } else {
                staged.drop(digest);
                SQLite::Statement& find = connection.prepare("SELECT id FROM object WHERE digest = ?1");
                bindDigest(find, 1, digest);
                find.executeStep();
                object = find.getColumn(0).getInt64();
            }
        }
        SQLite::Statement& insert = connection.prepare(
            "INSERT INTO result (key, version, kind, created, device, engine, json, object) VALUES (hex(randomblob(8)), ?1, "
            "?2, ?3, ?4, ?5, ?6, ?7) "
            "RETURNING key");
        insert.bind(1, *version);
        insert.bind(2, result.kind);
        insert.bind(3, created);
        insert.bind(4, result.device);
        insert.bind(5, result.engine);
        insert.bind(6, result.json);
        if (object) {
            insert.bind(7, *object);
        }
        insert.executeStep();
        StoredResult answer = result;
        answer.id = insert.getColumn(0).getString();
        insert.tryReset();
        answer.created = formatUtc(created);
        answer.file = digest.empty() ? std::filesystem::path() : m_layout.folder() / RegistryLayout::objectName(digest);
        storeFigures(connection, *version, result.kind, created, *figures);
        if (const base::Result<void> published = staged.publish(); !published) {
            return published.error();
        }
        return answer;
    });
    if (stored) {
        staged.keep();
    }
    return stored;
}

base::Result<std::vector<StoredResult>> SqliteRegistry::results(const std::string& id, const std::string& kind) {
    return m_pool->read([&](Connection& connection) -> base::Result<std::vector<StoredResult>> {
        const std::optional<std::int64_t> version = findVersion(connection, id);
        if (!version) {
            return noSuchVersion(connection, id);
        }
        SQLite::Statement& row = connection.prepare(
            "SELECT r.key, r.kind, r.created, r.device, r.engine, r.json, object.digest FROM result AS r "
            "LEFT JOIN object ON object.id = r.object WHERE r.version = ?1 AND (?2 = '' OR r.kind = ?2) ORDER BY r.created "
            "DESC, r.id DESC");
        row.bind(1, *version);
        row.bind(2, kind);
        std::vector<StoredResult> results;
        while (row.executeStep()) {
            StoredResult result;
            result.id = row.getColumn(0).getString();
            result.kind = row.getColumn(1).getString();
            result.created = formatUtc(row.getColumn(2).getInt64());
            result.device = row.getColumn(3).getString();
            result.engine = row.getColumn(4).getString();
            result.json = row.getColumn(5).getString();
            const std::string digest = digestColumn(row, 6);
            if (!digest.empty()) {
                result.file = m_layout.folder() / RegistryLayout::objectName(digest);
            }
            results.push_back(std::move(result));
        }
        return results;
    });
}

}  // namespace modulelens::registry
