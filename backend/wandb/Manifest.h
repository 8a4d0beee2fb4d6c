// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace modulelens::wandb {

enum class DigestAlgorithm { Md5, Xxh128 };

/// A file of an artifact.
struct ManifestEntry {
    std::string digest;                ///< Base64 of 16 bytes; of a reference whatever its server calls it.
    DigestAlgorithm algorithm = DigestAlgorithm::Md5;
    std::uint64_t sizeBytes = 0;
    std::string birthArtifact;         ///< Id of the artifact that brought the content first, or empty.
    std::string reference;             ///< Address of content that W&B does not store; else empty.
};

/// What an artifact holds, by path.
struct Manifest {
    std::map<std::string, ManifestEntry> entries;      ///< In the order of bytes, which is the order of code points.
    std::string storageRegion;                         ///< Empty: the default one.
};

/// Parses wandb_manifest.json. Unknown keys are ignored.
/// Corrupt: not the documented form, a path that leaves its folder, a digest that is none. Unsupported: another version or policy.
[[nodiscard]] base::Result<Manifest> parseManifest(std::string_view text);

/// The manifest as the server stores it.
[[nodiscard]] std::string writeManifest(const Manifest& manifest);

/// Lower-case hex digest over all paths and digests: what names the artifact's content.
[[nodiscard]] std::string manifestDigest(const Manifest& manifest, DigestAlgorithm algorithm);

}  // namespace modulelens::wandb
