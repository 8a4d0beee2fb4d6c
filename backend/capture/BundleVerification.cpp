// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/BundleVerification.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/base/Digest.h"
#include "backend/base/ZipReader.h"
#include "backend/capture/JsonView.h"
#include "backend/capture/Safetensors.h"

#include <algorithm>
#include <set>

namespace modulelens::capture {

namespace {

constexpr std::size_t kChunkBytes = 4 * 1024 * 1024;

[[noreturn]] void failCorrupt(const std::string& what) {
    throw DocumentError{{base::ErrorCode::Corrupt, what, "The capture is damaged or was changed; capture the module again."}};
}

template <class T>
T valueOrThrow(base::Result<T> result) {
    if (!result) {
        throw DocumentError{result.error()};
    }
    return std::move(*result);
}

std::string digestPrefix(ScalarType dtype, std::span<const std::int64_t> storedShape) {
    std::string text(scalarTypeName(dtype));
    text.push_back(':');
    for (std::size_t i = 0; i < storedShape.size(); ++i) {
        text += (i == 0 ? "" : ",") + std::to_string(storedShape[i]);
    }
    text.push_back(':');
    return text;
}

struct BytesKeeper : base::MappedFile {
    explicit BytesKeeper(std::span<const std::byte> all) : m_bytes(all) {}
    [[nodiscard]] std::span<const std::byte> bytes() const override { return m_bytes; }

private:
    std::span<const std::byte> m_bytes;
};

/// One verification. Throws DocumentError. Confined to its thread.
class Verifier {
public:
    Verifier(Bundle& bundle, const std::stop_token& stop, const std::function<void(std::uint64_t, std::uint64_t)>& progress)
        : m_bundle(bundle), m_index(bundle.index()), m_stop(stop), m_progress(progress) {}

    void run() {
        countBytes();
        checkDocuments();
        checkTensors();
        checkPrograms();
        for (const BundleFile& file : m_index.sources) {
            (void)read(file);
        }
    }

private:
    void countBytes() {
        const auto add = [&](const BundleFile& file) { m_allBytes += file.sizeBytes; };
        for (const auto* list : {&m_index.runs, &m_index.nodes, &m_index.programs, &m_index.sources}) {
            std::for_each(list->begin(), list->end(), add);
        }
        for (const BundleVersion& version : m_index.versions) {
            add(version.file);
        }
        for (const BundleTensorFile& file : m_index.tensors) {
            m_allBytes += 2 * file.file.sizeBytes;  // Once as a file, once tensor by tensor.
        }
    }

    /// Reports progress. False: the caller asked to stop.
    [[nodiscard]] bool proceed(std::uint64_t bytes) {
        m_doneBytes += bytes;
        m_unreportedBytes += bytes;
        if (m_progress && m_unreportedBytes >= kChunkBytes) {
            m_unreportedBytes = 0;
            m_progress(std::min(m_doneBytes, m_allBytes), m_allBytes);
        }
        return !m_stop.stop_requested();
    }

    void advance(std::uint64_t bytes) {
        if (!proceed(bytes)) {
            throw DocumentError{{base::ErrorCode::Cancelled, "the verification was cancelled", ""}};
        }
    }

    std::string hash(base::Sha256 sha, std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto chunk = bytes.first(std::min(bytes.size(), kChunkBytes));
            sha.update(chunk);
            bytes = bytes.subspan(chunk.size());
            advance(chunk.size());
        }
        return sha.finish();
    }

    std::span<const std::byte> read(const BundleFile& file) {
        return valueOrThrow(m_bundle.verifiedBytes(file, [&](std::uint64_t bytes) { return proceed(bytes); }));
    }

    void addReferences(const std::vector<TensorReference>& references, const std::string& from) {
        for (const TensorReference& tensor : references) {
            const std::string prefix = digestPrefix(tensor.dtype, tensor.storedShape);
            const auto [known, isNew] = m_prefixes.emplace(tensor.digest, prefix);
            if (!isNew && known->second != prefix) {
                failCorrupt("'" + from + "' describes the tensor " + tensor.digest + " in another way than other files do");
            }
            m_storedBytes[tensor.digest] = static_cast<std::uint64_t>(tensor.storedBytes());
        }
    }

