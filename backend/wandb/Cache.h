// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/base/Mutex.h"
#include "backend/base/Result.h"
#include "backend/wandb/Manifest.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace modulelens::wandb {

/// What a cache holds.
struct CacheReport {
    std::filesystem::path folder;
    std::int64_t files = 0;
    std::uint64_t sizeBytes = 0;
    std::uint64_t limitBytes = 0;
};

/// Downloaded files by the digest of their content (docs/formats/wandb.md), and small documents by name. Several processes
/// may use one cache. Files that this process was given are not removed by trim(). Thread-safe; blocks on disk.
class Cache {
public:
    /// `folder` is made when first written to.
    Cache(base::FileSystem& files, std::filesystem::path folder, std::uint64_t limitBytes);

    [[nodiscard]] const std::filesystem::path& folder() const { return m_folder; }
    [[nodiscard]] base::FileSystem& fileSystem() const { return m_files; }

    /// The file with this content when it is there, with the right size; it counts as used now.
    [[nodiscard]] std::optional<std::filesystem::path> find(const ManifestEntry& entry);
    /// Where a download of this content is collected until it is complete, so that a later one goes on with it. Makes the folder.
    [[nodiscard]] base::Result<std::filesystem::path> partPath(const ManifestEntry& entry);
    /// Verifies size and digest of a complete download, makes it durable and takes it in. Corrupt: another content; it is removed.
    [[nodiscard]] base::Result<std::filesystem::path> accept(const std::filesystem::path& part, const ManifestEntry& entry);

    /// A document kept under `name` (a relative path), or nothing.
    [[nodiscard]] std::optional<std::string> document(const std::string& name);
    /// Replaces a document, whole or not at all.
    [[nodiscard]] base::Result<void> keepDocument(const std::string& name, const std::string& text);
    [[nodiscard]] base::Result<void> removeDocument(const std::string& name);

    [[nodiscard]] CacheReport report() const;
    /// Removes files, the longest unused first, until no more than the limit is left, and downloads left behind for a week.
    void trim();
    /// Removes every downloaded file and kept document. Files in use stay readable to those who have them open.
    [[nodiscard]] base::Result<void> clear();

private:
    [[nodiscard]] std::filesystem::path pathOf(const ManifestEntry& entry) const;

    base::FileSystem& m_files;
    const std::filesystem::path m_folder;
    const std::uint64_t m_limitBytes;
    base::Mutex m_mutex;
    std::set<std::filesystem::path> m_given ML_GUARDED_BY(m_mutex);
};

/// MODULELENS_CACHE, else "modulelens/wandb" under XDG_CACHE_HOME, else ~/.cache. Empty when none of these is set.
[[nodiscard]] std::filesystem::path defaultCacheFolder();
/// MODULELENS_CACHE_LIMIT in bytes with an optional K, M, G or T (powers of 1000), else 50 GB.
[[nodiscard]] std::uint64_t defaultCacheLimit();

}  // namespace modulelens::wandb
