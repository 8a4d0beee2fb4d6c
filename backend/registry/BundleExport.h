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

/// Where the files of versions come from: a registry, or what is left of one. Errors as of Registry's functions of these names.
class BundleSource {
public:
    virtual ~BundleSource() = default;
    [[nodiscard]] virtual base::Result<std::string> versionText(const VersionSummary& version) = 0;
    [[nodiscard]] virtual base::Result<std::string> nodeText(const std::string& digest) = 0;
    [[nodiscard]] virtual base::Result<std::string> source(const std::string& digest) = 0;
    [[nodiscard]] virtual base::Result<FileExtent> program(const std::string& digest) = 0;
    [[nodiscard]] virtual base::Result<std::map<std::string, FileExtent>> tensors(const std::vector<std::string>& digests) = 0;
    /// Digest of the run that the version was captured in. Unsupported: it is not there.
    [[nodiscard]] virtual base::Result<std::string> runOf(const VersionSummary& version) = 0;
    [[nodiscard]] virtual base::Result<std::string> runText(const std::string& digest) = 0;
};

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

/// The same for versions whose summaries are known: at least names, class, labels, digest and time of capture.
[[nodiscard]] base::Result<ExportReport> writeBundles(BundleSource& source, base::FileSystem& files,
                                                      const std::vector<VersionSummary>& versions,
                                                      const std::filesystem::path& folder, std::stop_token stop,
                                                      const ByteProgress& progress);

}  // namespace modulelens::registry
