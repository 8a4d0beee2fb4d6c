// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/VersionArtifact.h"

#include "backend/base/Digest.h"
#include "backend/capture/JsonView.h"
#include "backend/capture/Safetensors.h"
#include "backend/wandb/Names.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace modulelens::wandb {

namespace {

using capture::JsonView;
using nlohmann::json;
using registry::AttributeValue;
using registry::VersionSummary;

/// Tensors from this size on have a file of their own, so that versions and modules that share them share the file.
constexpr std::uint64_t kOwnFileBytes = 1 << 20;
constexpr const char* kVersionSchema = "modulelens.version";
constexpr const char* kRunSchema = "modulelens.run";

template <class T>
T valueOrThrow(base::Result<T> result) {
    if (!result) {
        throw capture::DocumentError{result.error()};
    }
    return std::move(*result);
}

/// Nodes that encoded values name, at any depth.
void collectModules(const json& root, std::vector<std::string>& nodes) {
    std::vector<const json*> open{&root};
    while (!open.empty()) {
        const json& value = *open.back();
        open.pop_back();
        if (value.is_object()) {
            const auto type = value.find("$t");
            const auto node = value.find("node");
            if (type != value.end() && *type == "module" && node != value.end() && node->is_string()) {
                nodes.push_back(node->get<std::string>());
            }
        }
        if (value.is_structured()) {
            for (const json& child : value) {
                open.push_back(&child);
            }
        }
    }
}

/// Collects one version. Throws DocumentError. Confined to its thread.
class Collector {
public:
    Collector(registry::Registry& from, base::FileSystem& files, const VersionSummary& version)
        : m_from(from), m_files(files), m_version(version) {}

    ArtifactContent collect() {
        const std::string text = valueOrThrow(m_from.versionText(m_version.id));
        m_document = valueOrThrow(capture::parseVersionDocument(text, m_version.versionDigest));
        addText("trace/versions/" + m_version.versionDigest + ".json", text);
        addNodes({m_document.stateDigest}, "state/", true);
        for (const capture::ProgramReference& program : m_document.programs) {
            addProgram(program.digest);
        }
        std::vector<std::string> ofCalls;
        for (const capture::CallDocument& call : m_document.calls) {
            if (!call.node.empty()) {
                ofCalls.push_back(call.node);
            }
            if (call.json) {
                collectModules(*call.json, m_optional);
            }
        }
        std::map<std::string, capture::TensorReference> stateTensors = std::exchange(m_tensors, {});
        for (const auto& [name, tensor] : m_document.stateTensors) {
            if (!tensor.tensor.digest.empty()) {
                stateTensors.emplace(tensor.tensor.digest, tensor.tensor);
            }
        }
        addNodes(ofCalls, "trace/", true);
        while (!m_optional.empty()) {
            addNodes(std::exchange(m_optional, {}), "trace/", false);
        }
        addReferences(m_document.references);
        for (const auto& [digest, tensor] : stateTensors) {
            m_tensors.erase(digest);
        }
        addTensors(stateTensors, "state/tensors/");
        addTensors(m_tensors, "trace/tensors/");
        m_content.artifact.collection = m_document.collection;
        m_content.artifact.type = "module";
        m_content.artifact.description = m_document.model + (m_document.module.empty() ? "" : ", module " + m_document.module);
        m_content.artifact.metadata = metadata();
        addLabels();
        return std::move(m_content);
    }

private:
    void addText(const std::string& path, std::string text) {
        auto kept = std::make_shared<const std::string>(std::move(text));
        m_content.artifact.files[path].pieces = {std::as_bytes(std::span(*kept))};
        m_content.owners.push_back(std::move(kept));
    }

    /// Bytes of an extent, mapped once for each file.
    std::span<const std::byte> bytesOf(const registry::FileExtent& extent) {
        auto& mapped = m_maps[extent.file];
        if (!mapped) {
            mapped = valueOrThrow(m_files.map(extent.file));
            m_content.owners.push_back(mapped);
        }
        const auto bytes = mapped->bytes();
        if (extent.offset > bytes.size() || extent.sizeBytes > bytes.size() - extent.offset) {
            throw capture::DocumentError{{base::ErrorCode::Corrupt,
                                          "'" + extent.file.string() + "' is shorter than the registry says.",
                                          "Check the registry."}};
        }
        return bytes.subspan(static_cast<std::size_t>(extent.offset), static_cast<std::size_t>(extent.sizeBytes));
    }

