// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Connection.h"
#include "backend/registry/FileLock.h"
#include "backend/registry/ImportPlan.h"
#include "backend/registry/ObjectStore.h"
#include "backend/registry/Registry.h"
#include "backend/registry/VersionColumns.h"

#include <functional>

namespace modulelens::registry {

/// True when the database holds the file of that name in the registry. Throws SQLite::Exception. Requires: digestOfName(name).
[[nodiscard]] bool isKnownFile(Connection& connection, const std::string& name);

/// True for names in the inbox that are still being written.
[[nodiscard]] bool isTemporaryName(const std::string& name);

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
    [[nodiscard]] base::Result<std::vector<Facet>> facets(const std::vector<std::string>& fields,
                                                          const std::string& query) override;
    [[nodiscard]] base::Result<std::vector<std::string>> namesLike(const std::string& field, const std::string& text,
                                                                   int limit) override;

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

    [[nodiscard]] base::Result<std::string> versionText(const std::string& id) override;
    [[nodiscard]] base::Result<std::string> runText(const std::string& digest) override;
    [[nodiscard]] base::Result<std::vector<VersionSummary>> trash() override;
    [[nodiscard]] base::Result<void> restore(const std::string& id) override;
    [[nodiscard]] base::Result<std::string> note(const std::string& id) override;
    [[nodiscard]] base::Result<void> setNote(const std::string& id, const std::string& text) override;
    [[nodiscard]] base::Result<std::vector<LineageLink>> links(const std::string& id) override;
    [[nodiscard]] base::Result<void> addLink(const std::string& id, LinkKind kind, const std::string& otherId) override;
    [[nodiscard]] base::Result<void> removeLink(const std::string& id, LinkKind kind, const std::string& otherId) override;
    [[nodiscard]] base::Result<std::vector<SavedSearch>> savedSearches() override;
    [[nodiscard]] base::Result<void> saveSearch(const SavedSearch& search) override;
    [[nodiscard]] base::Result<void> removeSavedSearch(const std::string& name) override;

    [[nodiscard]] base::Result<StoredResult> storeResult(const std::string& id, const StoredResult& result) override;
    [[nodiscard]] base::Result<std::vector<StoredResult>> results(const std::string& id, const std::string& kind) override;

    [[nodiscard]] base::Result<ImportReport> import(const std::filesystem::path& path, std::stop_token stop,
                                                    const ByteProgress& progress) override;
    [[nodiscard]] base::Result<ImportReport> importInbox(std::stop_token stop, const ByteProgress& progress) override;
    [[nodiscard]] base::Result<CheckReport> check(std::stop_token stop, const ByteProgress& progress) override;
    [[nodiscard]] base::Result<GarbageReport> collectGarbage(const GarbageSettings& settings, std::stop_token stop,
                                                             const ByteProgress& progress) override;
    [[nodiscard]] base::Result<RegistryStatistics> statistics() override;
    [[nodiscard]] base::Result<void> moveTo(const std::filesystem::path& target, std::stop_token stop,
                                            const ByteProgress& progress) override;

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
    /// Digest of the document of a version that is not in the trash.
    [[nodiscard]] base::Result<std::string> versionDigest(const std::string& id);
    /// A document object as text, verified against its digest.
    [[nodiscard]] base::Result<std::string> objectText(const std::string& digest, const std::string& kind);
    [[nodiscard]] base::Result<FileExtent> objectExtent(Connection& connection, const std::string& digest,
                                                        const std::string& kind);

    [[nodiscard]] base::Result<void> importOne(const std::filesystem::path& path, std::stop_token stop,
                                               ImportProgress& progress, ImportReport& report);

    /// Reads in one transaction with a search index that is up to date.
    template <class Body>
    [[nodiscard]] auto readIndexed(Body&& body) -> decltype(body(std::declval<Connection&>()));

    /// Gives back the space of a pack that is mostly dead. Requires: the import lock is held.
    [[nodiscard]] base::Result<void> rewritePack(std::int64_t packId, std::stop_token stop, GarbageReport& report);
    /// Removes files that the database does not know. Requires: the import lock is held.
    [[nodiscard]] base::Result<void> sweepUnknownFiles(std::stop_token stop, GarbageReport& report, bool isDryRun);
    /// Renames or copies the folder. Requires: nobody else uses it.
    [[nodiscard]] base::Result<void> relocate(const std::filesystem::path& target, std::stop_token stop,
                                              const ByteProgress& progress);

    base::FileSystem& m_files;
    const RegistryLayout m_layout;
    const Mode m_mode;
    VersionColumns m_columns;
    std::unique_ptr<ConnectionPool> m_pool;   ///< Set by open(), constant afterwards.
};

}  // namespace modulelens::registry
