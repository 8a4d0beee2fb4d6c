// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Connection.h"
#include "backend/registry/FileLock.h"
#include "backend/registry/ImportPlan.h"
#include "backend/registry/ObjectStore.h"
#include "backend/registry/Registry.h"

#include <functional>

namespace modulelens::registry {

/// The local registry over SQLite, packs and objects (docs/formats/registry.md). Reads run side by side on snapshots; what
/// adds files takes the commit lock for the short moment of moving them in, imports the import lock besides. Thread-safe.
class SqliteRegistry final : public LocalRegistry {
public:
    SqliteRegistry(base::FileSystem& files, std::filesystem::path folder, Mode mode);

    /// What LocalRegistry::open() does after construction.
    [[nodiscard]] base::Result<void> open();

    [[nodiscard]] std::string displayName() const override;
    [[nodiscard]] std::filesystem::path folder() const override;

    [[nodiscard]] base::Result<SearchPage> search(const SearchRequest& request) override;
    [[nodiscard]] base::Result<std::vector<GroupSummary>> models(const std::string& query) override;
    [[nodiscard]] base::Result<std::vector<GroupSummary>> modules(const std::string& model, const std::string& query) override;
    [[nodiscard]] base::Result<std::vector<FacetValue>> facet(const std::string& field, const std::string& query) override;

    [[nodiscard]] base::Result<VersionSummary> resolve(const std::string& addressOrId) override;
    [[nodiscard]] base::Result<capture::VersionDocument> versionDocument(const std::string& id) override;
    [[nodiscard]] base::Result<capture::NodeDocument> node(const std::string& digest) override;
    [[nodiscard]] base::Result<std::string> nodeText(const std::string& digest) override;
    [[nodiscard]] base::Result<std::string> source(const std::string& digest) override;
    [[nodiscard]] base::Result<std::map<std::string, FileExtent>> tensors(const std::vector<std::string>& digests) override;
    [[nodiscard]] base::Result<FileExtent> program(const std::string& digest) override;
    [[nodiscard]] base::Result<std::vector<RunSummary>> runs(const std::string& model) override;
    [[nodiscard]] base::Result<capture::RunRecord> runRecord(const std::string& digest) override;
    [[nodiscard]] base::Result<std::optional<RunSummary>> runOf(const std::string& id) override;

    [[nodiscard]] base::Result<void> addTag(const std::string& id, const std::string& tag) override;
    [[nodiscard]] base::Result<void> removeTag(const std::string& id, const std::string& tag) override;
    [[nodiscard]] base::Result<void> setAlias(const std::string& id, const std::string& alias) override;
    [[nodiscard]] base::Result<void> removeAlias(const std::string& id, const std::string& alias) override;
    [[nodiscard]] base::Result<void> setAttribute(const std::string& id, const std::string& key,
                                                  const AttributeValue& value) override;
    [[nodiscard]] base::Result<void> removeAttribute(const std::string& id, const std::string& key) override;
    [[nodiscard]] base::Result<void> remove(const std::string& id) override;

    [[nodiscard]] base::Result<StoredResult> storeResult(const std::string& id, const StoredResult& result) override;
    [[nodiscard]] base::Result<std::vector<StoredResult>> results(const std::string& id, const std::string& kind) override;

    [[nodiscard]] base::Result<ImportReport> import(const std::filesystem::path& path, std::stop_token stop,
                                                    const ByteProgress& progress) override;
    [[nodiscard]] base::Result<ImportReport> importInbox(std::stop_token stop, const ByteProgress& progress) override;
    [[nodiscard]] base::Result<CheckReport> check(std::stop_token stop, const ByteProgress& progress) override;

private:
    class ImportProgress;

    [[nodiscard]] base::Result<void> prepareFolder();
    [[nodiscard]] base::Result<void> prepareDatabase();
    [[nodiscard]] base::Result<void> openReadOnly();
    [[nodiscard]] base::Result<void> checkSchema(Connection& connection, int* userVersion);
    void sweep();
    [[nodiscard]] base::Result<void> requireWritable() const;
    /// Takes the commit lock and takes back what a dead process left under it.
    [[nodiscard]] base::Result<FileLock> lockForCommit(std::stop_token stop);

    /// Runs `change(connection, rowid)` in a write transaction on a version that is not in the trash.
    [[nodiscard]] base::Result<void> changeVersion(const std::string& id,
                                                   const std::function<base::Result<void>(Connection&, std::int64_t)>& change);
    /// A document object as text, verified against its digest.
    [[nodiscard]] base::Result<std::string> objectText(const std::string& digest, const std::string& kind);
    [[nodiscard]] base::Result<FileExtent> objectExtent(Connection& connection, const std::string& digest,
                                                        const std::string& kind);

    [[nodiscard]] base::Result<void> importOne(const std::filesystem::path& path, std::stop_token stop,
                                               ImportProgress& progress, ImportReport& report);

    base::FileSystem& m_files;
    const RegistryLayout m_layout;
    const Mode m_mode;
    std::unique_ptr<ConnectionPool> m_pool;   ///< Set by open(), constant afterwards.
};

}  // namespace modulelens::registry
