// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Summaries.h"

#include "backend/registry/NameFolding.h"
#include "backend/registry/Names.h"
#include "backend/registry/Timestamp.h"

#include <algorithm>

namespace modulelens::registry {

namespace {

constexpr const char* kVersionSql = R"sql(
SELECT v.key, model.text, module.text, class.text, v.number, v.program, v.no_program_reason, v.created, v.imported,
       device.text, torch.text, v.parameter_bytes, v.call_count, v.digest, v.state_digest, v.verdict, v.exact, v.latency_ns,
       c.latest = v.id, v.flops, v.bytes_moved, v.activation_bytes, v.peak_bytes, v.deleted
FROM version AS v
JOIN collection AS c ON c.id = v.collection
JOIN name AS model ON model.id = v.model
JOIN name AS module ON module.id = v.module
JOIN name AS class ON class.id = v.class
JOIN name AS device ON device.id = v.device
JOIN name AS torch ON torch.id = v.torch
WHERE v.id = ?1)sql";

std::optional<std::int64_t> optionalColumn(SQLite::Statement& row, int index) {
    const SQLite::Column column = row.getColumn(index);
    return column.isNull() ? std::nullopt : std::optional<std::int64_t>(column.getInt64());
}

AttributeValue attributeColumn(SQLite::Statement& row) {
    const std::string kind = row.getColumn(1).getString();
    if (kind == "text") {
        return row.getColumn(2).getString();
    }
    const double number = row.getColumn(3).getDouble();
    if (kind == "boolean") {
        return number != 0;
    }
    return number;
}

std::optional<std::int64_t> rowIdOf(Connection& connection, const char* sql, const std::string& key) {
    SQLite::Statement& row = connection.prepare(sql);
    row.bind(1, key);
    std::optional<std::int64_t> rowid;
    if (row.executeStep()) {
        rowid = row.getColumn(0).getInt64();
    }
    row.tryReset();
    return rowid;
}

}  // namespace

VersionSummary readVersion(Connection& connection, std::int64_t rowid) {
    VersionSummary version;
    SQLite::Statement& row = connection.prepare(kVersionSql);
    row.bind(1, rowid);
    if (!row.executeStep()) {
        throw SQLite::Exception("a version row names what is not there", 11);
    }
    version.id = row.getColumn(0).getString();
    version.model = row.getColumn(1).getString();
    version.module = row.getColumn(2).getString();
    version.className = row.getColumn(3).getString();
    version.number = row.getColumn(4).getInt();
    version.program = digestColumn(row, 5);
    version.noProgramReason = row.getColumn(6).getString();
    version.created = formatUtc(row.getColumn(7).getInt64());
    version.imported = formatUtc(row.getColumn(8).getInt64());
    version.device = row.getColumn(9).getString();
    version.torchVersion = row.getColumn(10).getString();
    version.parameterBytes = row.getColumn(11).getInt64();
    version.callCount = row.getColumn(12).getInt();
    version.versionDigest = digestColumn(row, 13);
    version.stateDigest = digestColumn(row, 14);
    version.verdict = row.getColumn(15).getString();
    version.exact = row.getColumn(16).getInt() != 0;
    version.latencyNs = optionalColumn(row, 17);
    if (row.getColumn(18).getInt() != 0) {
        version.aliases.emplace_back("latest");
    }
    version.flops = optionalColumn(row, 19);
    version.bytesMoved = optionalColumn(row, 20);
    version.activationBytes = optionalColumn(row, 21);
    version.peakBytes = optionalColumn(row, 22);
    if (const std::optional<std::int64_t> deleted = optionalColumn(row, 23)) {
        version.deleted = formatUtc(*deleted);
    }
    row.tryReset();

    SQLite::Statement& tags = connection.prepare(
        "SELECT name.text FROM version_tag AS t JOIN name ON name.id = t.name WHERE t.version = ?1 ORDER BY name.text");
    tags.bind(1, rowid);
    while (tags.executeStep()) {
        version.tags.push_back(tags.getColumn(0).getString());
    }
    SQLite::Statement& aliases = connection.prepare(
        "SELECT name.text FROM alias AS a JOIN name ON name.id = a.name WHERE a.version = ?1 ORDER BY name.text");
    aliases.bind(1, rowid);
    while (aliases.executeStep()) {
        version.aliases.push_back(aliases.getColumn(0).getString());
    }
    SQLite::Statement& attributes = connection.prepare(
        "SELECT name.text, a.kind, a.text, a.number FROM attribute AS a JOIN name ON name.id = a.key WHERE a.version = ?1");
    attributes.bind(1, rowid);
    while (attributes.executeStep()) {
        version.attributes.emplace(attributes.getColumn(0).getString(), attributeColumn(attributes));
    }
    return version;
}

