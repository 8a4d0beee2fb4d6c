// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <filesystem>
#include <memory>

namespace modulelens::workerclient {

/// A folder `modulelens-worker-XXXXXX` for the files of one client. It is locked while its owner lives, so that the next
/// start can tell what a killed client left. Removed with everything in it by the destructor. Confined to its thread.
class ScratchFolder {
public:
    /// Makes one in `parent`, which is created when absent, and removes those there whose owner is gone.
    /// `parent` empty: the system's folder for temporary files. PermissionDenied or StorageFull: it cannot be written.
    [[nodiscard]] static base::Result<std::unique_ptr<ScratchFolder>> create(std::filesystem::path parent);
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

private:
    ScratchFolder(std::filesystem::path path, int lock) : m_path(std::move(path)), m_lock(lock) {}

    std::filesystem::path m_path;
    int m_lock;
};

} // namespace modulelens::workerclient
