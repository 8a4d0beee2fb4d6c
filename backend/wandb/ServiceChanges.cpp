// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Names.h"
#include "backend/wandb/Service.h"

#include <nlohmann/json.hpp>

namespace modulelens::wandb {

namespace {

using nlohmann::json;

json tagInputs(const std::vector<std::string>& tags) {
    json list = json::array();
    for (const std::string& tag : tags) {
        list.push_back({{"tagName", tag}});
    }
    return list;
}

base::Result<void> checkTags(const std::vector<std::string>& tags) {
    for (const std::string& tag : tags) {
        if (auto fit = checkTag(tag); !fit) {
            return fit;
        }
    }
    return {};
}

/// A mutation with one input object and nothing to read.
base::Result<void> change(Service& service, const std::string& name, const std::string& inputType, const std::string& selection,
                          json input, const std::stop_token& stop) {
    std::string operation = name;
    operation[0] = static_cast<char>(operation[0] - 'a' + 'A');
    const std::string document =
        "mutation " + operation + "($input: " + inputType + "!) { " + name + "(input: $input) { " + selection + " } }";
    const base::Result<json> data = service.run(operation, document, {{"input", std::move(input)}}, stop);
    if (!data) {
        return data.error();
    }
    if (!data->contains(name) || (*data)[name].is_null()) {
        return base::Error{base::ErrorCode::NotFound, "W&B did not do " + operation + ".",
                           "What it is about does not exist, or the account has no access to it."};
    }
    return {};
}

json aliasInput(const VersionRow& row, const std::string& alias) {
    return {{"artifactID", row.artifact},
            {"aliases", json::array({{{"entityName", row.place.entity},
                                      {"projectName", row.place.project},
                                      {"artifactCollectionName", row.place.collection},
                                      {"alias", alias}}})}};
}

/// The most tags that one call about a collection may hold.
constexpr std::size_t kMostTags = 20;

}  // namespace

base::Result<void> Service::changeTags(const std::string& artifact, const std::vector<std::string>& added,
                                       const std::vector<std::string>& removed, std::stop_token stop) {
    if (auto fit = checkTags(added); !fit) {
        return fit;
    }
    // Description and metadata are left out, so that they stay as they are.
    return change(*this, "updateArtifact", "UpdateArtifactInput", "artifact { id }",
                  {{"artifactID", artifact}, {"tagsToAdd", tagInputs(added)}, {"tagsToDelete", tagInputs(removed)}}, stop);
}

base::Result<void> Service::setMetadata(const std::string& artifact, const std::string& metadata, std::stop_token stop) {
    return change(*this, "updateArtifact", "UpdateArtifactInput", "artifact { id }",
                  {{"artifactID", artifact}, {"metadata", metadata}}, stop);
}

base::Result<void> Service::addAlias(const VersionRow& row, const std::string& alias, std::stop_token stop) {
    if (auto fit = checkAlias(alias); !fit) {
        return fit;
    }
    return change(*this, "addAliases", "AddAliasesInput", "success", aliasInput(row, alias), stop);
}

base::Result<void> Service::removeAlias(const VersionRow& row, const std::string& alias, std::stop_token stop) {
    return change(*this, "deleteAliases", "DeleteAliasesInput", "success", aliasInput(row, alias), stop);
}

base::Result<void> Service::changeCollectionTags(const CollectionPlace& place, const std::vector<std::string>& added,
                                                 const std::vector<std::string>& removed, std::stop_token stop) {
    if (auto fit = checkTags(added); !fit) {
        return fit;
    }
    const auto send = [&](const std::string& name, const std::string& type, const std::string& selection,
                          const std::vector<std::string>& tags) -> base::Result<void> {
        for (std::size_t at = 0; at < tags.size(); at += kMostTags) {
            const auto first = tags.begin() + static_cast<std::ptrdiff_t>(at);
            const std::vector<std::string> some(first,
                                                first + static_cast<std::ptrdiff_t>(std::min(kMostTags, tags.size() - at)));
            const json input = {{"entityName", place.entity},
                                {"projectName", place.project},
                                {"artifactCollectionName", place.collection},
                                {"tags", tagInputs(some)}};
            if (auto done = change(*this, name, type, selection, input, stop); !done) {
                return done;
            }
        }
        return {};
    };
    auto done =
        send("createArtifactCollectionTagAssignments", "CreateArtifactCollectionTagAssignmentsInput", "tags { name }", added);
    if (done) {
        done =
            send("deleteArtifactCollectionTagAssignments", "DeleteArtifactCollectionTagAssignmentsInput", "success", removed);
    }
    return done;
}

base::Result<void> Service::setCollectionDescription(const CollectionRow& row, const std::string& description,
                                                     std::stop_token stop) {
    const std::string kind = row.isPortfolio ? "Portfolio" : "Sequence";
    return change(*this, "updateArtifact" + kind, "UpdateArtifact" + kind + "Input", "artifactCollection { id }",
                  {{"artifact" + kind + "ID", row.id}, {"description", description}}, stop);
}

base::Result<void> Service::unlink(const std::string& artifact, const std::string& portfolio, std::stop_token stop) {
    return change(*this, "unlinkArtifact", "UnlinkArtifactInput", "success",
                  {{"artifactID", artifact}, {"artifactPortfolioID", portfolio}}, stop);
}

base::Result<void> Service::deleteArtifact(const std::string& artifact, bool withAliases, std::stop_token stop) {
    return change(*this, "deleteArtifact", "DeleteArtifactInput", "artifact { id }",
                  {{"artifactID", artifact}, {"deleteAliases", withAliases}}, stop);
}

base::Result<void> Service::deleteCollection(const CollectionRow& row, std::stop_token stop) {
    const std::string kind = row.isPortfolio ? "Portfolio" : "Sequence";
    return change(*this, "deleteArtifact" + kind, "DeleteArtifact" + kind + "Input", "artifactCollection { id state }",
                  {{"artifact" + kind + "ID", row.id}}, stop);
}

}  // namespace modulelens::wandb
