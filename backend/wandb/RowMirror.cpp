// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/RowMirror.h"

#include "backend/capture/JsonView.h"

#include <algorithm>

namespace modulelens::wandb {

namespace {

using capture::JsonView;
using nlohmann::json;

constexpr const char* kSchema = "modulelens.wandb_rows";
constexpr const char* kDocument = "rows seen at W&B";

json placeJson(const CollectionPlace& place) {
    return {{"entity", place.entity}, {"project", place.project}, {"collection", place.collection}};
}

CollectionPlace readPlace(const JsonView& view) {
    return {view.at("entity").string(), view.at("project").string(), view.at("collection").string()};
}

json rowJson(const SeenRow& seen) {
    const VersionRow& row = seen.row;
    return {
        {"place", placeJson(row.place)},
        {"number", row.number},
        {"aliases", row.aliases},
        {"linked", row.linked},
        {"available", row.isAvailable},
        {"artifact", row.artifact},
        {"digest", row.digest},
        {"algorithm", !row.digestAlgorithm ? json() : json(*row.digestAlgorithm == DigestAlgorithm::Md5 ? "md5" : "xxh128")},
        {"size", row.sizeBytes},
        {"created", row.created},
        {"metadata", row.metadata},
        {"tags", row.tags},
        {"source", placeJson(row.source)},
        {"created_by", row.createdBy},
        {"seen", seen.seen}};
}

SeenRow readRow(const JsonView& view) {
    SeenRow seen;
    VersionRow& row = seen.row;
    row.place = readPlace(view.at("place"));
    row.number = static_cast<int>(std::min<std::int64_t>(view.at("number").nonNegative(), 1'000'000'000));
    row.aliases = view.at("aliases").strings();
    row.linked = view.at("linked").string();
    row.isAvailable = view.at("available").boolean();
    row.artifact = view.at("artifact").string();
    row.digest = view.at("digest").string();
    if (const std::string algorithm = view.stringOr("algorithm", ""); !algorithm.empty()) {
        row.digestAlgorithm = algorithm == "md5" ? DigestAlgorithm::Md5 : DigestAlgorithm::Xxh128;
    }
    row.sizeBytes = static_cast<std::uint64_t>(view.at("size").nonNegative());
    row.created = view.at("created").string();
    row.metadata = view.at("metadata").string();
    row.tags = view.at("tags").strings();
    row.source = readPlace(view.at("source"));
    row.createdBy = view.at("created_by").string();
    seen.seen = view.at("seen").nonNegative();
    return seen;
}

}  // namespace

RowMirror::RowMirror(Cache& cache, std::string name) : m_cache(cache), m_name(std::move(name)) {
    load();
}

void RowMirror::load() {
    const auto text = m_cache.document(m_name);
    if (!text) {
        return;
    }
    std::map<Key, SeenRow> rows;
    std::optional<Organization> organization;
    const auto read = capture::readDocument(kDocument, [&] {
        const json document = capture::parseJson(*text, kDocument);
        const JsonView view(document, kDocument);
        capture::checkSchema(view, kSchema, 1);
        if (const auto of = view.find("organization")) {
            organization = Organization{of->at("name").string(), of->at("entity").string()};
        }
        const JsonView list = view.at("rows");
        for (std::size_t i = 0; i < list.size(); ++i) {
            SeenRow seen = readRow(list.element(i));
            Key key{seen.row.place.collection, seen.row.number};
            rows.insert_or_assign(std::move(key), std::move(seen));
        }
        return true;
    });
    if (!read) {
        return;
    }
    const base::MutexLock lock(m_mutex);
    m_rows = std::move(rows);
    m_organization = std::move(organization);
}

std::vector<SeenRow> RowMirror::rows() const {
    const base::MutexLock lock(m_mutex);
    std::vector<SeenRow> rows;
    rows.reserve(m_rows.size());
    for (const auto& [key, seen] : m_rows) {
        rows.push_back(seen);
    }
    return rows;
}

std::optional<SeenRow> RowMirror::find(const std::string& collection, int number) const {
    const base::MutexLock lock(m_mutex);
    const auto found = m_rows.find({collection, number});
    return found == m_rows.end() ? std::nullopt : std::optional(found->second);
}

std::optional<SeenRow> RowMirror::findAlias(const std::string& collection, const std::string& alias) const {
    const base::MutexLock lock(m_mutex);
    for (auto at = m_rows.lower_bound({collection, 0}); at != m_rows.end() && at->first.first == collection; ++at) {
        const std::vector<std::string>& aliases = at->second.row.aliases;
        if (std::find(aliases.begin(), aliases.end(), alias) != aliases.end()) {
            return at->second;
        }
    }
    return std::nullopt;
}

void RowMirror::take(const std::vector<VersionRow>& rows, bool isAll, std::int64_t now) {
    const base::MutexLock lock(m_mutex);
    if (isAll) {
        m_rows.clear();
    }
    for (const VersionRow& row : rows) {
        // An alias is at one version of a collection.
        for (auto at = m_rows.lower_bound({row.place.collection, 0});
             !row.aliases.empty() && at != m_rows.end() && at->first.first == row.place.collection; ++at) {
            std::erase_if(at->second.row.aliases, [&](const std::string& alias) {
                return std::find(row.aliases.begin(), row.aliases.end(), alias) != row.aliases.end();
            });
        }
        m_rows.insert_or_assign({row.place.collection, row.number}, SeenRow{row, now});
    }
    keepLocked();
}

void RowMirror::forget(const std::string& collection, int number) {
    const base::MutexLock lock(m_mutex);
    m_rows.erase({collection, number});
    keepLocked();
}

std::optional<Organization> RowMirror::organization() const {
    const base::MutexLock lock(m_mutex);
    return m_organization;
}

void RowMirror::setOrganization(const Organization& organization) {
    const base::MutexLock lock(m_mutex);
    m_organization = organization;
}

void RowMirror::keepLocked() {
    json rows = json::array();
    for (const auto& [key, seen] : m_rows) {
        rows.push_back(rowJson(seen));
    }
    json document = {{"schema", kSchema}, {"schema_version", 1}, {"rows", std::move(rows)}};
    if (m_organization) {
        document["organization"] = {{"name", m_organization->name}, {"entity", m_organization->entity}};
    }
    // What cannot be kept is asked for again.
    (void)m_cache.keepDocument(m_name, document.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace modulelens::wandb
