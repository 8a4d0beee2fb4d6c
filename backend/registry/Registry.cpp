// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Registry.h"

#include <algorithm>
#include <array>

namespace modulelens::registry {

namespace {

constexpr std::array<std::string_view, 9> kSortKeys{"newest", "name",  "parameters", "latency", "oldest",
                                                    "flops",  "bytes", "activation", "peak"};
constexpr std::array<std::string_view, 3> kLinkKinds{"derived_from", "candidate_of", "merged_from"};

template <class Value, class Names>
std::optional<Value> valueOf(const Names& names, std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
        return std::nullopt;
    }
    return static_cast<Value>(found - names.begin());
}

}  // namespace

std::span<const std::string_view> sortKeyNames() {
    return kSortKeys;
}

std::optional<SortKey> sortKeyOf(std::string_view name) {
    return valueOf<SortKey>(kSortKeys, name);
}

std::string_view linkKindName(LinkKind kind) {
    return kLinkKinds[static_cast<std::size_t>(kind)];
}

std::optional<LinkKind> linkKindOf(std::string_view name) {
    return valueOf<LinkKind>(kLinkKinds, name);
}

base::Error Registry::notOffered(const std::string& what) const {
    return {base::ErrorCode::Unsupported, "The registry " + displayName() + " does not offer " + what + ".", ""};
}

base::Result<std::vector<Facet>> Registry::facets(const std::vector<std::string>& fields, const std::string& query) {
    std::vector<Facet> facets;
    facets.reserve(fields.size());
    for (const std::string& field : fields) {
        base::Result<std::vector<FacetValue>> values = facet(field, query);
        if (!values) {
            return values.error();
        }
        facets.push_back({field, std::move(*values)});
    }
    return facets;
}

base::Result<std::vector<std::string>> Registry::namesLike(const std::string& /*field*/, const std::string& /*text*/,
                                                           int /*limit*/) {
    return std::vector<std::string>();
}

base::Result<std::string> Registry::versionText(const std::string& /*id*/) {
    return notOffered("the documents of its versions");
}

base::Result<std::string> Registry::runText(const std::string& /*digest*/) {
    return notOffered("the documents of its runs");
}

base::Result<std::vector<VersionSummary>> Registry::trash() {
    return notOffered("a trash");
}

base::Result<void> Registry::restore(const std::string& /*id*/) {
    return notOffered("a trash");
}

base::Result<std::string> Registry::note(const std::string& /*id*/) {
    return notOffered("notes");
}

base::Result<void> Registry::setNote(const std::string& /*id*/, const std::string& /*text*/) {
    return notOffered("notes");
}

base::Result<std::vector<LineageLink>> Registry::links(const std::string& /*id*/) {
    return notOffered("links between versions");
}

base::Result<void> Registry::addLink(const std::string& /*id*/, LinkKind /*kind*/, const std::string& /*otherId*/) {
    return notOffered("links between versions");
}

base::Result<void> Registry::removeLink(const std::string& /*id*/, LinkKind /*kind*/, const std::string& /*otherId*/) {
    return notOffered("links between versions");
}

base::Result<std::vector<SavedSearch>> Registry::savedSearches() {
    return notOffered("saved searches");
}

base::Result<void> Registry::saveSearch(const SavedSearch& /*search*/) {
    return notOffered("saved searches");
}

base::Result<void> Registry::removeSavedSearch(const std::string& /*name*/) {
    return notOffered("saved searches");
}

}  // namespace modulelens::registry
