// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Searching and resolving of SqliteRegistry.
#include "backend/registry/NameFolding.h"
#include "backend/registry/QuerySql.h"
#include "backend/registry/SearchCursor.h"
#include "backend/registry/SqliteRegistry.h"
#include "backend/registry/Summaries.h"
#include "backend/registry/VersionAddress.h"

#include <array>
#include <utility>

namespace modulelens::registry {

namespace {

constexpr int kMaxLimit = 1000;

void bindValues(SQLite::Statement& statement, const std::vector<SqlValue>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const int index = static_cast<int>(i) + 1;
        std::visit([&](const auto& value) { statement.bind(index, value); }, values[i]);
    }
}

std::string withClause(const SqlCondition& condition) {
    return condition.with.empty() ? std::string() : condition.with + " ";
}

/// How a sort orders versions, and which columns its cursor remembers.
struct SortPlan {
    std::string joins;
    std::string columns;   ///< Values that place a row, the rowid last.
    std::string order;
};

SortPlan sortPlanOf(SortKey key) {
    switch (key) {
        case SortKey::Name:
            return {" JOIN name AS model ON model.id = v.model JOIN name AS module ON module.id = v.module",
                    "model.sort, v.model, module.sort, v.module, v.number, v.id",
                    "model.sort, v.model, module.sort, v.module, v.number DESC"};
        case SortKey::Parameters:
            return {"", "v.parameter_bytes, v.id", "v.parameter_bytes DESC, v.id"};
        case SortKey::Latency:
            return {"", "v.latency_ns, v.id", "v.latency_ns DESC, v.id"};
        case SortKey::Newest:
            break;
    }
    return {"", "v.created, v.id", "v.created DESC, v.id"};
}

/// Adds the condition "after the cursor".
void requireAfter(SqlCondition& condition, SortKey key, const SearchCursor& cursor) {
    // A name, its module and its number place a row without the rowid.
    const std::size_t used = key == SortKey::Name ? cursor.values.size() - 1 : cursor.values.size();
    std::vector<std::string> at;
    at.reserve(used);
    for (std::size_t i = 0; i < used; ++i) {
        at.push_back(cursor.values[i] ? condition.bind(*cursor.values[i]) : "NULL");
    }
    if (key == SortKey::Name) {
        condition.require("(model.sort, v.model, module.sort, v.module, -v.number) > (" + at[0] + ", " + at[1] + ", " + at[2] +
                          ", " + at[3] + ", -" + at[4] + ")");
        return;
    }
    const char* column = key == SortKey::Parameters ? "v.parameter_bytes"
                         : key == SortKey::Latency  ? "v.latency_ns"
                                                    : "v.created";
    if (at[0] == "NULL") {
        condition.require(std::string(column) + " IS NULL AND v.id > " + at[1]);
        return;
    }
    const std::string after =
        std::string(column) + " <= " + at[0] + " AND (" + column + " < " + at[0] + " OR v.id > " + at[1] + ")";
    condition.require(key == SortKey::Latency ? "v.latency_ns IS NULL OR (" + after + ")" : after);
}

std::optional<SqlValue> valueOfColumn(const SQLite::Column& column) {
    if (column.isNull()) {
        return std::nullopt;
    }
    return column.isText() ? SqlValue(column.getString()) : SqlValue(column.getInt64());
}

std::int64_t countVersions(Connection& connection, const SqlCondition& condition) {
    SQLite::Statement& row =
        connection.prepare(withClause(condition) + "SELECT count(*) FROM version AS v WHERE " + condition.where);
    bindValues(row, condition.values);
    row.executeStep();
    const std::int64_t count = row.getColumn(0).getInt64();
    row.tryReset();
    return count;
}

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

base::Result<SearchPage> SqliteRegistry::search(const SearchRequest& request) {
    if (request.limit < 1 || request.limit > kMaxLimit) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "The limit of a search is 1 to 1000, not " + std::to_string(request.limit) + ".",
                           "Choose another limit and page with the cursor."};
    }
    const base::Result<Query> query = parseQuery(request.query);
    if (!query) {
        return query.error();
    }
    const SortPlan plan = sortPlanOf(request.sort);
    std::optional<SearchCursor> cursor;
    if (!request.cursor.empty()) {
        base::Result<SearchCursor> parsed = parseCursor(request.cursor, request.query, request.sort);
        if (!parsed) {
            return parsed.error();
        }
        cursor = std::move(*parsed);
    }
    return m_pool->read([&](Connection& connection) -> base::Result<SearchPage> {
        SqlCondition condition = sqlConditionOf(*query);
        SearchPage page;
        page.total = countVersions(connection, condition);
        if (cursor) {
            requireAfter(condition, request.sort, *cursor);
        }
        const std::string sql = withClause(condition) + "SELECT " + plan.columns + " FROM version AS v" + plan.joins +
                                " WHERE " + condition.where + " ORDER BY " + plan.order + " LIMIT " +
                                std::to_string(request.limit + 1);
        SQLite::Statement& row = connection.prepare(sql);
        bindValues(row, condition.values);
        const int last = row.getColumnCount() - 1;
        std::vector<std::int64_t> rowids;
        SearchCursor next;
        bool more = false;
        while (row.executeStep()) {
            if (rowids.size() == static_cast<std::size_t>(request.limit)) {
                more = true;
                break;
            }
            rowids.push_back(row.getColumn(last).getInt64());
            next.values.clear();
            for (int i = 0; i <= last; ++i) {
                next.values.push_back(valueOfColumn(row.getColumn(i)));
            }
        }
        row.tryReset();
        if (more) {
            page.nextCursor = formatCursor(next, request.query, request.sort);
        }
        for (const std::int64_t rowid : rowids) {
            page.versions.push_back(readVersion(connection, rowid));
        }
        return page;
    });
}