    static void require(const std::set<std::string>& known, const std::string& digest, const char* what,
                        const std::string& from) {
        if (!digest.empty() && !known.contains(digest)) {
            failCorrupt("'" + from + "' refers to the " + what + " " + digest + ", which the bundle does not hold");
        }
    }

    static std::set<std::string> digestsOf(const std::vector<BundleFile>& files) {
        std::set<std::string> digests;
        for (const BundleFile& file : files) {
            digests.insert(file.sha256);
        }
        return digests;
    }

    void checkDocuments() {
        const std::set<std::string> nodes = digestsOf(m_index.nodes);
        const std::set<std::string> programs = digestsOf(m_index.programs);
        const std::set<std::string> sources = digestsOf(m_index.sources);
        std::map<std::string, std::size_t> callCounts;
        for (const BundleVersion& entry : m_index.versions) {
            advance(entry.file.sizeBytes);
            const VersionDocument version = valueOrThrow(m_bundle.version(entry));
            require(nodes, version.stateDigest, "node", entry.file.name);
            for (const ProgramReference& program : version.programs) {
                require(programs, program.digest, "program", entry.file.name);
            }
            for (const CallDocument& call : version.calls) {
                require(programs, call.program, "program", entry.file.name);
                require(nodes, call.node, "node", entry.file.name);
            }
            callCounts[version.digest] = version.calls.size();
            addReferences(version.references, entry.file.name);
        }
        for (const BundleFile& file : m_index.nodes) {
            advance(file.sizeBytes);
            const NodeDocument node = valueOrThrow(m_bundle.node(file));
            for (const auto& [name, child] : node.children) {
                require(nodes, child, "node", file.name);
            }
            require(sources, node.source, "source", file.name);
            addReferences(node.references, file.name);
        }
        for (const BundleFile& file : m_index.runs) {
            advance(file.sizeBytes);
            const RunRecord run = valueOrThrow(m_bundle.run(file));
            for (const RunCall& call : run.calls) {
                if (call.version.empty()) {
                    continue;
                }
                const auto version = callCounts.find(call.version);
                if (version == callCounts.end() && m_index.isPartial) {
                    continue;
                }
                if (version == callCounts.end() || static_cast<std::size_t>(call.versionCall) >= version->second) {
                    failCorrupt("'" + file.name + "' refers to a version or a call that the bundle does not hold");
                }
            }
        }
    }

    void checkTensors() {
        std::set<std::string> known;
        for (const BundleTensorFile& file : m_index.tensors) {
            const auto bytes = read(file.file);
            const SafetensorsHeader header = valueOrThrow(readSafetensorsHeader(bytes, file.file.name));
            for (const auto& [key, entry] : header.entries) {
                checkTensor(key, entry, bytes, file.file.name);
                known.insert(key);
            }
        }
        (void)valueOrThrow(m_bundle.tensorExtents());
        for (const auto& [digest, prefix] : m_prefixes) {
            require(known, digest, "tensor", "the bundle");
        }
    }

