// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/operations/Operations.h"
#include "backend/registry/FileLock.h"

#include <filesystem>
#include <string>

namespace modulelens::operations {

/// The right to measure on a device: one measurement at a time, over all processes of the user. The operating system takes it
/// back when the process ends, however it ends. Confined to its thread.
class DeviceLock {
public:
    /// Waits for its turn, telling the progress stage "waiting for the device". Cancelled: stop was asked. Timeout: the context's
    /// limit, or half an hour without one; the message says who measures. PermissionDenied, StorageFull: the lock file cannot
    /// be made.
    [[nodiscard]] static base::Result<DeviceLock> acquire(const std::string& device, const OperationContext& context);
    /// The same in a folder of the caller's choice, which is created when absent.
    [[nodiscard]] static base::Result<DeviceLock> acquireIn(const std::filesystem::path& folder, const std::string& device,
                                                            const OperationContext& context);

private:
    explicit DeviceLock(registry::FileLock lock) : m_lock(std::move(lock)) {}

    registry::FileLock m_lock;
};

/// "modulelens" in XDG_RUNTIME_DIR, else "modulelens-<user id>" in the folder for temporary files.
[[nodiscard]] std::filesystem::path deviceLockFolder();

} // namespace modulelens::operations
