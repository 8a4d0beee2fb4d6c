// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Manifest.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/base/Digest.h"
#include "backend/capture/JsonView.h"

namespace modulelens::wandb {

namespace {

constexpr const char* kDocument = "wandb_manifest.json";
constexpr const char* kPolicy = "wandb-storage-policy-v1";
constexpr std::string_view kDigestHead = "wandb-artifact-manifest-v1\n";

[[noreturn]] void refuse(base::ErrorCode code, const std::string& what) {
    throw capture::DocumentError{
        {code, std::string(kDocument) + ": " + what, "The artifact was not made by ModuleLens, or it is damaged."}};
}

/// Rules beyond those of relative names: a colon would name a drive or a stream on some systems.
void checkPath(const std::string& path) {
    if (const auto fit = base::checkRelativeName(path, kDocument); !fit) {
        throw capture::DocumentError{fit.error()};
    }
    if (path.find(':') != std::string::npos) {
        refuse(base::ErrorCode::Corrupt, "the path '" + path + "' holds a colon");
    }
}

ManifestEntry readEntry(const std::string& path, const capture::JsonView& view) {
    ManifestEntry entry;
    entry.digest = view.at("digest").string();
    entry.reference = view.stringOr("ref", "");
    entry.birthArtifact = view.stringOr("birthArtifactID", "");
    if (const auto size = view.optionalInteger("size")) {
        if (*size < 0) {
            refuse(base::ErrorCode::Corrupt, "'" + path + "' has a negative size");
        }
        entry.sizeBytes = static_cast<std::uint64_t>(*size);
    } else if (entry.reference.empty()) {
        refuse(base::ErrorCode::Corrupt, "'" + path + "' has no size");
    }
    if (const auto extra = view.find("extra"); extra && extra->stringOr("alg", "") == "XXH128") {
        entry.algorithm = DigestAlgorithm::Xxh128;
    }
    const auto bytes = base::bytesOfBase64(entry.digest);
    if (entry.reference.empty() && (!bytes || bytes->size() != 16)) {
        refuse(base::ErrorCode::Corrupt, "'" + path + "' has a digest that is none");
    }
    return entry;
}

template <class Hash>
std::string digestOver(const Manifest& manifest) {
    Hash hash;
    hash.update(kDigestHead);
    for (const auto& [path, entry] : manifest.entries) {
        hash.update(path + ':' + entry.digest + '\n');
    }
    return base::hexOf(hash.finishBytes());
}

}  // namespace

base::Result<Manifest> parseManifest(std::string_view text) {
    return capture::readDocument(kDocument, [&] {
        const nlohmann::json json = capture::parseJson(text, kDocument);
        const capture::JsonView view(json, kDocument);
        if (view.at("version").integer() != 1 || view.at("storagePolicy").string() != kPolicy) {
            refuse(base::ErrorCode::Unsupported, "a manifest of another version or storage policy");
        }
        Manifest manifest;
        if (const auto config = view.find("storagePolicyConfig")) {
            manifest.storageRegion = config->stringOr("storageRegion", "");
        }
        view.at("contents").forEachMember([&](const std::string& path, const capture::JsonView& entry) {
            checkPath(path);
            manifest.entries.emplace(path, readEntry(path, entry));
        });
        return manifest;
    });
}

std::string writeManifest(const Manifest& manifest) {
    nlohmann::ordered_json contents = nlohmann::ordered_json::object();
    for (const auto& [path, entry] : manifest.entries) {
        nlohmann::ordered_json item = {{"digest", entry.digest}, {"size", entry.sizeBytes}};
        if (!entry.birthArtifact.empty()) {
            item["birthArtifactID"] = entry.birthArtifact;
        }
        contents[path] = std::move(item);
    }
    const nlohmann::ordered_json document = {{"version", 1},
                                             {"storagePolicy", kPolicy},
                                             {"storagePolicyConfig", {{"storageLayout", "V2"}}},
                                             {"contents", std::move(contents)}};
    return document.dump();
}

std::string manifestDigest(const Manifest& manifest, DigestAlgorithm algorithm) {
    return algorithm == DigestAlgorithm::Md5 ? digestOver<base::Md5>(manifest) : digestOver<base::Xxh128>(manifest);
}

}  // namespace modulelens::wandb
