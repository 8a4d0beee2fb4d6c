// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Searching of SqliteRegistry: pages, groups, facets, completion.
#include "backend/registry/NameFolding.h"
#include "backend/registry/Names.h"
#include "backend/registry/PageSelection.h"
#include "backend/registry/QueryEvaluation.h"
#include "backend/registry/SearchIndex.h"
#include "backend/registry/SqliteRegistry.h"
#include "backend/registry/Summaries.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace modulelens::registry {

namespace {

constexpr int kMaxLimit = 1000;

struct FacetSource {
    std::string_view field;
    std::optional<VersionColumn> column;   ///< Else a kind of posting.
    PostingKind posting = PostingKind::Tag;
};

constexpr std::array<FacetSource, 6> kFacets{{
    {"model", VersionColumn::Model},
    {"class", VersionColumn::Class},
    {"device", VersionColumn::Device},
    {"tag", std::nullopt, PostingKind::Tag},
    {"dtype", std::nullopt, PostingKind::Dtype},
    {"alias", std::nullopt, PostingKind::Alias},
}};

constexpr std::array<std::pair<std::string_view, NameUse>, 8> kNameFields{{
    {"model", kModelName},
    {"module", kModuleName},
    {"class", kClassName},
    {"tag", kTagName},
    {"alias", kAliasName},
    {"device", kDeviceName},
    {"dtype", kDtypeName},
    {"attr", kAttributeName},
}};

base::Result<FacetSource> facetSource(const std::string& field) {
    const auto known = std::find_if(kFacets.begin(), kFacets.end(), [&](const auto& facet) { return facet.field == field; });
    if (known == kFacets.end()) {
        return base::Error{base::ErrorCode::InvalidArgument, "There is no facet '" + field + "'.",
                           "Facets are model, class, device, tag, dtype and alias."};
    }
    return *known;
}

struct CountedName {
    std::string text;
    std::string sort;
    std::int64_t id = 0;
    std::int64_t count = 0;
};

/// The names of ids with a count, in the order of names.
std::vector<CountedName> namesOf(Connection& connection, const std::vector<std::pair<std::int64_t, std::int64_t>>& counts) {
    SQLite::Statement& row = connection.prepare("SELECT text, sort FROM name WHERE id = ?1");
    std::vector<CountedName> names;
    names.reserve(counts.size());
    for (const auto& [id, count] : counts) {
        row.bind(1, id);
        if (row.executeStep()) {
            names.push_back({row.getColumn(0).getString(), row.getColumn(1).getString(), id, count});
        }
        row.tryReset();
    }
    std::sort(names.begin(), names.end(),
              [](const CountedName& a, const CountedName& b) { return std::tie(a.sort, a.text) < std::tie(b.sort, b.text); });
    return names;
}

std::vector<std::pair<std::int64_t, std::int64_t>> countedIds(const std::vector<std::int64_t>& counts) {
    std::vector<std::pair<std::int64_t, std::int64_t>> counted;
    for (std::size_t id = 0; id < counts.size(); ++id) {
        if (counts[id] > 0) {
            counted.emplace_back(static_cast<std::int64_t>(id), counts[id]);
        }
    }
    return counted;
}

std::vector<FacetValue> facetValues(Connection& connection, QueryEvaluation& evaluation, const FacetSource& source,
                                    const IdSet& found) {
    std::vector<std::pair<std::int64_t, std::int64_t>> counts;
    if (source.column) {
        counts = countedIds(evaluation.countsOf(*source.column, found));
    } else {
        for (const std::int64_t value : postingValues(connection, source.posting)) {
            if (const std::int64_t count = countPosting(connection, source.posting, value, found); count > 0) {
                counts.emplace_back(value, count);
            }
        }
    }
    std::vector<CountedName> names = namesOf(connection, counts);
    std::sort(names.begin(), names.end(), [](const CountedName& a, const CountedName& b) {
        return std::tie(b.count, a.sort, a.text) < std::tie(a.count, b.sort, b.text);
    });
    std::vector<FacetValue> values;
    values.reserve(names.size());
    for (CountedName& name : names) {
        if (!name.text.empty()) {
            values.push_back({std::move(name.text), name.count});
        }
    }
    return values;
}

}  // namespace

