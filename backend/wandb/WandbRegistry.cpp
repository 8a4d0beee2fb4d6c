// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/WandbRegistry.h"

#include "backend/base/Guarded.h"
#include "backend/registry/NameFolding.h"
#include "backend/registry/VersionAddress.h"
#include "backend/wandb/RegistryData.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace modulelens::wandb {

using registry::FacetValue;
using registry::GroupSummary;
using registry::VersionSummary;

namespace {

bool isBefore(registry::SortKey key, const VersionSummary& a, const VersionSummary& b) {
    const auto byName = [](const VersionSummary& version) {
        return std::tuple(registry::naturalSortKey(version.model), registry::naturalSortKey(version.module), version.number);
    };
    switch (key) {
        case registry::SortKey::Newest:
            return std::tie(b.created, a.id) < std::tie(a.created, b.id);
        case registry::SortKey::Parameters:
            return std::tie(b.parameterBytes, a.id) < std::tie(a.parameterBytes, b.id);
        default:
            // Of what this registry knows nothing, such as latency, the order is by name.
            return byName(a) < byName(b);
    }
}

std::vector<std::string> facetValues(const std::string& field, const ListedVersion& version) {
    if (field == "model") {
        return {version.summary.model};
    }
    if (field == "class") {
        return {version.summary.className};
    }
    if (field == "device") {
        return {version.summary.device};
    }
    if (field == "tag") {
        return version.summary.tags;
    }
    return field == "dtype" ? version.dtypes : std::vector<std::string>{};
}

}  // namespace

WandbRegistry::WandbRegistry(std::unique_ptr<Data> data) : m_data(std::move(data)) {}
WandbRegistry::~WandbRegistry() = default;

base::Result<std::unique_ptr<WandbRegistry>> WandbRegistry::open(base::FileSystem& files, const RegistryAddress& address,
                                                                 OpenOptions options) {
    return base::guarded("opening " + address.text(), [&]() -> base::Result<std::unique_ptr<WandbRegistry>> {
        if (options.cacheFolder.empty()) {
            options.cacheFolder = defaultCacheFolder();
        }
        if (options.cacheFolder.empty()) {
            return base::Error{base::ErrorCode::InvalidArgument,
                               "There is no folder for what is downloaded, since HOME is not set.", "Set MODULELENS_CACHE."};
        }
        return std::unique_ptr<WandbRegistry>(new WandbRegistry(std::make_unique<Data>(files, address, std::move(options))));
    });
}

std::string WandbRegistry::displayName() const {
    return m_data->address.text();
}

std::string WandbRegistry::seenAt() const {
    const base::MutexLock lock(m_data->mutex);
    return m_data->seenAt;
}

Cache& WandbRegistry::cache() {
    return m_data->cache;
}

Service& WandbRegistry::service() {
    return m_data->service;
}

const RegistryAddress& WandbRegistry::address() const {
    return m_data->address;
}

base::Result<PublishTarget> WandbRegistry::publishTarget() {
    const auto organization = m_data->organization();
    if (!organization) {
        return organization.error();
    }
    std::string team = m_data->address.entity;
    if (team == organization->entity) {
        // An organisation has no projects of its own: the key's default team makes the artifacts.
        const auto viewer = m_data->service.viewer(m_data->options.stop);
        if (!viewer) {
            return viewer.error();
        }
        team = viewer->entity;
        const auto ofTeam = m_data->service.organizationOf(team, m_data->options.stop);
        if (!ofTeam || ofTeam->entity != organization->entity || team == viewer->userName) {
            return base::Error{base::ErrorCode::InvalidArgument,
                               "The key's default entity '" + team + "' is no team of the organisation '" + organization->name +
                                   "', so that it cannot publish there.",
                               "Name a team: wandb:TEAM/" + m_data->address.registry + "."};
        }
    }
    return PublishTarget{team, m_data->options.signIn.project, *organization, registryProject(m_data->address.registry)};
}