base::Result<std::vector<GroupSummary>> SqliteRegistry::models(const std::string& queryText) {
    const base::Result<Query> query = parseQuery(queryText);
    if (!query) {
        return query.error();
    }
    return m_pool->read([&](Connection& connection) -> base::Result<std::vector<GroupSummary>> {
        const SqlCondition condition = sqlConditionOf(*query);
        SQLite::Statement& row = connection.prepare(
            withClause(condition) +
            "SELECT name.text, g.modules, g.versions FROM (SELECT v.model AS model, count(DISTINCT v.module) AS modules, "
            "count(*) AS versions "
            "FROM version AS v WHERE " +
            condition.where + " GROUP BY v.model) AS g JOIN name ON name.id = g.model ORDER BY name.sort, name.text");
        bindValues(row, condition.values);
        std::vector<GroupSummary> groups;
        while (row.executeStep()) {
            groups.push_back({row.getColumn(0).getString(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64(), {}});
        }
        return groups;
    });
}

base::Result<std::vector<GroupSummary>> SqliteRegistry::modules(const std::string& model, const std::string& queryText) {
    const base::Result<Query> query = parseQuery(queryText);
    if (!query) {
        return query.error();
    }
    return m_pool->read([&](Connection& connection) -> base::Result<std::vector<GroupSummary>> {
        SqlCondition condition = sqlConditionOf(*query);
        condition.require("v.model = (SELECT id FROM name WHERE text = " + condition.bind(model) + ")");
        SQLite::Statement& row = connection.prepare(
            withClause(condition) +
            "SELECT module.text, g.versions, class.text FROM (SELECT v.collection AS collection, count(*) AS versions "
            "FROM version AS v WHERE " +
            condition.where +
            " GROUP BY v.collection) AS g JOIN collection AS c ON c.id = g.collection "
            "JOIN name AS module ON module.id = c.module JOIN version AS latest ON latest.id = c.latest "
            "JOIN name AS class ON class.id = latest.class ORDER BY c.id");
        bindValues(row, condition.values);
        std::vector<GroupSummary> groups;
        while (row.executeStep()) {
            groups.push_back({row.getColumn(0).getString(), 1, row.getColumn(1).getInt64(), row.getColumn(2).getString()});
        }
        return groups;
    });
}

base::Result<std::vector<FacetValue>> SqliteRegistry::facet(const std::string& field, const std::string& queryText) {
    constexpr std::array<std::pair<std::string_view, std::pair<std::string_view, std::string_view>>, 5> kFacets{{
        {"model", {"v.model", ""}},
        {"class", {"v.class", ""}},
        {"device", {"v.device", ""}},
        {"tag", {"t.name", " JOIN version_tag AS t ON t.version = v.id"}},
        {"dtype", {"t.name", " JOIN version_dtype AS t ON t.version = v.id"}},
    }};
    const auto known = std::find_if(kFacets.begin(), kFacets.end(), [&](const auto& entry) { return entry.first == field; });
    if (known == kFacets.end()) {
        return base::Error{base::ErrorCode::InvalidArgument, "There is no facet '" + field + "'.",
                           "Facets are model, class, device, tag and dtype."};
    }
    const base::Result<Query> query = parseQuery(queryText);
    if (!query) {
        return query.error();
    }
    const auto& [column, join] = known->second;
    return m_pool->read([&](Connection& connection) -> base::Result<std::vector<FacetValue>> {
        const SqlCondition condition = sqlConditionOf(*query);
        SQLite::Statement& row =
            connection.prepare(withClause(condition) + "SELECT name.text, g.versions FROM (SELECT " + std::string(column) +
                               " AS value, count(*) AS versions "
                               "FROM version AS v" +
                               std::string(join) + " WHERE " + condition.where +
                               " GROUP BY 1) AS g JOIN name ON name.id = g.value WHERE name.text <> '' ORDER BY g.versions "
                               "DESC, name.sort, name.text");
        bindValues(row, condition.values);
        std::vector<FacetValue> values;
        while (row.executeStep()) {
            values.push_back({row.getColumn(0).getString(), row.getColumn(1).getInt64()});
        }
        return values;
    });
}

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
