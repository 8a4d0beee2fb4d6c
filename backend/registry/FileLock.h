// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>

namespace modulelens::registry {

/// An exclusive lock between processes, and between threads of one, on a file that is created if need be. The operating system
/// lets go of it when the process ends, however it ends. Confined to its thread.
class FileLock {
public:
    /// Waits for the lock. Cancelled: `stop` was asked. Timeout: `patience` is over. PermissionDenied, StorageFull: the file
    /// cannot be made.
    [[nodiscard]] static base::Result<FileLock> acquire(const std::filesystem::path& path, std::stop_token stop,
                                                        std::chrono::milliseconds patience);
    /// Nothing when somebody else holds it.
    [[nodiscard]] static base::Result<std::optional<FileLock>> tryAcquire(const std::filesystem::path& path);

    ~FileLock();
    FileLock(FileLock&& other) noexcept;
    FileLock& operator=(FileLock&& other) noexcept;
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    explicit FileLock(int descriptor) : m_descriptor(descriptor) {}

    int m_descriptor = -1;
};

}  // namespace modulelens::registry
