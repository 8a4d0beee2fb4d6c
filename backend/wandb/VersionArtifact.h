// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Registry.h"
#include "backend/wandb/Publisher.h"
#include "backend/wandb/Service.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Captured versions and runs as artifacts of W&B (docs/formats/wandb.md).
namespace modulelens::wandb {

/// A version or run of a registry made ready to be published: the artifact, and what its bytes lie in.
struct ArtifactContent {
    PublishArtifact artifact;
    std::vector<std::shared_ptr<const void>> owners;   ///< Keep the bytes of artifact.files alive.
    std::vector<std::string> warnings;                 ///< Labels that W&B does not take.
};

/// Collects a version: nodes, sources, programs and tensors of its state below "state/", its document and the rest of its tensors
/// below "trace/". Tensor data is mapped, not copied. Errors of the registry.
[[nodiscard]] base::Result<ArtifactContent> collectVersion(registry::Registry& from, base::FileSystem& files,
                                                           const registry::VersionSummary& version);
/// Collects a run record.
[[nodiscard]] base::Result<ArtifactContent> collectRun(registry::Registry& from, const registry::RunSummary& run);

/// A version as a list of W&B shows it, with what queries ask for beyond the summary.
struct ListedVersion {
    registry::VersionSummary summary;
    std::vector<std::string> dtypes;
    std::int64_t parameterCount = 0;
    std::string run;                                   ///< Digest of its run record, or empty.
};

/// What the metadata of a row says. Nothing when the artifact is no version of ours (another publisher's, another schema).
[[nodiscard]] std::optional<ListedVersion> listedVersion(const VersionRow& row);
[[nodiscard]] std::optional<registry::RunSummary> listedRun(const VersionRow& row);

/// The id that a version of this collection and number has, "<collection>-v<N>", and back.
[[nodiscard]] std::string versionId(const std::string& collection, int number);
struct VersionPlace {
    std::string collection;
    int number = 0;
};
[[nodiscard]] std::optional<VersionPlace> versionPlace(const std::string& id);

/// The metadata with one attribute set, or taken away when `value` is nothing. Corrupt: it is no JSON object.
[[nodiscard]] base::Result<std::string> withAttribute(const std::string& metadata, const std::string& key,
                                                      const std::optional<registry::AttributeValue>& value);

}  // namespace modulelens::wandb
