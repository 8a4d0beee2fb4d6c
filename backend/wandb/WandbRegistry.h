// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Query.h"
#include "backend/registry/Registry.h"
#include "backend/wandb/Cache.h"
#include "backend/wandb/Names.h"
#include "backend/wandb/Service.h"
#include "backend/wandb/VersionArtifact.h"

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::wandb {

/// How a registry of W&B is opened.
struct OpenOptions {
    SignIn signIn;
    std::filesystem::path cacheFolder;         ///< Empty: defaultCacheFolder().
    std::uint64_t cacheLimit = defaultCacheLimit();
    std::stop_token stop;                      ///< Ends what waits for the network.
    RetryNotice onRetry;
    http::ByteProgress onBytes;                ///< Of downloads.
};

/// A registry of a team at W&B: lists by the server, content by a cache. Without a network it shows what was seen before.
/// Measurements are kept on this machine, below the cache's folder. Thread-safe.
class WandbRegistry : public registry::Registry {
public:
    /// Asks the server for nothing yet. InvalidArgument: no folder for the cache. `files` outlives the registry.
    [[nodiscard]] static base::Result<std::unique_ptr<WandbRegistry>> open(base::FileSystem& files,
                                                                           const RegistryAddress& address, OpenOptions options);
    ~WandbRegistry() override;

    [[nodiscard]] std::string displayName() const override;
    [[nodiscard]] base::Result<registry::SearchPage> search(const registry::SearchRequest& request) override;
    [[nodiscard]] base::Result<std::vector<registry::GroupSummary>> models(const std::string& query) override;
    [[nodiscard]] base::Result<std::vector<registry::GroupSummary>> modules(const std::string& model,
                                                                            const std::string& query) override;
    [[nodiscard]] base::Result<std::vector<registry::FacetValue>> facet(const std::string& field,
                                                                        const std::string& query) override;

    [[nodiscard]] base::Result<registry::VersionSummary> resolve(const std::string& addressOrId) override;
    [[nodiscard]] base::Result<capture::VersionDocument> versionDocument(const std::string& id) override;
    [[nodiscard]] base::Result<std::string> versionText(const std::string& id) override;
    [[nodiscard]] base::Result<capture::NodeDocument> node(const std::string& digest) override;
    [[nodiscard]] base::Result<std::string> nodeText(const std::string& digest) override;
    [[nodiscard]] base::Result<std::string> source(const std::string& digest) override;
    [[nodiscard]] base::Result<std::map<std::string, registry::FileExtent>> tensors(
        const std::vector<std::string>& digests) override;
    [[nodiscard]] base::Result<registry::FileExtent> program(const std::string& digest) override;
    [[nodiscard]] base::Result<std::vector<registry::RunSummary>> runs(const std::string& model) override;
    [[nodiscard]] base::Result<capture::RunRecord> runRecord(const std::string& digest) override;
    [[nodiscard]] base::Result<std::string> runText(const std::string& digest) override;
    [[nodiscard]] base::Result<std::optional<registry::RunSummary>> runOf(const std::string& id) override;

    [[nodiscard]] base::Result<void> addTag(const std::string& id, const std::string& tag) override;
    [[nodiscard]] base::Result<void> removeTag(const std::string& id, const std::string& tag) override;
    [[nodiscard]] base::Result<void> setAlias(const std::string& id, const std::string& alias) override;
    [[nodiscard]] base::Result<void> removeAlias(const std::string& id, const std::string& alias) override;
    [[nodiscard]] base::Result<void> setAttribute(const std::string& id, const std::string& key,
                                                  const registry::AttributeValue& value) override;
    [[nodiscard]] base::Result<void> removeAttribute(const std::string& id, const std::string& key) override;
    /// Takes the version out of the registry; its artifact stays in the team's project.
    [[nodiscard]] base::Result<void> remove(const std::string& id) override;
    [[nodiscard]] base::Result<registry::StoredResult> storeResult(const std::string& id,
                                                                   const registry::StoredResult& result) override;
    [[nodiscard]] base::Result<std::vector<registry::StoredResult>> results(const std::string& id,
                                                                            const std::string& kind) override;

    /// Brings everything of a version into the cache in one go: one list of addresses, several files at a time.
    [[nodiscard]] base::Result<void> bring(const std::string& id);
    /// When the server last showed what search() and resolve() now show: UTC; empty when it answers.
    [[nodiscard]] std::string seenAt() const;
    [[nodiscard]] Cache& cache();
    [[nodiscard]] Service& service();
    [[nodiscard]] const RegistryAddress& address() const;
    /// Where versions are published to. NotFound: no such registry. InvalidArgument: the key's default entity is no team of the organisation.
    [[nodiscard]] base::Result<PublishTarget> publishTarget();

private:
    struct Data;
    explicit WandbRegistry(std::unique_ptr<Data> data);
    std::unique_ptr<Data> m_data;
};

}  // namespace modulelens::wandb