    void checkTensor(const std::string& key, const SafetensorsEntry& entry, std::span<const std::byte> file,
                     const std::string& fileName) {
        const auto referenced = m_prefixes.find(key);
        std::string prefix;
        if (referenced != m_prefixes.end()) {
            prefix = referenced->second;
            if (m_storedBytes[key] != entry.sizeBytes) {
                failCorrupt("the tensor " + key + " in '" + fileName + "' has another size than its references say");
            }
        } else {
            prefix = prefixOfUnreferenced(key, entry, fileName);
        }
        const auto bytes = file.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.sizeBytes));
        base::Sha256 sha;
        sha.update(prefix);
        if (hash(std::move(sha), bytes) != key) {
            failCorrupt("the tensor " + key + " in '" + fileName + "' does not match its digest");
        }
    }

    /// A tensor that nothing refers to must still be what its key says: a registry stores it under that key.
    static std::string prefixOfUnreferenced(const std::string& key, const SafetensorsEntry& entry,
                                            const std::string& fileName) {
        for (int i = 0; i <= static_cast<int>(ScalarType::Bits16); ++i) {
            const auto type = static_cast<ScalarType>(i);
            if (safetensorsDtype(std::string(scalarTypeName(type))) == entry.dtype && entry.dtype != "U8") {
                return digestPrefix(type, entry.shape);
            }
        }
        if (entry.dtype == "U8") {
            return digestPrefix(ScalarType::UInt8, entry.shape);
        }
        failCorrupt("nothing in the bundle refers to the tensor " + key + " in '" + fileName + "'");
    }

    void checkPrograms() {
        for (const BundleFile& file : m_index.programs) {
            const auto bytes = read(file);
            // Others are imported as they are, and read only with consent for their digest.
            if (!file.name.ends_with(".pt2")) {
                continue;
            }
            const auto archive = valueOrThrow(base::ZipReader::open(std::make_shared<BytesKeeper>(bytes), file.name));
            const auto safe = base::checkArchiveHoldsNoPickle(archive, file.name);
            if (!safe) {
                throw DocumentError{safe.error()};
            }
        }
    }

    Bundle& m_bundle;
    const BundleIndex& m_index;
    const std::stop_token& m_stop;
    const std::function<void(std::uint64_t, std::uint64_t)>& m_progress;
    std::uint64_t m_allBytes = 0;
    std::uint64_t m_doneBytes = 0;
    std::uint64_t m_unreportedBytes = 0;
    std::map<std::string, std::string> m_prefixes;     ///< By tensor digest: the text that its digest begins with.
    std::map<std::string, std::uint64_t> m_storedBytes;
};

}  // namespace

base::Result<void> verifyBundle(Bundle& bundle, const std::stop_token& stop,
                                const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    try {
        Verifier(bundle, stop, progress).run();
        return {};
    } catch (const DocumentError& error) {
        return error.error;
    }
}

base::Result<void> addTensorExtents(const BundleTensorFile& file, std::span<const std::byte> bytes, const FileExtent& place,
                                    std::map<std::string, FileExtent>& extents) {
    const auto header = readSafetensorsHeader(bytes, file.file.name);
    if (!header) {
        return header.error();
    }
    const auto corrupt = [&](const std::string& what) {
        return base::Error{base::ErrorCode::Corrupt, "the tensor file '" + file.file.name + "' " + what,
                           "The capture is damaged or was changed; capture the module again."};
    };
    const std::set<std::string> listed(file.keys.begin(), file.keys.end());
    for (const auto& [key, entry] : header->entries) {
        if (!listed.contains(key)) {
            return corrupt("holds a tensor that the index does not list");
        }
        if (!extents.emplace(key, FileExtent{place.file, place.offset + entry.offset, entry.sizeBytes}).second) {
            return corrupt("holds a tensor that another file holds too");
        }
    }
    if (listed.size() != header->entries.size() || listed.size() != file.keys.size()) {
        return corrupt("lacks a tensor that the index lists");
    }
    return {};
}

std::string tensorDigest(ScalarType dtype, std::span<const std::int64_t> storedShape, std::span<const std::byte> bytes) {
    base::Sha256 sha;
    sha.update(digestPrefix(dtype, storedShape));
    sha.update(bytes);
    return sha.finish();
}

base::Result<void> checkTensorData(const TensorReference& reference, std::span<const std::byte> bytes) {
    if (tensorDigest(reference.dtype, reference.storedShape, bytes) == reference.digest) {
        return {};
    }
    return base::Error{base::ErrorCode::Corrupt,
                       "the data of tensor " + reference.digest.substr(0, 12) + " is damaged: it is not what was captured",
                       "Run `modulelens registry verify`, which names the damaged files, or capture the module again."};
}

}  // namespace modulelens::capture
