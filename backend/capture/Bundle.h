// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/base/Result.h"
#include "backend/capture/NodeDocument.h"
#include "backend/capture/RunRecord.h"
#include "backend/capture/VersionDocument.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace modulelens::capture {

/// A file that a bundle's index names.
struct BundleFile {
    std::string name;
    std::string sha256;
    std::uint64_t sizeBytes = 0;
};

struct BundleTensorFile {
    BundleFile file;
    std::vector<std::string> keys;       ///< Tensor digests.
};

struct BundleVersion {
    BundleFile file;
    std::string collection;
    std::string model;
    std::string module;
    std::string className;
    int run = 0;
};

/// The ranks of a job whose captures a bundle holds.
struct BundleRanks {
    struct Missing {
        int rank = 0;
        std::string reason;
    };
    std::string capture;                 ///< The same in the bundles of all ranks of one traced block.
    int worldSize = 0;
    std::optional<int> partOf;           ///< The rank whose part this bundle is; none when its modules are whole.
    std::vector<int> merged;
    std::vector<Missing> missing;
};

using AttributeValue = std::variant<std::string, double, bool>;

/// The parsed bundle.json.
struct BundleIndex {
    std::string sha256;                  ///< Of bundle.json.
    std::string created;
    std::string model;
    bool complete = true;
    std::string incompleteReason;
    bool isPartial = false;              ///< Its runs may name versions that it does not hold.
    std::vector<std::string> tags;
    std::map<std::string, AttributeValue> attributes;
    std::vector<BundleFile> runs;
    std::vector<BundleVersion> versions;
    std::vector<BundleFile> nodes;
    std::vector<BundleFile> programs;
    std::vector<BundleFile> sources;
    std::vector<BundleTensorFile> tensors;
    std::shared_ptr<const nlohmann::json> environment;
    std::optional<BundleRanks> ranks;    ///< None when one process was captured.
};

/// Where bytes lie in a file of this machine.
struct FileExtent {
    std::filesystem::path file;
    std::uint64_t offset = 0;
    std::uint64_t sizeBytes = 0;
};

/// A capture bundle opened read-only, from a folder or a .mlens file. Files are mapped when first asked for.
/// Externally synchronised.
class Bundle {
public:
    /// Opens `path` and verifies the index (bundle.sha256, schema, names, that exactly the named files are there with
    /// the named sizes), not yet the content. Blocks on disk.
    /// NotFound: no such folder or file, or no bundle.json in it. Corrupt, Unsupported: as docs/formats/bundle.md says.
    [[nodiscard]] static base::Result<std::unique_ptr<Bundle>> open(base::FileSystem& files, const std::filesystem::path& path);
    ~Bundle();

    [[nodiscard]] const BundleIndex& index() const;
    [[nodiscard]] const std::filesystem::path& path() const;

    /// Bytes of a file that the index names, verified against its sha256; valid as long as the bundle. Corrupt: changed.
    [[nodiscard]] base::Result<std::span<const std::byte>> verifiedBytes(const BundleFile& file);
    /// The same, with `onChunk(bytes)` called after every 4 MiB and at the end; Cancelled when it answers false.
    [[nodiscard]] base::Result<std::span<const std::byte>> verifiedBytes(const BundleFile& file,
                                                                         const std::function<bool(std::uint64_t)>& onChunk);
    /// Where the file's bytes lie: the file itself in a folder, the member's extent in a .mlens.
    [[nodiscard]] FileExtent extent(const BundleFile& file) const;

    [[nodiscard]] base::Result<VersionDocument> version(const BundleVersion& version);
    [[nodiscard]] base::Result<NodeDocument> node(const BundleFile& file);
    [[nodiscard]] base::Result<RunRecord> run(const BundleFile& file);

    /// Where each tensor's data lies, from the headers of the tensor files (verified). Corrupt: a key that the index does not
    /// list, or one listed that is missing.
    [[nodiscard]] base::Result<std::map<std::string, FileExtent>> tensorExtents();

    /// Reads everything once: every sha256, every tensor digest against its references' dtype and stored shape, that every
    /// reference (node, program, source, tensor, version of a run) is in the bundle, and that programs hold no pickle.
    /// `progress` receives bytes done and in all, at most every 4 MiB. Cancelled when `stop` is asked.
    [[nodiscard]] base::Result<void> verify(std::stop_token stop,
                                            const std::function<void(std::uint64_t, std::uint64_t)>& progress);

private:
    struct Data;
    explicit Bundle(std::unique_ptr<Data> data);
    std::unique_ptr<Data> m_data;
};

/// The bundles that `path` stands for: itself when it is a bundle folder or a .mlens, else every bundle directly inside the
/// folder, sorted by name. NotFound: none.
[[nodiscard]] base::Result<std::vector<std::filesystem::path>> findBundles(base::FileSystem& files,
                                                                           const std::filesystem::path& path);

/// Corrupt: `bytes` are not the data that `reference` names by its digest; the fix says how to find what is damaged.
[[nodiscard]] base::Result<void> checkTensorData(const TensorReference& reference, std::span<const std::byte> bytes);

/// Digest of tensor data by the rule of docs/formats/bundle.md.
[[nodiscard]] std::string tensorDigest(ScalarType dtype, std::span<const std::int64_t> storedShape,
                                       std::span<const std::byte> bytes);

}  // namespace modulelens::capture