    void addProgram(const std::string& digest) {
        const registry::FileExtent extent = valueOrThrow(m_from.program(digest));
        // Programs of foreign files keep the suffix that says so.
        std::string suffix = ".pt2";
        for (const capture::ProgramReference& program : m_document.programs) {
            if (program.digest == digest && (program.how == "torchscript" || program.how == "aotinductor")) {
                suffix = "." + program.how;
            }
        }
        m_content.artifact.files["state/programs/" + digest + suffix].pieces = {bytesOf(extent)};
    }

    void addReferences(const std::vector<capture::TensorReference>& references) {
        for (const capture::TensorReference& tensor : references) {
            m_tensors.emplace(tensor.digest, tensor);
        }
    }

    /// Adds nodes and what they name. Nodes of values may be missing: a capture leaves some out as gaps.
    void addNodes(std::vector<std::string> open, const std::string& folder, bool isRequired) {
        while (!open.empty()) {
            const std::string digest = std::move(open.back());
            open.pop_back();
            if (!m_nodes.insert(digest).second) {
                continue;
            }
            const base::Result<std::string> text = m_from.nodeText(digest);
            if (!text && !isRequired && text.error().code == base::ErrorCode::NotFound) {
                continue;
            }
            const std::string read = valueOrThrow(text);
            const capture::NodeDocument node = valueOrThrow(capture::parseNodeDocument(read, digest));
            addText(folder + "nodes/" + digest + ".json", read);
            if (!node.source.empty() && m_sources.insert(node.source).second) {
                addText(folder + "sources/" + node.source + ".py", valueOrThrow(m_from.source(node.source)));
            }
            addReferences(node.references);
            for (const auto& [name, child] : node.children) {
                if (!child.empty()) {
                    open.push_back(child);
                }
            }
            for (const auto& values : {node.init, node.attributes}) {
                if (values) {
                    collectModules(*values, m_optional);
                }
            }
        }
    }

    void addTensors(const std::map<std::string, capture::TensorReference>& tensors, const std::string& folder) {
        std::vector<std::string> digests;
        digests.reserve(tensors.size());
        for (const auto& [digest, tensor] : tensors) {
            digests.push_back(digest);
        }
        const auto extents = valueOrThrow(m_from.tensors(digests));
        std::vector<capture::SafetensorsInput> small;
        base::Sha256 smallNames;
        for (const auto& [digest, tensor] : tensors) {
            const auto bytes = bytesOf(extents.at(digest));
            const std::string dtype = capture::safetensorsDtype(std::string(capture::scalarTypeName(tensor.dtype)));
            const bool isPlain = dtype != "U8" || tensor.dtype == capture::ScalarType::UInt8;
            const std::vector<std::int64_t> shape =
                isPlain ? tensor.storedShape : std::vector<std::int64_t>{static_cast<std::int64_t>(bytes.size())};
            capture::SafetensorsInput input{digest, dtype, shape, bytes};
            if (bytes.size() >= kOwnFileBytes) {
                addSafetensors(folder + digest + ".safetensors", {input});
            } else {
                smallNames.update(digest);
                small.push_back(std::move(input));
            }
        }
        if (!small.empty()) {
            addSafetensors(folder + "small-" + smallNames.finish().substr(0, 16) + ".safetensors", small);
        }
    }

    void addSafetensors(const std::string& path, const std::vector<capture::SafetensorsInput>& tensors) {
        capture::SafetensorsPieces laidOut = valueOrThrow(capture::layOutSafetensors(tensors, {}));
        m_content.artifact.files[path].pieces = std::move(laidOut.pieces);
        m_content.owners.push_back(std::move(laidOut.head));
    }

