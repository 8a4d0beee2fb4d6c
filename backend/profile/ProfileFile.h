// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/profile/Profile.h"

#include <filesystem>
#include <memory>
#include <string>

namespace modulelens::profile {

/// Writes `profile` as a safetensors file (docs/formats/profile.md). Blocks on disk; the file must not exist.
[[nodiscard]] base::Result<void> writeProfile(base::FileSystem& files, const std::filesystem::path& path,
                                              const Profile& profile);

/// Reads a profile file. Corrupt: not the documented form (columns of the wrong length, parents out of order, string offsets
/// out of range). Unsupported: newer schema version. Blocks on disk.
[[nodiscard]] base::Result<std::shared_ptr<const Profile>> readProfile(base::FileSystem& files,
                                                                       const std::filesystem::path& path);

}  // namespace modulelens::profile
