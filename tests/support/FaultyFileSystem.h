// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace modulelens::test {

enum class FileOperation {
    Create,
    Append,
    Sync,
    Close,
    Map,
    Read,
    Rename,
    Remove,
    SizeBytes,
    CreateDirectories,
    SyncDirectory,
    ListFiles,
};

/// A file system whose calls fail on demand, on top of a real one, which must outlive it. Files that it created must be
/// gone before it. Thread-safe.
class FaultyFileSystem : public base::FileSystem {
public:
    explicit FaultyFileSystem(base::FileSystem& inner = base::realFileSystem());
    ~FaultyFileSystem() override;

    /// The call of `operation` that comes after `skipped` good ones, and every later one, fails with `errorNumber`.
    void failFrom(FileOperation operation, int skipped, int errorNumber);
    /// The same over all operations that change the disk, counted together: walking `skipped` from 0 until nothing
    /// fails visits every point at which a program can be stopped.
    void failChangesFrom(int skipped, int errorNumber);
    /// The disk holds `capacityBytes` more: the append that passes them writes what fits and fails with ENOSPC.
    void limitCapacity(std::uint64_t capacityBytes);
    /// sync() answers success but does nothing.
    void loseSyncs();
    /// Takes all faults back. Counters start again.
    void heal();
    /// What a power cut leaves: every file loses what was appended after its last sync() that was not lost.
    void loseUnsyncedBytes();
    /// Calls that change the disk since the start or heal().
    [[nodiscard]] int changes() const;

    base::Result<std::unique_ptr<base::WritableFile>> create(const std::filesystem::path& path) override;
    base::Result<std::shared_ptr<const base::MappedFile>> map(const std::filesystem::path& path) override;
    base::Result<std::string> read(const std::filesystem::path& path, std::uint64_t limitBytes) override;
    base::Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
    base::Result<void> remove(const std::filesystem::path& path) override;
    base::Result<std::uint64_t> sizeBytes(const std::filesystem::path& path) override;
    base::Result<void> createDirectories(const std::filesystem::path& path) override;
    base::Result<void> syncDirectory(const std::filesystem::path& directory) override;
    base::Result<std::vector<std::string>> listFiles(const std::filesystem::path& directory) override;

private:
    class File;
    struct Fault {
        int skipped = 0;
        int errorNumber = 0;
    };

    /// Counts one call; the error when it is to fail.
    std::optional<base::Error> next(FileOperation operation, const std::filesystem::path& path);

    base::FileSystem& m_inner;
    mutable std::mutex m_mutex;
    std::map<FileOperation, Fault> m_faults;
    std::map<FileOperation, int> m_calls;
    std::optional<Fault> m_changeFault;
    int m_changes = 0;
    std::optional<std::uint64_t> m_capacityBytes;
    bool m_losesSyncs = false;
    std::map<std::filesystem::path, std::uint64_t> m_syncedBytes;
};

}  // namespace modulelens::test