    std::string metadata() {
        std::set<std::string> dtypes;
        for (const auto& [name, tensor] : m_document.stateTensors) {
            dtypes.emplace(capture::scalarTypeName(tensor.tensor.dtype));
        }
        for (const capture::CallDocument& call : m_document.calls) {
            for (const auto* list : {&call.inputs, &call.outputs}) {
                for (const capture::LocatedTensor& located : *list) {
                    dtypes.emplace(capture::scalarTypeName(located.tensor.dtype));
                }
            }
        }
        const auto run = valueOrThrow(m_from.runOf(m_version.id));
        json attributes = json::object();
        for (const auto& [key, value] : m_version.attributes) {
            std::visit([&, &name = key](const auto& held) { attributes[name] = held; }, value);
        }
        const json document = {{"schema", kVersionSchema},
                               {"schema_version", 1},
                               {"model_name", m_document.model},
                               {"module_name", m_document.module},
                               {"class", m_document.className},
                               {"version_digest", m_document.digest},
                               {"state_digest", m_document.stateDigest},
                               {"program", m_document.programs.empty() ? "" : m_document.programs.front().digest},
                               {"no_program_reason", m_document.noProgramReason},
                               {"captured", m_version.created},
                               {"device", m_version.device},
                               {"torch", m_version.torchVersion},
                               {"parameter_bytes", m_document.parameterBytes},
                               {"parameter_count", m_document.parameterCount},
                               {"call_count", m_document.calls.size()},
                               {"dtypes", dtypes},
                               {"run_digest", run ? run->digest : ""},
                               {"attributes", std::move(attributes)}};
        return document.dump(-1, ' ', false, json::error_handler_t::replace);
    }

    void addLabels() {
        for (const std::string& tag : m_version.tags) {
            if (checkTag(tag)) {
                m_content.artifact.tags.push_back(tag);
            } else {
                m_content.warnings.push_back("W&B takes no tag '" + tag + "'; it was left out.");
            }
        }
        for (const std::string& alias : m_version.aliases) {
            if (alias == "latest") {
                continue;
            }
            if (checkAlias(alias)) {
                m_content.artifact.aliases.push_back(alias);
            } else {
                m_content.warnings.push_back("W&B takes no alias '" + alias + "'; it was left out.");
            }
        }
    }

