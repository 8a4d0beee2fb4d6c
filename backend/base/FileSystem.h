// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::base {

/// Error for a failed system call on `path`: ENOSPC, EDQUOT -> StorageFull; EACCES, EPERM, EROFS -> PermissionDenied;
/// ENOENT, ENOTDIR -> NotFound; EEXIST -> AlreadyExists; ENOMEM -> OutOfMemory; EIO and the rest -> Internal.
[[nodiscard]] Error errorFromErrno(int errorNumber, std::string_view doing, const std::filesystem::path& path);

/// A file being written. Confined to its thread. Destruction without close() leaves whatever reached the disk.
class WritableFile {
public:
    virtual ~WritableFile() = default;
    /// Appends all of `bytes` or fails (StorageFull, Internal); after a failure the content is undefined.
    [[nodiscard]] virtual Result<void> append(std::span<const std::byte> bytes) = 0;
    /// Returns when the data is on stable storage.
    [[nodiscard]] virtual Result<void> sync() = 0;
    [[nodiscard]] virtual Result<void> close() = 0;
};

/// A whole file mapped read-only. Immutable after construction; the bytes live as long as the object.
class MappedFile {
public:
    virtual ~MappedFile() = default;
    [[nodiscard]] virtual std::span<const std::byte> bytes() const = 0;
};

/// The `sizeBytes` bytes of `file` from `offset` on as a file of their own, which keeps `file` alive.
/// Corrupt: the range leaves the file.
[[nodiscard]] Result<std::shared_ptr<const MappedFile>> sliceOf(std::shared_ptr<const MappedFile> file, std::uint64_t offset,
                                                                std::uint64_t sizeBytes);

/// The operating system's files behind one interface, so that tests can make any call fail
/// (tests/support/FaultyFileSystem.h). Every function blocks on disk. Thread-safe.
class FileSystem {
public:
    virtual ~FileSystem() = default;

    /// Creates `path`; AlreadyExists when it is there.
    [[nodiscard]] virtual Result<std::unique_ptr<WritableFile>> create(const std::filesystem::path& path) = 0;
    [[nodiscard]] virtual Result<std::shared_ptr<const MappedFile>> map(const std::filesystem::path& path) = 0;
    /// Whole content; InvalidArgument when the file is larger than `limitBytes`.
    [[nodiscard]] virtual Result<std::string> read(const std::filesystem::path& path, std::uint64_t limitBytes) = 0;
    [[nodiscard]] virtual Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
    /// Not an error when `path` is absent. A folder is removed with all it holds.
    [[nodiscard]] virtual Result<void> remove(const std::filesystem::path& path) = 0;
    /// Size of the regular file `path`; InvalidArgument when it is a folder or a special file.
    [[nodiscard]] virtual Result<std::uint64_t> sizeBytes(const std::filesystem::path& path) = 0;
    /// Creates `path` and its parents; not an error when present.
    [[nodiscard]] virtual Result<void> createDirectories(const std::filesystem::path& path) = 0;
    /// Makes renames and creations in `directory` durable.
    [[nodiscard]] virtual Result<void> syncDirectory(const std::filesystem::path& directory) = 0;
    /// Relative paths of all regular files below `directory`, sorted, "/" between parts; symbolic links are refused
    /// (InvalidArgument names the first).
    [[nodiscard]] virtual Result<std::vector<std::string>> listFiles(const std::filesystem::path& directory) = 0;
};

/// The real file system, one instance for the process.
[[nodiscard]] FileSystem& realFileSystem();

}  // namespace modulelens::base
