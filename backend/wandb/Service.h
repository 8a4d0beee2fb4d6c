// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Mutex.h"
#include "backend/base/Result.h"
#include "backend/wandb/GraphQl.h"
#include "backend/wandb/Manifest.h"
#include "backend/wandb/SignIn.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::wandb {

/// Who the key belongs to.
struct Viewer {
    std::string userName;
    std::string entity;            ///< The default entity; may be personal.
};

/// An organisation: what people call it, and the entity that owns its registries. The two may differ.
struct Organization {
    std::string name;
    std::string entity;
};

struct RegistryRow {
    std::string name;              ///< Without the prefix of its project.
    std::string description;
    std::string created;           ///< UTC.
};

struct CollectionRow {
    std::string id;
    std::string name;
    bool isPortfolio = true;       ///< Of a registry; else a sequence of a team's project.
    std::string type;
    std::string description;
    std::string created;
    std::vector<std::string> tags;
};

/// The place of a collection.
struct CollectionPlace {
    std::string entity;
    std::string project;
    std::string collection;
};

/// A version in a collection. What the server has deleted, or does not show to this account, has no artifact.
struct VersionRow {
    CollectionPlace place;
    int number = 0;                ///< The N of vN.
    std::vector<std::string> aliases;
    std::string linked;            ///< UTC, when it came into the collection.
    bool isAvailable = false;
    std::string artifact;          ///< Id.
    std::string digest;            ///< Hex, of the whole content.
    std::optional<DigestAlgorithm> digestAlgorithm;   ///< Nothing: an older server did not say.
    std::uint64_t sizeBytes = 0;
    std::string created;           ///< UTC, of the artifact.
    std::string metadata;          ///< JSON text, as the publisher wrote it.
    std::vector<std::string> tags;
    CollectionPlace source;        ///< The sequence that the artifact was made in.
    std::string createdBy;         ///< User name, or empty.
};

/// Conditions of a list, as JSON texts in the server's filter language; empty: none.
struct RowFilter {
    std::string collections;
    std::string versions;
};

/// The operations of a W&B server that a registry needs, one function each. Blocks on the network. Thread-safe.
/// Errors that every function may give: those of GraphQl::run, Corrupt for answers of another form, Cancelled.
class Service {
public:
    explicit Service(SignIn signIn, const RetryNotice& onRetry = {});
    ~Service();

    [[nodiscard]] const SignIn& signIn() const { return m_signIn; }
    [[nodiscard]] http::Client& client() { return m_client; }

    /// Unavailable: the key belongs to nobody.
    [[nodiscard]] base::Result<Viewer> viewer(std::stop_token stop);
    /// The organisation of a team, of an organisation's own entity, or of a person with exactly one. NotFound: none.
    /// InvalidArgument: a person with several; the message names them.
    [[nodiscard]] base::Result<Organization> organizationOf(const std::string& entity, std::stop_token stop);
    /// True when the server offers the feature of that name. An old server that cannot be asked offers none.
    [[nodiscard]] base::Result<bool> hasFeature(const std::string& name, std::stop_token stop);

    [[nodiscard]] base::Result<std::vector<RegistryRow>> registries(const Organization& organization, std::stop_token stop);
    /// NotFound: there is no such registry, or no access.
    [[nodiscard]] base::Result<void> checkRegistry(const Organization& organization, const std::string& project,
                                                   std::stop_token stop);
    [[nodiscard]] base::Result<std::vector<CollectionRow>> collections(const Organization& organization,
                                                                       const std::string& project, const std::string& filter,
                                                                       std::stop_token stop);
    /// Hands on the versions of a registry page by page, as they come. Unsupported: the server is too old.
    [[nodiscard]] base::Result<void> versions(const Organization& organization, const std::string& project,
                                              const RowFilter& filter,
                                              const std::function<void(std::vector<VersionRow>)>& onPage, std::stop_token stop);
    /// The version that `alias` ("v3", "latest", ...) names. NotFound names the part that is missing.
    [[nodiscard]] base::Result<VersionRow> version(const CollectionPlace& place, const std::string& alias,
                                                   std::stop_token stop);
    /// NotFound: there is no such collection.
    [[nodiscard]] base::Result<CollectionRow> collection(const CollectionPlace& place, std::stop_token stop);

    /// Address of the manifest; it expires. Corrupt: the artifact has none.
    [[nodiscard]] base::Result<std::string> manifestUrl(const std::string& artifact, std::stop_token stop);
    /// Addresses of files by path; they expire. `names` empty: of all files.
    [[nodiscard]] base::Result<std::map<std::string, std::string>> fileUrls(const CollectionPlace& place, int number,
                                                                            const std::vector<std::string>& names,
                                                                            std::stop_token stop);

    [[nodiscard]] base::Result<void> changeTags(const std::string& artifact, const std::vector<std::string>& added,
                                                const std::vector<std::string>& removed, std::stop_token stop);
    /// Replaces the whole metadata.
    [[nodiscard]] base::Result<void> setMetadata(const std::string& artifact, const std::string& metadata,
                                                 std::stop_token stop);
    [[nodiscard]] base::Result<void> addAlias(const VersionRow& row, const std::string& alias, std::stop_token stop);
    [[nodiscard]] base::Result<void> removeAlias(const VersionRow& row, const std::string& alias, std::stop_token stop);
    [[nodiscard]] base::Result<void> changeCollectionTags(const CollectionPlace& place, const std::vector<std::string>& added,
                                                          const std::vector<std::string>& removed, std::stop_token stop);
    [[nodiscard]] base::Result<void> setCollectionDescription(const CollectionRow& row, const std::string& description,
                                                              std::stop_token stop);
    /// Takes a version out of a registry; its artifact stays in its project.
    [[nodiscard]] base::Result<void> unlink(const std::string& artifact, const std::string& portfolio, std::stop_token stop);
    /// Deletes an artifact everywhere. InvalidArgument: it has aliases and `withAliases` is false.
    [[nodiscard]] base::Result<void> deleteArtifact(const std::string& artifact, bool withAliases, std::stop_token stop);
    /// Deletes a collection; of a registry: the versions' artifacts stay in their projects.
    [[nodiscard]] base::Result<void> deleteCollection(const CollectionRow& row, std::stop_token stop);

    /// Runs any other operation.
    [[nodiscard]] base::Result<nlohmann::json> run(const std::string& operation, const std::string& document,
                                                   const nlohmann::json& variables, std::stop_token stop);

private:
    SignIn m_signIn;
    http::Client m_client;
    GraphQl m_graphQl;
    base::Mutex m_mutex;
    std::optional<std::set<std::string>> m_features ML_GUARDED_BY(m_mutex);
};

}  // namespace modulelens::wandb
