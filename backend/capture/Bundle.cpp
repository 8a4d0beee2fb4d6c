// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/Bundle.h"

#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/capture/BundleFiles.h"
#include "backend/capture/BundleIndex.h"
#include "backend/capture/BundleVerification.h"
#include "backend/capture/Safetensors.h"

#include <algorithm>
#include <set>

namespace modulelens::capture {

namespace {

constexpr std::string_view kIndexName = "bundle.json";
constexpr std::string_view kIndexDigestName = "bundle.sha256";
constexpr std::string_view kArchiveSuffix = ".mlens";
constexpr std::size_t kChunkBytes = 4 * 1024 * 1024;

base::Error corrupt(const std::string& what) {
    return {base::ErrorCode::Corrupt, what, "The capture is damaged or was changed; capture the module again."};
}

std::string_view textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Exactly the named files must be there, with the named sizes.
base::Result<void> checkPresence(const BundleIndex& index, const std::map<std::string, std::uint64_t>& sizes) {
    std::set<std::string_view> named{kIndexName, kIndexDigestName};
    const std::vector<BundleFile> files = filesOf(index);
    for (const BundleFile& file : files) {
        const auto found = sizes.find(file.name);
        if (found == sizes.end()) {
            return corrupt("the bundle lacks its file '" + file.name + "'");
        }
        if (found->second != file.sizeBytes) {
            return corrupt("the file '" + file.name + "' of the bundle has " + std::to_string(found->second) +
                           " bytes instead of " + std::to_string(file.sizeBytes));
        }
        named.insert(file.name);
    }
    for (const auto& [name, size] : sizes) {
        if (!named.contains(name)) {
            return corrupt("the bundle holds the file '" + name + "', which its index does not name");
        }
    }
    return {};
}

base::Result<BundleIndex> readIndex(BundleFiles& files, const std::filesystem::path& path) {
    if (!files.sizes().contains(std::string(kIndexName))) {
        return base::Error{base::ErrorCode::NotFound, "'" + path.string() + "' is no capture bundle: it has no bundle.json",
                           "Choose a bundle folder or a .mlens file that the tracer wrote."};
    }
    if (!files.sizes().contains(std::string(kIndexDigestName))) {
        return corrupt("the bundle has no bundle.sha256");
    }
    const auto bytes = files.bytes(std::string(kIndexName));
    if (!bytes) {
        return bytes.error();
    }
    const auto digest = files.bytes(std::string(kIndexDigestName));
    if (!digest) {
        return digest.error();
    }
    auto index = parseBundleIndex(textOf(*bytes), std::string(kIndexName));
    // The form of the index first: that it is too new is worth more than that its digest differs.
    if (!index && index.error().code == base::ErrorCode::Unsupported) {
        return index.error();
    }
    if (textOf(*digest) != base::sha256Hex(*bytes) + "  bundle.json\n") {
        return corrupt("bundle.json does not match its digest in bundle.sha256");
    }
    return index;
}

}  // namespace

struct Bundle::Data {
    std::filesystem::path path;
    BundleFiles files;
    BundleIndex index;
    std::set<std::string> verified;
    std::optional<std::map<std::string, FileExtent>> tensorExtents;
};

Bundle::Bundle(std::unique_ptr<Data> data) : m_data(std::move(data)) {}

Bundle::~Bundle() = default;

base::Result<std::unique_ptr<Bundle>> Bundle::open(base::FileSystem& files, const std::filesystem::path& path) {
    const std::string where = "opening the bundle '" + path.string() + "'";
    const auto body = [&]() -> base::Result<std::unique_ptr<Bundle>> {
        auto opened = BundleFiles::open(files, path);
        if (!opened) {
            return opened.error();
        }
        auto index = readIndex(*opened, path);
        if (!index) {
            return index.error();
        }
        const auto present = checkPresence(*index, opened->sizes());
        if (!present) {
            return present.error();
        }
        auto data = std::make_unique<Data>(Data{path, std::move(*opened), std::move(*index), {}, {}});
        return std::unique_ptr<Bundle>(new Bundle(std::move(data)));
    };
    auto bundle = base::guarded(where, body);
    return bundle ? std::move(bundle) : base::Result<std::unique_ptr<Bundle>>(bundle.error().within(where));
}

const BundleIndex& Bundle::index() const {
    return m_data->index;
}

const std::filesystem::path& Bundle::path() const {
    return m_data->path;
}

base::Result<std::span<const std::byte>> Bundle::verifiedBytes(const BundleFile& file) {
    return verifiedBytes(file, [](std::uint64_t) { return true; });
}

base::Result<std::span<const std::byte>> Bundle::verifiedBytes(const BundleFile& file,
                                                               const std::function<bool(std::uint64_t)>& onChunk) {
    return base::guarded("reading '" + file.name + "'", [&]() -> base::Result<std::span<const std::byte>> {
        auto bytes = m_data->files.bytes(file.name);
        if (!bytes) {
            return bytes;
        }
        const bool isKnown = m_data->verified.contains(file.name);
        base::Sha256 sha;
        for (std::size_t done = 0; done < bytes->size();) {
            const auto chunk = bytes->subspan(done, std::min(kChunkBytes, bytes->size() - done));
            if (!isKnown) {
                sha.update(chunk);
            }
            done += chunk.size();
            if (!onChunk(chunk.size())) {
                return base::Error{base::ErrorCode::Cancelled, "reading '" + file.name + "' was cancelled", ""};
            }
        }
        if (!isKnown && (bytes->size() != file.sizeBytes || sha.finish() != file.sha256)) {
            return corrupt("the file '" + file.name + "' of the bundle does not match its digest");
        }
        m_data->verified.insert(file.name);
        return bytes;
    });
}

FileExtent Bundle::extent(const BundleFile& file) const {
    return m_data->files.extent(file.name);
}

base::Result<VersionDocument> Bundle::version(const BundleVersion& version) {
    const auto bytes = verifiedBytes(version.file);
    if (!bytes) {
        return bytes.error();
    }
    auto document = parseVersionDocument(textOf(*bytes), version.file.sha256);
    if (document &&
        (document->model != version.model || document->module != version.module || document->className != version.className)) {
        return corrupt("the index names another module than the file '" + version.file.name + "'");
    }
    return document;
}

base::Result<NodeDocument> Bundle::node(const BundleFile& file) {
    const auto bytes = verifiedBytes(file);
    if (!bytes) {
        return bytes.error();
    }
    return parseNodeDocument(textOf(*bytes), file.sha256);
}

base::Result<RunRecord> Bundle::run(const BundleFile& file) {
    const auto bytes = verifiedBytes(file);
    if (!bytes) {
        return bytes.error();
    }
    return parseRunRecord(textOf(*bytes), file.sha256);
}

base::Result<std::map<std::string, FileExtent>> Bundle::tensorExtents() {
    if (m_data->tensorExtents) {
        return *m_data->tensorExtents;
    }
    return base::guarded("reading the tensor files", [&]() -> base::Result<std::map<std::string, FileExtent>> {
        std::map<std::string, FileExtent> extents;
        for (const BundleTensorFile& file : m_data->index.tensors) {
            const auto bytes = verifiedBytes(file.file);
            if (!bytes) {
                return bytes.error();
            }
            const auto added = addTensorExtents(file, *bytes, extent(file.file), extents);
            if (!added) {
                return added.error();
            }
        }
        m_data->tensorExtents = extents;
        return extents;
    });
}

base::Result<void> Bundle::verify(std::stop_token stop, const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    return base::guarded("verifying the bundle", [&] { return verifyBundle(*this, stop, progress); });
}

base::Result<std::vector<std::filesystem::path>> findBundles(base::FileSystem&, const std::filesystem::path& path) {
    namespace fs = std::filesystem;
    return base::guarded("looking for bundles", [&]() -> base::Result<std::vector<fs::path>> {
        const fs::file_status status = fs::status(path);
        if (status.type() == fs::file_type::not_found) {
            return base::errorFromErrno(ENOENT, "open", path);
        }
        if (!fs::is_directory(status) || fs::exists(path / kIndexName)) {
            return std::vector<fs::path>{path};
        }
        std::vector<fs::path> found;
        for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
            // What a tracer is still writing, or has left when it was killed.
            if (entry.path().filename().string().starts_with('.')) {
                continue;
            }
            const bool isArchive = entry.path().extension() == kArchiveSuffix && entry.is_regular_file();
            if (isArchive || (entry.is_directory() && fs::exists(entry.path() / kIndexName))) {
                found.push_back(entry.path());
            }
        }
        if (found.empty()) {
            return base::Error{base::ErrorCode::NotFound, "'" + path.string() + "' holds no capture bundle",
                               "Choose a bundle folder, a .mlens file, or a folder of bundles that the tracer wrote."};
        }
        std::sort(found.begin(), found.end());
        return found;
    });
}

}  // namespace modulelens::capture
