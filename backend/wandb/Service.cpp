// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Service.h"

#include "backend/wandb/Names.h"
#include "backend/wandb/Paging.h"
#include "backend/wandb/Rows.h"

namespace modulelens::wandb {

namespace {

using capture::JsonView;
using nlohmann::json;

constexpr const char* kMissing = "It does not exist, or the account has no access to it.";

json optionalText(const std::string& text) {
    return text.empty() ? json() : json(text);
}

/// Filter for the one project that a registry is.
std::string projectFilter(const std::string& project) {
    return json{{"name", project}}.dump();
}

std::string quoted(const std::string& text) {
    return "'" + text + "'";
}

Organization readOrganization(const JsonView& view) {
    const JsonView entity = view.at("orgEntity");
    return {view.at("name").string(), entity.at("name").string()};
}

/// What the answer to OrganizationOfEntity says; throws DocumentError.
Organization chooseOrganization(const JsonView& data, const std::string& name) {
    const auto entity = data.find("entity");
    if (!entity) {
        throw capture::DocumentError{
            {base::ErrorCode::NotFound, "W&B knows no team or organisation " + quoted(name) + ".", kMissing}};
    }
    if (const auto organization = entity->find("organization")) {
        return readOrganization(*organization);
    }
    std::vector<Organization> all;
    if (const auto user = entity->find("user")) {
        if (const auto organizations = user->find("organizations")) {
            for (std::size_t i = 0; i < organizations->size(); ++i) {
                all.push_back(readOrganization(organizations->element(i)));
            }
        }
    }
    if (all.size() == 1) {
        return all.front();
    }
    if (all.empty()) {
        throw capture::DocumentError{{base::ErrorCode::NotFound, quoted(name) + " belongs to no organisation of W&B.",
                                      "Registries belong to organisations: name a team of one."}};
    }
    std::string names;
    for (const Organization& each : all) {
        names += (names.empty() ? "" : ", ") + each.entity;
    }
    throw capture::DocumentError{{base::ErrorCode::InvalidArgument,
                                  quoted(name) + " belongs to several organisations: " + names + ".", "Name one of them."}};
}

}  // namespace

Service::Service(SignIn signIn, const RetryNotice& onRetry)
    : m_signIn(std::move(signIn)), m_client(clientSettings(m_signIn, onRetry)), m_graphQl(m_client, m_signIn) {}

Service::~Service() = default;

base::Result<json> Service::run(const std::string& operation, const std::string& document, const json& variables,
                                std::stop_token stop) {
    return m_graphQl.run(operation, document, variables, stop);
}

base::Result<Viewer> Service::viewer(std::stop_token stop) {
    const base::Result<json> data = run("Viewer", "query Viewer { viewer { id username entity } }", json::object(), stop);
    if (!data) {
        return data.error();
    }
    return capture::readDocument("Viewer", [&] {
        const JsonView view(*data, "Viewer");
        const auto viewer = view.find("viewer");
        if (!viewer) {
            throw capture::DocumentError{{base::ErrorCode::Unavailable,
                                          "W&B does not know the key for " + m_signIn.baseUrl + ".",
                                          "Set WANDB_API_KEY or the netrc entry."}};
        }
        return Viewer{viewer->stringOr("username", ""), viewer->stringOr("entity", "")};
    });
}

base::Result<Organization> Service::organizationOf(const std::string& entity, std::stop_token stop) {
    const base::Result<json> data =
        run("OrganizationOfEntity",
            "query OrganizationOfEntity($entity: String!) { entity(name: $entity) { organization { name orgEntity { name } } "
            "user { organizations { name orgEntity { name } } } } }",
            {{"entity", entity}}, stop);
    if (!data) {
        return data.error();
    }
    return capture::readDocument("OrganizationOfEntity",
                                 [&] { return chooseOrganization(JsonView(*data, "OrganizationOfEntity"), entity); });
}

base::Result<bool> Service::hasFeature(const std::string& name, std::stop_token stop) {
    {
        const base::MutexLock lock(m_mutex);
        if (m_features) {
            return m_features->contains(name);
        }
    }
    const base::Result<json> data =
        run("ServerFeatures", "query ServerFeatures { serverInfo { features { name isEnabled } } }", json::object(), stop);
    std::set<std::string> features;
    if (!data) {
        if (data.error().message.find("Cannot query field") == std::string::npos) {
            return data.error();
        }
    } else {
        const auto read = capture::readDocument("ServerFeatures", [&] {
            const JsonView view(*data, "ServerFeatures");
            const auto info = view.find("serverInfo");
            const auto list = info ? info->find("features") : std::nullopt;
            for (std::size_t i = 0; list && i < list->size(); ++i) {
                const JsonView item = list->element(i);
                if (!item.isNull() && item.at("isEnabled").boolean()) {
                    features.insert(item.at("name").string());
                }
            }
            return true;
        });
        if (!read) {
            return read.error();
        }
    }
    const base::MutexLock lock(m_mutex);
    m_features = std::move(features);
    return m_features->contains(name);
}

base::Result<std::vector<RegistryRow>> Service::registries(const Organization& organization, std::stop_token stop) {
    std::vector<RegistryRow> rows;
    const std::string prefix = registryProject("");
    const auto done = readPages(
        *this, "Registries",
        "query Registries($org: String!, $cursor: String, $count: Int) { organization(name: $org) { orgEntity { "
        "projects(after: $cursor, first: $count) { pageInfo { endCursor hasNextPage } edges { node { name description "
        "createdAt } } } } } }",
        {{"org", organization.name}}, {"organization", "orgEntity", "projects"},
        "W&B has no organisation " + quoted(organization.name) + ".",
        [&](const JsonView& node) {
            const std::string& name = node.at("name").string();
            if (name.starts_with(prefix)) {
                rows.push_back({name.substr(prefix.size()), node.stringOr("description", ""), node.at("createdAt").string()});
            }
        },
        {}, stop);
    if (!done) {
        return done.error();
    }
    return rows;
}

base::Result<void> Service::checkRegistry(const Organization& organization, const std::string& project, std::stop_token stop) {
    const base::Result<json> data = run("Registry",
                                        "query Registry($entity: String!, $project: String!) { entity(name: $entity) { "
                                        "project(name: $project) { id } } }",
                                        {{"entity", organization.entity}, {"project", project}}, stop);
    if (!data) {
        return data.error();
    }
    const json* entity = data->contains("entity") ? &(*data)["entity"] : nullptr;
    if (entity == nullptr || !entity->is_object() || !entity->contains("project") || !(*entity)["project"].is_object()) {
        return base::Error{base::ErrorCode::NotFound,
                           "The organisation " + quoted(organization.name) + " has no registry " +
                               quoted(project.substr(registryProject("").size())) + ".",
                           kMissing};
    }
    return {};
}

base::Result<std::vector<CollectionRow>> Service::collections(const Organization& organization, const std::string& project,
                                                              const std::string& filter, std::stop_token stop) {
    std::vector<CollectionRow> rows;
    const auto done = readPages(
        *this, "Collections",
        "query Collections($org: String!, $projects: JSONString, $filter: JSONString, $cursor: String, $count: Int) { "
        "organization(name: $org) { orgEntity { artifactCollections(projectFilters: $projects, filters: $filter, "
        "collectionTypes: [PORTFOLIO], after: $cursor, first: $count) { pageInfo { endCursor hasNextPage } edges { node { " +
            collectionFields() + " } } } } } }",
        {{"org", organization.name}, {"projects", projectFilter(project)}, {"filter", optionalText(filter)}},
        {"organization", "orgEntity", "artifactCollections"}, "W&B has no organisation " + quoted(organization.name) + ".",
        [&](const JsonView& node) { rows.push_back(readCollectionRow(node)); }, {}, stop);
    if (!done) {
        return done.error();
    }
    return rows;
}

base::Result<void> Service::versions(const Organization& organization, const std::string& project, const RowFilter& filter,
                                     const std::function<void(std::vector<VersionRow>)>& onPage, std::stop_token stop) {
    const base::Result<bool> canSearch = hasFeature("ARTIFACT_REGISTRY_SEARCH", stop);
    const base::Result<bool> knowsAlgorithm = hasFeature("ARTIFACT_DIGEST_ALGORITHM", stop);
    if (!canSearch || !knowsAlgorithm) {
        return canSearch ? knowsAlgorithm.error() : canSearch.error();
    }
    if (!*canSearch) {
        return base::Error{base::ErrorCode::Unsupported,
                           "The W&B server " + m_signIn.baseUrl + " is too old to list a registry.",
                           "Its operator can update it."};
    }
    std::vector<VersionRow> rows;
    return readPages(
        *this, "Versions",
        "query Versions($org: String!, $projects: JSONString, $collections: JSONString, $versions: JSONString, $cursor: "
        "String, "
        "$count: Int) { organization(name: $org) { orgEntity { artifactMemberships(projectFilters: $projects, "
        "collectionFilters: $collections, filters: $versions, after: $cursor, first: $count) { pageInfo { endCursor "
        "hasNextPage } "
        "edges { node { " +
            membershipFields(*knowsAlgorithm) + " } } } } } }",
        {{"org", organization.name},
         {"projects", projectFilter(project)},
         {"collections", optionalText(filter.collections)},
         {"versions", optionalText(filter.versions)}},
        {"organization", "orgEntity", "artifactMemberships"}, "W&B has no organisation " + quoted(organization.name) + ".",
        [&](const JsonView& node) { rows.push_back(readVersionRow(node)); }, [&] { onPage(std::exchange(rows, {})); }, stop);
}

base::Result<VersionRow> Service::version(const CollectionPlace& place, const std::string& alias, std::stop_token stop) {
    const base::Result<bool> byName = hasFeature("PROJECT_ARTIFACT_COLLECTION_MEMBERSHIP", stop);
    const base::Result<bool> knowsAlgorithm = hasFeature("ARTIFACT_DIGEST_ALGORITHM", stop);
    if (!byName || !knowsAlgorithm) {
        return byName ? knowsAlgorithm.error() : byName.error();
    }
    const std::string fields = membershipFields(*knowsAlgorithm);
    const base::Result<json> data =
        *byName
            ? run("Version",
                  "query Version($entity: String!, $project: String!, $name: String!) { project(name: $project, entityName: "
                  "$entity) { "
                  "found: artifactCollectionMembership(name: $name) { " +
                      fields + " } } }",
                  {{"entity", place.entity}, {"project", place.project}, {"name", place.collection + ':' + alias}}, stop)
            : run("Version",
                  "query Version($entity: String!, $project: String!, $collection: String!, $alias: String!) { project(name: "
                  "$project, "
                  "entityName: $entity) { artifactCollection(name: $collection) { found: artifactMembership(aliasName: $alias) "
                  "{ " +
                      fields + " } } } }",
                  {{"entity", place.entity}, {"project", place.project}, {"collection", place.collection}, {"alias", alias}},
                  stop);
    if (!data) {
        return data.error();
    }
    return capture::readDocument("Version", [&] {
        const JsonView view(*data, "Version");
        const auto project = view.find("project");
        if (!project) {
            throw capture::DocumentError{{base::ErrorCode::NotFound,
                                          "W&B has no project " + quoted(place.entity + '/' + place.project) + ".", kMissing}};
        }
        const auto collection = *byName ? project : project->find("artifactCollection");
        const auto found = collection ? collection->find("found") : std::nullopt;
        if (!found) {
            throw capture::DocumentError{
                {base::ErrorCode::NotFound,
                 "W&B has no " + quoted(place.collection + ':' + alias) + " in " + place.entity + '/' + place.project + ".",
                 kMissing}};
        }
        return readVersionRow(*found);
    });
}

base::Result<CollectionRow> Service::collection(const CollectionPlace& place, std::stop_token stop) {
    const base::Result<json> data =
        run("Collection",
            "query Collection($entity: String!, $project: String!, $name: String!) { project(name: $project, entityName: "
            "$entity) { "
            "artifactCollection(name: $name) { " +
                collectionFields() + " } } }",
            {{"entity", place.entity}, {"project", place.project}, {"name", place.collection}}, stop);
    if (!data) {
        return data.error();
    }
    return capture::readDocument("Collection", [&] {
        const JsonView view(*data, "Collection");
        const auto project = view.find("project");
        const auto collection = project ? project->find("artifactCollection") : std::nullopt;
        if (!collection) {
            throw capture::DocumentError{
                {base::ErrorCode::NotFound,
                 "W&B has no collection " + quoted(place.entity + '/' + place.project + '/' + place.collection) + ".",
                 kMissing}};
        }
        return readCollectionRow(*collection);
    });
}

base::Result<std::string> Service::manifestUrl(const std::string& artifact, std::stop_token stop) {
    const base::Result<json> data =
        run("ManifestUrl", "query ManifestUrl($id: ID!) { artifact(id: $id) { currentManifest { file { directUrl } } } }",
            {{"id", artifact}}, stop);
    if (!data) {
        return data.error();
    }
    return capture::readDocument("ManifestUrl", [&] {
        const JsonView view(*data, "ManifestUrl");
        const auto found = view.find("artifact");
        const auto manifest = found ? found->find("currentManifest") : std::nullopt;
        if (!manifest) {
            throw capture::DocumentError{{base::ErrorCode::Corrupt, "The artifact has no manifest at W&B.",
                                          "It was not published to its end, or it was deleted."}};
        }
        const JsonView file = manifest->at("file");
        return file.at("directUrl").string();
    });
}

base::Result<std::map<std::string, std::string>> Service::fileUrls(const CollectionPlace& place, int number,
                                                                   const std::vector<std::string>& names,
                                                                   std::stop_token stop) {
    std::map<std::string, std::string> urls;
    const auto done = readPages(
        *this, "FileUrls",
        "query FileUrls($entity: String!, $project: String!, $collection: String!, $alias: String!, $names: [String!], "
        "$cursor: String, "
        "$count: Int) { project(name: $project, entityName: $entity) { artifactCollection(name: $collection) { "
        "artifactMembership(aliasName: $alias) { files(names: $names, after: $cursor, first: $count) { "
        "pageInfo { endCursor hasNextPage } edges { node { name directUrl } } } } } } }",
        {{"entity", place.entity},
         {"project", place.project},
         {"collection", place.collection},
         {"alias", "v" + std::to_string(number)},
         {"names", names.empty() ? json() : json(names)}},
        {"project", "artifactCollection", "artifactMembership", "files"},
        "W&B has no files of " + quoted(place.collection + ":v" + std::to_string(number)) + ".",
        [&](const JsonView& node) { urls[node.at("name").string()] = node.at("directUrl").string(); }, {}, stop);
    if (!done) {
        return done.error();
    }
    return urls;
}

}  // namespace modulelens::wandb
