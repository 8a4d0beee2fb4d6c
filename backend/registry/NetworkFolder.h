// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstdint>
#include <filesystem>

namespace modulelens::registry {

/// True for the kinds of file systems (statfs, f_type) that several machines share: NFS, SMB, AFS, Ceph, Lustre, GPFS, GFS2, OCFS2, Coda.
[[nodiscard]] bool isNetworkFileSystem(std::uint64_t kind);

/// Unsupported when `folder`, or the nearest parent that exists, lies on one of them: SQLite's write-ahead log needs memory that all
/// processes share, so that two machines would damage the registry.
[[nodiscard]] base::Result<void> refuseNetworkFolder(const std::filesystem::path& folder);

}  // namespace modulelens::registry