base::Result<registry::SearchPage> WandbRegistry::search(const registry::SearchRequest& request) {
    return base::guarded("searching", [&]() -> base::Result<registry::SearchPage> {
        auto found = m_data->find(request.query);
        if (!found) {
            return found.error();
        }
        std::vector<VersionSummary> versions;
        versions.reserve(found->size());
        for (ListedVersion& version : *found) {
            versions.push_back(std::move(version.summary));
        }
        std::sort(versions.begin(), versions.end(),
                  [&](const VersionSummary& a, const VersionSummary& b) { return isBefore(request.sort, a, b); });
        auto begin = versions.begin();
        if (!request.cursor.empty()) {
            begin = std::find_if(versions.begin(), versions.end(),
                                 [&](const VersionSummary& version) { return version.id == request.cursor; });
            if (begin == versions.end()) {
                return base::Error{base::ErrorCode::InvalidArgument, "The cursor is of another search, or its version is gone.",
                                   "Search again from the first page."};
            }
            ++begin;
        }
        registry::SearchPage page;
        page.total = static_cast<std::int64_t>(versions.size());
        const auto count = std::min<std::ptrdiff_t>(std::clamp(request.limit, 1, 1000), versions.end() - begin);
        page.versions.assign(std::make_move_iterator(begin), std::make_move_iterator(begin + count));
        if (begin + count != versions.end()) {
            page.nextCursor = page.versions.back().id;
        }
        return page;
    });
}

base::Result<std::vector<GroupSummary>> WandbRegistry::models(const std::string& query) {
    return base::guarded("listing models", [&]() -> base::Result<std::vector<GroupSummary>> {
        const auto found = m_data->find(query);
        if (!found) {
            return found.error();
        }
        std::map<std::string, std::pair<std::set<std::string>, std::int64_t>> groups;
        for (const ListedVersion& version : *found) {
            auto& group = groups[version.summary.model];
            group.first.insert(version.summary.module);
            ++group.second;
        }
        std::vector<GroupSummary> models;
        models.reserve(groups.size());
        for (const auto& [name, group] : groups) {
            models.push_back({name, static_cast<std::int64_t>(group.first.size()), group.second, ""});
        }
        return models;
    });
}

base::Result<std::vector<GroupSummary>> WandbRegistry::modules(const std::string& model, const std::string& query) {
    return base::guarded("listing modules", [&]() -> base::Result<std::vector<GroupSummary>> {
        const auto found = m_data->find(query);
        if (!found) {
            return found.error();
        }
        struct Module {
            GroupSummary group;
            int newest = -1;
        };
        std::map<std::string, Module> modules;
        for (const ListedVersion& version : *found) {
            if (version.summary.model != model) {
                continue;
            }
            Module& module = modules[version.summary.module];
            module.group.name = version.summary.module;
            ++module.group.versionCount;
            if (version.summary.number > module.newest) {
                module.newest = version.summary.number;
                module.group.className = version.summary.className;
            }
        }
        std::vector<GroupSummary> groups;
        groups.reserve(modules.size());
        for (auto& [name, module] : modules) {
            groups.push_back(std::move(module.group));
        }
        // The order in the model is not known here: by name, numbers as numbers.
        std::sort(groups.begin(), groups.end(), [](const GroupSummary& a, const GroupSummary& b) {
            return registry::naturalSortKey(a.name) < registry::naturalSortKey(b.name);
        });
        return groups;
    });
}

base::Result<std::vector<FacetValue>> WandbRegistry::facet(const std::string& field, const std::string& query) {
    return base::guarded("counting", [&]() -> base::Result<std::vector<FacetValue>> {
        const auto found = m_data->find(query);
        if (!found) {
            return found.error();
        }
        std::map<std::string, std::int64_t> counts;
        for (const ListedVersion& version : *found) {
            for (const std::string& value : facetValues(field, version)) {
                ++counts[value];
            }
        }
        std::vector<FacetValue> values;
        values.reserve(counts.size());
        for (const auto& [value, count] : counts) {
            values.push_back({value, count});
        }
        std::stable_sort(values.begin(), values.end(),
                         [](const FacetValue& a, const FacetValue& b) { return a.count > b.count; });
        return values;
    });
}

