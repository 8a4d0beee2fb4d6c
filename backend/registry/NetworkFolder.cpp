// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/NetworkFolder.h"

#include <sys/vfs.h>
#include <algorithm>
#include <array>

namespace modulelens::registry {

namespace {

/// From linux/magic.h and the file systems' own headers.
constexpr std::array<std::uint64_t, 12> kNetworkKinds{
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x5346414F,  // AFS
    0x6B414653,  // kAFS
    0x00C36400,  // Ceph
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x01161970,  // GFS2
    0x7461636F,  // OCFS2
    0x73757245,  // Coda
};

}  // namespace

bool isNetworkFileSystem(std::uint64_t kind) {
    // f_type is a signed number of the machine's width; the kinds are 32 bits.
    return std::find(kNetworkKinds.begin(), kNetworkKinds.end(), kind & 0xFFFFFFFF) != kNetworkKinds.end();
}

base::Result<void> refuseNetworkFolder(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::filesystem::path existing = std::filesystem::absolute(folder, ignored);
    while (!std::filesystem::exists(existing, ignored) && existing.has_relative_path()) {
        existing = existing.parent_path();
    }
    struct statfs facts{};
    if (::statfs(existing.c_str(), &facts) != 0 || !isNetworkFileSystem(static_cast<std::uint64_t>(facts.f_type))) {
        return {};
    }
    return base::Error{
        base::ErrorCode::Unsupported,
        "The folder " + folder.string() + " lies on a network drive, where two machines at once would damage a registry.",
        "Use a folder on a disk of this machine, and share versions by `modulelens export` or a W&B registry."};
}

}  // namespace modulelens::registry