    registry::Registry& m_from;
    base::FileSystem& m_files;
    const VersionSummary& m_version;
    capture::VersionDocument m_document;
    ArtifactContent m_content;
    std::map<std::filesystem::path, std::shared_ptr<const base::MappedFile>> m_maps;
    std::set<std::string> m_nodes;
    std::set<std::string> m_sources;
    std::vector<std::string> m_optional;                       ///< Nodes that values name.
    std::map<std::string, capture::TensorReference> m_tensors; ///< Seen since it was last emptied.
};

/// A row's metadata when it is of this schema, else null.
json metadataOf(const VersionRow& row, const char* schema) {
    json metadata = json::parse(row.metadata, nullptr, false);
    if (!metadata.is_object() || !row.isAvailable || metadata.value("schema", json()) != schema ||
        metadata.value("schema_version", json()) != 1) {
        return {};
    }
    return metadata;
}

std::string textOf(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t numberOf(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::map<std::string, AttributeValue> attributesOf(const json& metadata) {
    std::map<std::string, AttributeValue> attributes;
    const auto found = metadata.find("attributes");
    if (found == metadata.end() || !found->is_object()) {
        return attributes;
    }
    for (const auto& [key, value] : found->items()) {
        if (value.is_string()) {
            attributes[key] = value.get<std::string>();
        } else if (value.is_boolean()) {
            attributes[key] = value.get<bool>();
        } else if (value.is_number()) {
            attributes[key] = value.get<double>();
        }
    }
    return attributes;
}

}  // namespace

base::Result<ArtifactContent> collectVersion(registry::Registry& from, base::FileSystem& files, const VersionSummary& version) {
    return capture::readDocument("collecting " + version.id, [&] { return Collector(from, files, version).collect(); });
}

base::Result<ArtifactContent> collectRun(registry::Registry& from, const registry::RunSummary& run) {
    base::Result<std::string> text = from.runText(run.digest);
    if (!text) {
        return text.error();
    }
    ArtifactContent content;
    auto kept = std::make_shared<const std::string>(*std::move(text));
    content.artifact.collection = capture::runCollectionId(run.model);
    content.artifact.type = "run-record";
    content.artifact.files["runs/" + run.digest + ".json"].pieces = {std::as_bytes(std::span(*kept))};
    content.owners.push_back(std::move(kept));
    const json metadata = {{"schema", kRunSchema},       {"schema_version", 1}, {"model_name", run.model},
                           {"run_digest", run.digest},   {"step", run.step},    {"started", run.started},
                           {"call_count", run.callCount}};
    content.artifact.metadata = metadata.dump(-1, ' ', false, json::error_handler_t::replace);
    return content;
}

std::optional<ListedVersion> listedVersion(const VersionRow& row) {
    const json metadata = metadataOf(row, kVersionSchema);
    if (metadata.is_null() || !base::isLowerHex(textOf(metadata, "version_digest"), 64) ||
        capture::collectionId(textOf(metadata, "model_name"), textOf(metadata, "module_name")) != row.place.collection) {
        return std::nullopt;
    }
    ListedVersion listed;
    VersionSummary& summary = listed.summary;
    summary.id = versionId(row.place.collection, row.number);
    summary.model = textOf(metadata, "model_name");
    summary.module = textOf(metadata, "module_name");
    summary.className = textOf(metadata, "class");
    summary.number = row.number;
    summary.tags = row.tags;
    std::sort(summary.tags.begin(), summary.tags.end());
    summary.aliases = row.aliases;
    std::erase_if(summary.aliases, [&](const std::string& alias) { return alias == "v" + std::to_string(row.number); });
    summary.attributes = attributesOf(metadata);
    summary.program = textOf(metadata, "program");
    summary.noProgramReason = textOf(metadata, "no_program_reason");
    summary.created = textOf(metadata, "captured");
    summary.imported = row.linked;
    summary.device = textOf(metadata, "device");
    summary.torchVersion = textOf(metadata, "torch");
    summary.parameterBytes = numberOf(metadata, "parameter_bytes");
    summary.callCount = static_cast<int>(std::clamp<std::int64_t>(numberOf(metadata, "call_count"), 0, 1'000'000'000));
    summary.versionDigest = textOf(metadata, "version_digest");
    summary.stateDigest = textOf(metadata, "state_digest");
    listed.parameterCount = numberOf(metadata, "parameter_count");
    listed.run = textOf(metadata, "run_digest");
    if (const auto dtypes = metadata.find("dtypes"); dtypes != metadata.end() && dtypes->is_array()) {
        for (const json& dtype : *dtypes) {
            if (dtype.is_string()) {
                listed.dtypes.push_back(dtype.get<std::string>());
            }
        }
    }
    return listed;
}

std::optional<registry::RunSummary> listedRun(const VersionRow& row) {
    const json metadata = metadataOf(row, kRunSchema);
    if (metadata.is_null() || !base::isLowerHex(textOf(metadata, "run_digest"), 64)) {
        return std::nullopt;
    }
    registry::RunSummary run;
    run.id = versionId(row.place.collection, row.number);
    run.model = textOf(metadata, "model_name");
    run.collection = row.place.collection;
    run.step = numberOf(metadata, "step");
    run.started = textOf(metadata, "started");
    run.digest = textOf(metadata, "run_digest");
    run.callCount = numberOf(metadata, "call_count");
    return run;
}

std::string versionId(const std::string& collection, int number) {
    return collection + "-v" + std::to_string(number);
}

std::optional<VersionPlace> versionPlace(const std::string& id) {
    const std::size_t at = id.rfind("-v");
    VersionPlace place;
    if (at == std::string::npos || !base::isLowerHex(id.substr(0, at), 32)) {
        return std::nullopt;
    }
    const auto [end, error] = std::from_chars(id.data() + at + 2, id.data() + id.size(), place.number);
    if (error != std::errc() || end != id.data() + id.size() || place.number < 0) {
        return std::nullopt;
    }
    place.collection = id.substr(0, at);
    return place;
}

base::Result<std::string> withAttribute(const std::string& metadata, const std::string& key,
                                        const std::optional<AttributeValue>& value) {
    json document = json::parse(metadata, nullptr, false);
    if (!document.is_object()) {
        return base::Error{base::ErrorCode::Corrupt, "The version's metadata at W&B is no JSON object.", ""};
    }
    json attributes =
        document.contains("attributes") && document["attributes"].is_object() ? document["attributes"] : json::object();
    if (value) {
        std::visit([&](const auto& held) { attributes[key] = held; }, *value);
    } else {
        attributes.erase(key);
    }
    document["attributes"] = std::move(attributes);
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace modulelens::wandb