base::Result<VersionSummary> WandbRegistry::resolve(const std::string& addressOrId) {
    return base::guarded("resolving", [&]() -> base::Result<VersionSummary> {
        base::Result<VersionRow> row = base::Error{};
        if (versionPlace(addressOrId)) {
            row = m_data->freshRow(addressOrId);
        } else {
            const auto address = registry::parseVersionAddress(addressOrId);
            if (!address) {
                return address.error();
            }
            const std::string alias = address->number ? "v" + std::to_string(*address->number) : address->alias;
            row = m_data->rowAt(capture::collectionId(address->model, address->module), alias);
            if (!row && row.error().code == base::ErrorCode::NotFound) {
                return base::Error{
                    base::ErrorCode::NotFound,
                    "There is no version '" + addressOrId.substr(0, 300) + "' in " + m_data->address.text() + ".",
                    row.error().fix};
            }
        }
        if (!row) {
            return row.error();
        }
        auto listed = listedVersion(*row);
        if (!listed) {
            return base::Error{base::ErrorCode::Unsupported,
                               "'" + addressOrId.substr(0, 300) + "' of " + m_data->address.text() +
                                   " was not published by ModuleLens, or by a newer one.",
                               ""};
        }
        return std::move(listed->summary);
    });
}

base::Result<void> WandbRegistry::addTag(const std::string& id, const std::string& tag) {
    const auto row = m_data->freshRow(id);
    if (!row) {
        return row.error();
    }
    auto done = m_data->service.changeTags(row->artifact, {tag}, {}, m_data->options.stop);
    m_data->changed(*row);
    return done;
}

base::Result<void> WandbRegistry::removeTag(const std::string& id, const std::string& tag) {
    const auto row = m_data->freshRow(id);
    if (!row) {
        return row.error();
    }
    auto done = m_data->service.changeTags(row->artifact, {}, {tag}, m_data->options.stop);
    m_data->changed(*row);
    return done;
}

base::Result<void> WandbRegistry::setAlias(const std::string& id, const std::string& alias) {
    const auto row = m_data->freshRow(id);
    if (!row) {
        return row.error();
    }
    auto done = m_data->service.addAlias(*row, alias, m_data->options.stop);
    m_data->changed(*row);
    return done;
}

base::Result<void> WandbRegistry::removeAlias(const std::string& id, const std::string& alias) {
    const auto row = m_data->freshRow(id);
    if (!row) {
        return row.error();
    }
    auto done = m_data->service.removeAlias(*row, alias, m_data->options.stop);
    m_data->changed(*row);
    return done;
}

base::Result<void> WandbRegistry::Data::changeAttribute(const std::string& id, const std::string& key,
                                                        const std::optional<registry::AttributeValue>& value) {
    const auto row = freshRow(id);
    if (!row) {
        return row.error();
    }
    const auto metadata = withAttribute(row->metadata, key, value);
    if (!metadata) {
        return metadata.error();
    }
    auto done = service.setMetadata(row->artifact, *metadata, options.stop);
    changed(*row);
    return done;
}

base::Result<void> WandbRegistry::setAttribute(const std::string& id, const std::string& key,
                                               const registry::AttributeValue& value) {
    if (auto fit = registry::checkLabelName(registry::LabelKind::Attribute, key); !fit) {
        return fit;
    }
    return m_data->changeAttribute(id, key, value);
}

base::Result<void> WandbRegistry::removeAttribute(const std::string& id, const std::string& key) {
    return m_data->changeAttribute(id, key, std::nullopt);
}

base::Result<void> WandbRegistry::remove(const std::string& id) {
    const auto row = m_data->freshRow(id);
    if (!row) {
        return row.error();
    }
    const auto portfolio = m_data->service.collection(row->place, m_data->options.stop);
    if (!portfolio) {
        return portfolio.error();
    }
    auto done = m_data->service.unlink(row->artifact, portfolio->id, m_data->options.stop);
    if (done) {
        m_data->mirror.forget(row->place.collection, row->number);
        const base::MutexLock lock(m_data->mutex);
        m_data->answers.clear();
    }
    return done;
}

}  // namespace modulelens::wandb
