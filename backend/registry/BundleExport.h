// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/base/Result.h"
#include "backend/registry/Registry.h"

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::registry {

struct ExportReport {
    std::vector<std::filesystem::path> bundles;   ///< Folders that were written, one for each captured model and time.
    int versions = 0;
    int files = 0;
    std::uint64_t bytesWritten = 0;
};

/// Writes versions of any registry back as capture bundles (docs/formats/bundle.md) below `folder`, which is made if need be: one for
/// each model and time of capture, marked as partial. Every digest is that of the import, and the same versions with the
/// same labels give the same bytes again. Each bundle is written beside and renamed in.
/// NotFound: an id. AlreadyExists: a bundle of that name is there. Corrupt: a document of the registry. Cancelled.
[[nodiscard]] base::Result<ExportReport> exportBundles(Registry& registry, base::FileSystem& files,
                                                       const std::vector<std::string>& ids, const std::filesystem::path& folder,
                                                       std::stop_token stop, const ByteProgress& progress);

}  // namespace modulelens::registry
