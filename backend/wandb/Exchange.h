// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Registry.h"
#include "backend/wandb/WandbRegistry.h"

#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::wandb {

/// A version that was published.
struct PublishedVersion {
    registry::VersionSummary from;             ///< As the local registry has it.
    std::string id;                            ///< In the team's registry.
    int number = 0;                            ///< Likewise.
    bool wasThere = false;
};

struct PublishReport {
    std::vector<PublishedVersion> versions;
    int runs = 0;                              ///< Run records that were new.
    std::uint64_t bytesSent = 0;
    std::uint64_t bytesKnown = 0;              ///< Of files that the server had already.
    std::vector<std::string> warnings;
};

/// Publishes versions of `from` and the runs that they were captured in. What the server has is not sent again. A version is
/// in the report only when it is visible in the registry. With the `seed` of a publication that was interrupted, it goes on with that.
/// NotFound: a version. Errors of Publisher. On an error the versions before it stay published.
[[nodiscard]] base::Result<PublishReport> publishVersions(registry::Registry& from, base::FileSystem& files,
                                                          const std::vector<std::string>& addressesOrIds, WandbRegistry& to,
                                                          const std::string& seed, std::stop_token stop,
                                                          const http::ByteProgress& progress);

/// Brings versions of a team's registry into a local one, verified in every digest. What is there is not fetched again.
/// Errors of Registry::resolve, of downloads, of the import.
[[nodiscard]] base::Result<registry::ImportReport> fetchVersions(WandbRegistry& from,
                                                                 const std::vector<std::string>& addressesOrIds,
                                                                 registry::LocalRegistry& to, base::FileSystem& files,
                                                                 std::stop_token stop, const registry::ByteProgress& progress);

/// A publication that was asked for and is not yet complete.
struct QueuedPublication {
    std::string seed;                          ///< Names it.
    std::string address;                       ///< Of the team's registry.
    std::string registryFolder;                ///< Of the local one.
    std::vector<std::string> versions;         ///< Ids in the local registry.
    std::string created;                       ///< UTC.
};

/// Publications that wait, in the cache's folder, so that they go on after an interruption or without a network. Thread-safe.
class PublishQueue {
public:
    /// `cache` outlives this.
    explicit PublishQueue(Cache& cache) : m_cache(cache) {}

    /// Keeps a publication before anything is sent; fills in `seed` and `created`.
    [[nodiscard]] base::Result<QueuedPublication> add(QueuedPublication publication);
    [[nodiscard]] base::Result<void> remove(const std::string& seed);
    /// The oldest first. What cannot be read is left out.
    [[nodiscard]] std::vector<QueuedPublication> all();

private:
    Cache& m_cache;
};

}  // namespace modulelens::wandb