std::optional<std::int64_t> findVersion(Connection& connection, const std::string& id) {
    return rowIdOf(connection, "SELECT id FROM version WHERE key = ?1 AND deleted IS NULL", id);
}

std::optional<std::int64_t> findDeletedVersion(Connection& connection, const std::string& id) {
    return rowIdOf(connection, "SELECT id FROM version WHERE key = ?1 AND deleted IS NOT NULL", id);
}

base::Error noSuchVersion(Connection& connection, const std::string& id) {
    SQLite::Statement& row = connection.prepare("SELECT 1 FROM version WHERE key = ?1");
    row.bind(1, id);
    const bool deleted = hasRow(row);
    return {base::ErrorCode::NotFound,
            deleted ? "The version " + id + " was deleted." : "There is no version with the id '" + id + "'.",
            "Search for it with `modulelens search`, or name it as MODEL::MODULE@vN."};
}

std::int64_t internName(Connection& connection, const std::string& text, int use) {
    SQLite::Statement& row = connection.prepare(
        "INSERT INTO name (text, folded, sort, uses) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT (text) DO UPDATE SET uses = uses | excluded.uses RETURNING id");
    row.bind(1, text);
    row.bind(2, foldCase(text));
    row.bind(3, naturalSortKey(text));
    row.bind(4, use);
    row.executeStep();
    const std::int64_t id = row.getColumn(0).getInt64();
    row.tryReset();
    return id;
}

std::optional<std::int64_t> findName(Connection& connection, const std::string& text) {
    SQLite::Statement& row = connection.prepare("SELECT id FROM name WHERE text = ?1");
    row.bind(1, text);
    std::optional<std::int64_t> id;
    if (row.executeStep()) {
        id = row.getColumn(0).getInt64();
    }
    row.tryReset();
    return id;
}

void chooseLatest(Connection& connection, std::int64_t version) {
    SQLite::Statement& latest = connection.prepare(
        "UPDATE collection SET latest = (SELECT v.id FROM version AS v WHERE v.collection = collection.id AND v.deleted IS "
        "NULL "
        "ORDER BY v.number DESC LIMIT 1) WHERE id = (SELECT collection FROM version WHERE id = ?1)");
    latest.bind(1, version);
    latest.exec();
}

void insertTag(Connection& connection, std::int64_t version, const std::string& tag) {
    const std::int64_t name = internName(connection, tag, kTagName);
    SQLite::Statement& insert = connection.prepare("INSERT OR IGNORE INTO version_tag (name, version) VALUES (?1, ?2)");
    insert.bind(1, name);
    insert.bind(2, version);
    insert.exec();
}

void insertAttribute(Connection& connection, std::int64_t version, const std::string& key, const AttributeValue& value) {
    const std::int64_t name = internName(connection, key, kAttributeName);
    SQLite::Statement& insert = connection.prepare(
        "INSERT OR REPLACE INTO attribute (version, key, kind, text, folded, number) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
    insert.bind(1, version);
    insert.bind(2, name);
    if (const auto* text = std::get_if<std::string>(&value)) {
        insert.bind(3, "text");
        insert.bind(4, *text);
        insert.bind(5, foldCase(*text));
    } else if (const auto* number = std::get_if<double>(&value)) {
        insert.bind(3, "number");
        insert.bind(6, *number);
    } else {
        insert.bind(3, "boolean");
        insert.bind(6, std::get<bool>(value) ? 1.0 : 0.0);
    }
    insert.exec();
}

}  // namespace modulelens::registry