template <class Body>
auto SqliteRegistry::readIndexed(Body&& body) -> decltype(body(std::declval<Connection&>())) {
    // Whoever writes rows by hand leaves the index behind; the next search brings it up to date.
    bool isBehind = false;
    auto result = m_pool->read([&](Connection& connection) {
        isBehind = m_mode == Mode::ReadWrite && hasPending(connection);
        return body(connection);
    });
    if (!isBehind) {
        return result;
    }
    if (base::Result<void> folded = m_pool->write([](Connection&) { return base::Result<void>(); }); !folded) {
        return folded.error();
    }
    return m_pool->read(std::forward<Body>(body));
}

base::Result<SearchPage> SqliteRegistry::search(const SearchRequest& request) {
    if (request.limit < 1 || request.limit > kMaxLimit) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "A page of " + std::to_string(request.limit) + " versions is not possible.",
                           "Ask for 1 to " + std::to_string(kMaxLimit) + "."};
    }
    const base::Result<Query> query = parseQuery(request.query);
    if (!query) {
        return query.error();
    }
    std::optional<SearchCursor> cursor;
    if (!request.cursor.empty()) {
        base::Result<SearchCursor> parsed = parseCursor(request.cursor, request.query, request.sort);
        if (!parsed) {
            return parsed.error();
        }
        cursor = std::move(*parsed);
    }
    return readIndexed([&](Connection& connection) -> base::Result<SearchPage> {
        const IdSet found = QueryEvaluation(connection, m_columns).versionsOf(*query);
        SearchPage page;
        page.total = found.count();
        const PageOfIds selected = selectPage(connection, m_columns, found, request.sort, cursor, request.limit);
        if (selected.next) {
            page.nextCursor = formatCursor(*selected.next, request.query, request.sort);
        }
        page.versions.reserve(selected.ids.size());
        for (const std::int64_t id : selected.ids) {
            page.versions.push_back(readVersion(connection, id));
        }
        return page;
    });
}

base::Result<std::vector<GroupSummary>> SqliteRegistry::models(const std::string& queryText) {
    const base::Result<Query> query = parseQuery(queryText);
    if (!query) {
        return query.error();
    }
    return readIndexed([&](Connection& connection) -> base::Result<std::vector<GroupSummary>> {
        QueryEvaluation evaluation(connection, m_columns);
        const IdSet found = evaluation.versionsOf(*query);
        const auto models = m_columns.ids(connection, VersionColumn::Model);
        const auto collections = m_columns.ids(connection, VersionColumn::Collection);
        std::vector<bool> isSeen;
        std::map<std::int32_t, std::int64_t> modules;
        found.forEach([&](std::size_t id) {
            if (id >= models->size() || id >= collections->size()) {
                return;
            }
            const auto collection = static_cast<std::size_t>(std::max((*collections)[id], 0));
            if (collection >= isSeen.size()) {
                isSeen.resize(2 * collection + 1);
            }
            if (!isSeen[collection]) {
                isSeen[collection] = true;
                ++modules[(*models)[id]];
            }
        });
        std::vector<GroupSummary> groups;
        for (const CountedName& name : namesOf(connection, countedIds(evaluation.countsOf(VersionColumn::Model, found)))) {
            groups.push_back({name.text, modules[static_cast<std::int32_t>(name.id)], name.count, {}});
        }
        return groups;
    });
}

