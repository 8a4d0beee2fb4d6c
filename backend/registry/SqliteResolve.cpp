// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Resolving of SqliteRegistry: addresses and ids, and what is nearest to a wrong one.
#include "backend/registry/NameFolding.h"
#include "backend/registry/SqliteRegistry.h"
#include "backend/registry/Summaries.h"
#include "backend/registry/VersionAddress.h"

#include <algorithm>
#include <utility>

namespace modulelens::registry {

namespace {

base::Error noSuchAddress(const std::string& what, const std::optional<std::string>& nearest, const std::string& otherwise) {
    return {base::ErrorCode::NotFound, what + ".", nearest ? "Did you mean '" + *nearest + "'?" : otherwise};
}

std::vector<std::string> textColumn(SQLite::Statement& row) {
    std::vector<std::string> texts;
    while (row.executeStep()) {
        texts.push_back(row.getColumn(0).getString());
    }
    return texts;
}

/// NotFound for an address whose collection is absent, with the nearest name that exists.
base::Error noSuchCollection(Connection& connection, const VersionAddress& address) {
    SQLite::Statement& models = connection.prepare(
        "SELECT DISTINCT name.text FROM collection AS c JOIN name ON name.id = c.model WHERE c.latest IS NOT NULL ORDER BY 1");
    const std::vector<std::string> modelNames = textColumn(models);
    if (std::find(modelNames.begin(), modelNames.end(), address.model) == modelNames.end()) {
        return noSuchAddress(
            "There is no model '" + address.model + "'", nearestName(address.model, modelNames),
            modelNames.empty() ? "The registry is empty: import a bundle first." : "List the models with `modelulens search`.");
    }
    SQLite::Statement& modules = connection.prepare(
        "SELECT module.text FROM collection AS c JOIN name AS model ON model.id = c.model JOIN name AS module ON module.id = "
        "c.module "
        "WHERE model.text = ?1 AND c.latest IS NOT NULL ORDER BY c.id");
    modules.bind(1, address.model);
    return noSuchAddress("The model '" + address.model + "' has no module '" + address.module + "'",
                         nearestName(address.module, textColumn(modules)),
                         "List its modules with a search for model=" + address.model + ".");
}

/// NotFound for a number or alias that the collection does not have.
base::Error noSuchSelector(Connection& connection, const VersionAddress& address, std::int64_t collection) {
    const std::string place = formatVersionAddress(address.model, address.module, 0);
    const std::string name = '\'' + place.substr(0, place.size() - 3) + '\'';
    SQLite::Statement& numbers =
        connection.prepare("SELECT 'v' || number FROM version WHERE collection = ?1 AND deleted IS NULL ORDER BY number DESC");
    numbers.bind(1, collection);
    const std::vector<std::string> versions = textColumn(numbers);
    std::string existing;
    for (std::size_t i = 0; i < std::min<std::size_t>(versions.size(), 5); ++i) {
        existing += (i == 0 ? "" : ", ") + versions[i];
    }
    const std::string fix = "It has " + existing + (versions.size() > 5 ? " and older ones." : ".");
    if (address.number) {
        return noSuchAddress(name + " has no version v" + std::to_string(*address.number), std::nullopt, fix);
    }
    SQLite::Statement& aliases =
        connection.prepare("SELECT name.text FROM alias AS a JOIN name ON name.id = a.name WHERE a.collection = ?1");
    aliases.bind(1, collection);
    return noSuchAddress(name + " has no alias '" + address.alias + "'", nearestName(address.alias, textColumn(aliases)), fix);
}

std::optional<std::int64_t> firstColumn(SQLite::Statement& row) {
    std::optional<std::int64_t> value;
    if (row.executeStep() && !row.getColumn(0).isNull()) {
        value = row.getColumn(0).getInt64();
    }
    row.tryReset();
    return value;
}

base::Result<std::int64_t> findByAddress(Connection& connection, const VersionAddress& address) {
    SQLite::Statement& found = connection.prepare("SELECT id FROM collection WHERE md5 = ?1 AND latest IS NOT NULL");
    found.bind(1, capture::collectionId(address.model, address.module));
    const std::optional<std::int64_t> collection = firstColumn(found);
    if (!collection) {
        return noSuchCollection(connection, address);
    }
    const char* sql = "SELECT latest FROM collection WHERE id = ?1 AND ?2 IS NOT NULL";
    if (address.number) {
        sql = "SELECT id FROM version WHERE collection = ?1 AND number = ?2 AND deleted IS NULL";
    } else if (address.alias != "latest") {
        sql = "SELECT a.version FROM alias AS a JOIN name ON name.id = a.name WHERE a.collection = ?1 AND name.text = ?2";
    }
    SQLite::Statement& row = connection.prepare(sql);
    row.bind(1, *collection);
    if (address.number) {
        row.bind(2, *address.number);
    } else {
        row.bind(2, address.alias);
    }
    const std::optional<std::int64_t> version = firstColumn(row);
    return version ? base::Result<std::int64_t>(*version) : noSuchSelector(connection, address, *collection);
}

}  // namespace

base::Result<VersionSummary> SqliteRegistry::resolve(const std::string& addressOrId) {
    if (addressOrId.find("::") == std::string::npos && isVersionId(addressOrId)) {
        return m_pool->read([&](Connection& connection) -> base::Result<VersionSummary> {
            const std::optional<std::int64_t> rowid = findVersion(connection, addressOrId);
            return rowid ? base::Result<VersionSummary>(readVersion(connection, *rowid))
                         : noSuchVersion(connection, addressOrId);
        });
    }
    const base::Result<VersionAddress> address = parseVersionAddress(addressOrId);
    if (!address) {
        return address.error();
    }
    return m_pool->read([&](Connection& connection) -> base::Result<VersionSummary> {
        const base::Result<std::int64_t> rowid = findByAddress(connection, *address);
        return rowid ? base::Result<VersionSummary>(readVersion(connection, *rowid)) : rowid.error();
    });
}

}  // namespace modulelens::registry
