// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/wandb/Downloader.h"
#include "backend/wandb/QueryMatch.h"
#include "backend/wandb/RowMirror.h"
#include "backend/wandb/WandbRegistry.h"

#include <chrono>

namespace modulelens::wandb {

/// What a WandbRegistry works with. Thread-safe.
struct WandbRegistry::Data {
    Data(base::FileSystem& fileSystem, RegistryAddress where, OpenOptions given);

    /// The organisation, asked for once. Without a network: the one seen before.
    [[nodiscard]] base::Result<Organization> organization();
    /// Every version that the query finds, in no order.
    [[nodiscard]] base::Result<std::vector<ListedVersion>> find(const std::string& query);
    /// The row of an id, from what was seen, else from the server.
    [[nodiscard]] base::Result<VersionRow> rowOf(const std::string& id);
    /// The row as the server has it now.
    [[nodiscard]] base::Result<VersionRow> freshRow(const std::string& id);
    [[nodiscard]] base::Result<VersionRow> rowAt(const std::string& collection, const std::string& alias);
    [[nodiscard]] base::Result<void> changeAttribute(const std::string& id, const std::string& key,
                                                     const std::optional<registry::AttributeValue>& value);
    /// After a change of a version.
    void changed(const VersionRow& row);

    /// Remembers the manifest, so that what the version holds can be found by digest.
    [[nodiscard]] base::Result<Manifest> manifestOf(const VersionRow& row);
    /// The local file whose path ends in `suffix` ("nodes/<digest>.json") in some version whose manifest is known.
    [[nodiscard]] base::Result<std::filesystem::path> fileOf(const std::string& suffix, const std::string& what);
    [[nodiscard]] base::Result<std::string> textOf(const std::string& suffix, const std::string& digest,
                                                   const std::string& what);
    [[nodiscard]] base::Result<std::optional<VersionRow>> runRow(const std::string& digest);
    [[nodiscard]] base::Result<std::map<std::string, std::filesystem::path>> fetch(const VersionRow& row,
                                                                                   const Manifest& manifest,
                                                                                   const std::vector<std::string>& paths);
    /// Notes where the tensors of a safetensors file lie.
    [[nodiscard]] base::Result<void> readTensors(const std::filesystem::path& file);
    /// Fetches files with tensors that have no file of their own until every one of `digests` is found.
    [[nodiscard]] base::Result<void> findSmallTensors(const std::vector<std::string>& digests);

    struct KnownVersion {
        VersionRow row;
        Manifest manifest;
    };
    struct Answer {
        std::vector<ListedVersion> versions;
        std::chrono::steady_clock::time_point at;
    };

    base::FileSystem& files;
    RegistryAddress address;
    OpenOptions options;
    Service service;
    Cache cache;
    Downloader downloader;
    RowMirror mirror;

    mutable base::Mutex mutex;
    std::optional<Organization> organizationKnown ML_GUARDED_BY(mutex);
    std::map<std::string, Answer> answers ML_GUARDED_BY(mutex);            ///< Of the server, by its filter.
    std::map<std::string, KnownVersion> known ML_GUARDED_BY(mutex);       ///< By version id.
    std::map<std::string, std::pair<std::string, std::string>> places ML_GUARDED_BY(mutex);  ///< Suffix to version id and path.
    std::map<std::string, registry::FileExtent> tensorPlaces ML_GUARDED_BY(mutex);
    std::string seenAt ML_GUARDED_BY(mutex);

private:
    [[nodiscard]] base::Result<std::vector<ListedVersion>> ask(const RowFilter& filter);
    [[nodiscard]] std::vector<ListedVersion> remembered();
    void loadKeptManifests();
};

/// True for an error that says that the server cannot be reached, so that what was seen before is shown.
[[nodiscard]] bool isOffline(const base::Error& error);

}  // namespace modulelens::wandb