base::Result<std::vector<GroupSummary>> SqliteRegistry::modules(const std::string& model, const std::string& queryText) {
    base::Result<Query> query = parseQuery(queryText);
    if (!query) {
        return query.error();
    }
    QueryTerm ofModel;
    ofModel.field = QueryField::Model;
    ofModel.comparison = QueryComparison::Equal;
    ofModel.text = model;
    query->terms.push_back(std::move(ofModel));
    return readIndexed([&](Connection& connection) -> base::Result<std::vector<GroupSummary>> {
        QueryEvaluation evaluation(connection, m_columns);
        const IdSet found = evaluation.versionsOf(*query);
        SQLite::Statement& row = connection.prepare(
            "SELECT module.text, class.text FROM collection AS c JOIN name AS module ON module.id = c.module "
            "JOIN version AS latest ON latest.id = c.latest JOIN name AS class ON class.id = latest.class WHERE c.id = ?1");
        std::vector<GroupSummary> groups;
        for (const auto& [collection, count] : countedIds(evaluation.countsOf(VersionColumn::Collection, found))) {
            row.bind(1, collection);
            if (row.executeStep()) {
                groups.push_back({row.getColumn(0).getString(), 1, count, row.getColumn(1).getString()});
            }
            row.tryReset();
        }
        return groups;
    });
}

base::Result<std::vector<FacetValue>> SqliteRegistry::facet(const std::string& field, const std::string& query) {
    base::Result<std::vector<Facet>> all = facets({field}, query);
    if (!all) {
        return all.error();
    }
    return std::move(all->front().values);
}

base::Result<std::vector<Facet>> SqliteRegistry::facets(const std::vector<std::string>& fields, const std::string& queryText) {
    std::vector<FacetSource> sources;
    sources.reserve(fields.size());
    for (const std::string& field : fields) {
        const base::Result<FacetSource> source = facetSource(field);
        if (!source) {
            return source.error();
        }
        sources.push_back(*source);
    }
    const base::Result<Query> query = parseQuery(queryText);
    if (!query) {
        return query.error();
    }
    return readIndexed([&](Connection& connection) -> base::Result<std::vector<Facet>> {
        QueryEvaluation evaluation(connection, m_columns);
        const IdSet found = evaluation.versionsOf(*query);
        std::vector<Facet> all;
        all.reserve(sources.size());
        for (const FacetSource& source : sources) {
            all.push_back({std::string(source.field), facetValues(connection, evaluation, source, found)});
        }
        return all;
    });
}

base::Result<std::vector<std::string>> SqliteRegistry::namesLike(const std::string& field, const std::string& text, int limit) {
    const auto known =
        std::find_if(kNameFields.begin(), kNameFields.end(), [&](const auto& entry) { return entry.first == field; });
    if (known == kNameFields.end()) {
        return base::Error{base::ErrorCode::InvalidArgument, "There are no names for '" + field + "'.",
                           "Names are of model, module, class, tag, alias, device, dtype and attr."};
    }
    return readIndexed([&](Connection& connection) -> base::Result<std::vector<std::string>> {
        std::vector<std::string> names;
        SQLite::Statement& all =
            connection.prepare("SELECT text FROM name WHERE uses & ?1 AND text <> '' ORDER BY sort LIMIT ?2");
        if (text.empty()) {
            all.bind(1, known->second);
            all.bind(2, limit);
            while (all.executeStep()) {
                names.push_back(all.getColumn(0).getString());
            }
            return names;
        }
        const std::string folded = foldCase(text);
        // Beginning with the text first, then in the order of names.
        std::vector<std::tuple<bool, std::string, std::string>> places;
        SQLite::Statement& row = connection.prepare("SELECT text, sort, folded FROM name WHERE id = ?1 AND uses & ?2");
        for (const std::int64_t id : namesWith(connection, m_columns, text)) {
            row.bind(1, id);
            row.bind(2, known->second);
            if (row.executeStep()) {
                places.emplace_back(!row.getColumn(2).getString().starts_with(folded), row.getColumn(1).getString(),
                                    row.getColumn(0).getString());
            }
            row.tryReset();
        }
        std::sort(places.begin(), places.end());
        for (std::size_t i = 0; i < std::min(places.size(), static_cast<std::size_t>(std::max(limit, 0))); ++i) {
            names.push_back(std::get<2>(places[i]));
        }
        return names;
    });
}

}  // namespace modulelens::registry
