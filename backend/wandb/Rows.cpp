// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Rows.h"

#include <limits>

namespace modulelens::wandb {

namespace {

using capture::JsonView;

/// 64-bit numbers come as numbers or as texts.
std::uint64_t largeNumber(const JsonView& view) {
    if (view.json().is_string()) {
        const std::string& text = view.string();
        std::uint64_t value = 0;
        for (const char c : text) {
            if (c < '0' || c > '9' || value > std::numeric_limits<std::uint64_t>::max() / 10 - 1) {
                view.fail("is no number");
            }
            value = value * 10 + static_cast<std::uint64_t>(c - '0');
        }
        return value;
    }
    return static_cast<std::uint64_t>(view.nonNegative());
}

std::vector<std::string> namesOf(const JsonView& list, std::string_view key) {
    std::vector<std::string> names;
    names.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonView item = list.element(i);
        names.push_back(item.at(key).string());
    }
    return names;
}

CollectionPlace readPlace(const JsonView& collection) {
    CollectionPlace place;
    place.collection = collection.at("name").string();
    // A project that the account may not see is null.
    if (const auto project = collection.find("project")) {
        place.project = project->at("name").string();
        const JsonView entity = project->at("entity");
        place.entity = entity.at("name").string();
    }
    return place;
}

void readArtifact(const JsonView& artifact, VersionRow& row) {
    row.isAvailable = artifact.at("state").string() == "COMMITTED";
    row.artifact = artifact.at("id").string();
    row.digest = artifact.at("digest").string();
    const std::string algorithm = artifact.stringOr("digestAlgorithm", "");
    if (algorithm == "MANIFEST_MD5") {
        row.digestAlgorithm = DigestAlgorithm::Md5;
    } else if (algorithm == "MANIFEST_XXH128") {
        row.digestAlgorithm = DigestAlgorithm::Xxh128;
    }
    row.sizeBytes = largeNumber(artifact.at("size"));
    row.created = artifact.at("createdAt").string();
    row.metadata = artifact.stringOr("metadata", "");
    row.tags = namesOf(artifact.at("tags"), "name");
    if (const auto sequence = artifact.find("artifactSequence")) {
        row.source = readPlace(*sequence);
    }
    if (const auto creator = artifact.find("createdBy")) {
        if (const auto user = creator->find("user")) {
            row.createdBy = user->stringOr("username", "");
        } else {
            row.createdBy = creator->stringOr("username", "");
        }
    }
}

}  // namespace

VersionRow readVersionRow(const JsonView& membership) {
    VersionRow row;
    const std::int64_t number = membership.at("versionIndex").nonNegative();
    if (number > std::numeric_limits<int>::max()) {
        membership.at("versionIndex").fail("is no version's number");
    }
    row.number = static_cast<int>(number);
    row.linked = membership.at("createdAt").string();
    row.aliases = namesOf(membership.at("aliases"), "alias");
    if (const auto collection = membership.find("artifactCollection")) {
        row.place = readPlace(*collection);
    }
    if (const auto artifact = membership.find("artifact")) {
        readArtifact(*artifact, row);
    }
    return row;
}

CollectionRow readCollectionRow(const JsonView& collection) {
    CollectionRow row;
    row.id = collection.at("id").string();
    row.name = collection.at("name").string();
    row.isPortfolio = collection.at("__typename").string() == "ArtifactPortfolio";
    row.description = collection.stringOr("description", "");
    row.created = collection.at("createdAt").string();
    row.type = collection.at("type").at("name").string();
    const JsonView tags = collection.at("tags");
    const JsonView edges = tags.at("edges");
    row.tags.reserve(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const JsonView edge = edges.element(i);
        const JsonView node = edge.at("node");
        row.tags.push_back(node.at("name").string());
    }
    return row;
}

std::string membershipFields(bool withAlgorithm) {
    return std::string(
               "versionIndex createdAt aliases { alias } "
               "artifactCollection { __typename name project { name entity { name } } } "
               "artifact { id state digest size createdAt metadata tags { name } "
               "artifactSequence { name project { name entity { name } } } "
               "createdBy { __typename ... on Run { name user { username } } ... on User { username } } ") +
           (withAlgorithm ? "digestAlgorithm " : "") + "}";
}

std::string collectionFields() {
    return "__typename id name description createdAt type: defaultArtifactType { name } tags { edges { node { name } } }";
}

}  // namespace modulelens::wandb
