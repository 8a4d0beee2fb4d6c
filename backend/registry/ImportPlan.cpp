// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/ImportPlan.h"

#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/registry/NameFolding.h"
#include "backend/registry/TextPosition.h"
#include "backend/registry/Timestamp.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace modulelens::registry {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxLabelCharacters = 128;

base::Error corrupt(const capture::Bundle& bundle, const std::string& what) {
    return {base::ErrorCode::Corrupt, "The bundle " + bundle.path().string() + " is damaged: " + what + ".",
            "Capture it again."};
}

base::Result<std::int64_t> timeOf(const capture::Bundle& bundle, const std::string& text, const std::string& where) {
    const std::optional<TimeSpan> span = parseTimeSpan(text);
    if (!span) {
        return corrupt(bundle, where + " '" + text + "' is not a UTC time");
    }
    return span->from;
}

/// A string below `json`, or empty.
std::string textAt(const json& object, const char* key) {
    const auto found = object.find(key);
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Tensors and nodes that encoded values name, at any depth.
void collectReferences(const json& root, PlannedObject& object) {
    std::vector<const json*> open{&root};
    while (!open.empty()) {
        const json& value = *open.back();
        open.pop_back();
        if (!value.is_structured()) {
            continue;
        }
        if (value.is_object()) {
            const std::string type = textAt(value, "$t");
            const std::string tensor = textAt(value, "ref");
            const std::string node = textAt(value, "node");
            // Parts of sparse and quantized tensors stand without a tag.
            if ((type == "tensor" || type.empty()) && base::isLowerHex(tensor, 64)) {
                object.tensors.insert(tensor);
            } else if (type == "module" && base::isLowerHex(node, 64)) {
                object.children.insert(node);
            }
        }
        for (const json& child : value) {
            open.push_back(&child);
        }
    }
}

void addTensors(const std::map<std::string, std::optional<capture::TensorReference>>& references, PlannedObject& object) {
    for (const auto& [name, reference] : references) {
        if (reference && !reference->digest.empty()) {
            object.tensors.insert(reference->digest);
        }
    }
}

void addDtypes(const std::vector<capture::LocatedTensor>& tensors, std::set<std::string>& dtypes) {
    for (const capture::LocatedTensor& located : tensors) {
        dtypes.emplace(scalarTypeName(located.tensor.dtype));
    }
}

/// Reads one bundle into a plan. Confined to its thread.
class Planner {
public:
    explicit Planner(capture::Bundle& bundle) : m_bundle(bundle), m_index(bundle.index()) {}

    base::Result<ImportPlan> plan();

private:
    base::Result<void> planTensors();
    base::Result<void> planNodes();
    base::Result<void> planRuns();
    base::Result<void> planVersion(const capture::BundleVersion& entry);
    void planLabels();
    void addObjects(const std::vector<capture::BundleFile>& files, const char* kind);
    void keepKnownReferences();
    [[nodiscard]] const std::set<std::string>& tensorsBelow(const std::string& node);

    capture::Bundle& m_bundle;
    const capture::BundleIndex& m_index;
    ImportPlan m_plan;
    std::map<std::string, std::set<std::string>> m_tensorsBelow;   ///< By node digest.
};

base::Result<ImportPlan> Planner::plan() {
    m_plan.bundleDigest = m_index.sha256;
    m_plan.incompleteReason = m_index.complete ? std::string() : m_index.incompleteReason;
    base::Result<std::int64_t> created = timeOf(m_bundle, m_index.created, "bundle.json: created");
    if (!created) {
        return created.error();
    }
    m_plan.created = *created;
    planLabels();
    addObjects(m_index.programs, "program");
    addObjects(m_index.sources, "source");
    base::Result<void> done = planTensors();
    if (done) {
        done = planNodes();
    }
    if (done) {
        done = planRuns();
    }
    for (auto entry = m_index.versions.begin(); done && entry != m_index.versions.end(); ++entry) {
        done = planVersion(*entry);
    }
    if (!done) {
        return done.error();
    }
    keepKnownReferences();
    return std::move(m_plan);
}

void Planner::planLabels() {
    for (const std::string& tag : m_index.tags) {
        if (const base::Result<void> fit = checkLabel(tag, "tag"); fit) {
            m_plan.tags.push_back(tag);
        } else {
            m_plan.warnings.push_back(fit.error().message);
        }
    }
    for (const auto& [key, value] : m_index.attributes) {
        if (const base::Result<void> fit = checkLabel(key, "attribute name"); fit) {
            m_plan.attributes.emplace(key, value);
        } else {
            m_plan.warnings.push_back(fit.error().message);
        }
    }
}

void Planner::addObjects(const std::vector<capture::BundleFile>& files, const char* kind) {
    for (const capture::BundleFile& file : files) {
        m_plan.objects.emplace(file.sha256, PlannedObject{file.sha256, kind, file, {}, {}});
    }
}

base::Result<void> Planner::planTensors() {
    for (const capture::BundleTensorFile& tensorFile : m_index.tensors) {
        const base::Result<std::span<const std::byte>> bytes = m_bundle.verifiedBytes(tensorFile.file);
        if (!bytes) {
            return bytes.error();
        }
        const base::Result<capture::SafetensorsHeader> header = capture::readSafetensorsHeader(*bytes, tensorFile.file.name);
        if (!header) {
            return header.error();
        }
        for (const auto& [key, entry] : header->entries) {
            if (!base::isLowerHex(key, 64)) {
                return corrupt(m_bundle, tensorFile.file.name + " has the key '" + key + "', which is no digest");
            }
            m_plan.tensors.try_emplace(
                key, capture::SafetensorsInput{key, entry.dtype, entry.shape, bytes->subspan(entry.offset, entry.sizeBytes)});
        }
    }
    return {};
}

base::Result<void> Planner::planNodes() {
    addObjects(m_index.nodes, "node");
    for (const capture::BundleFile& file : m_index.nodes) {
        const base::Result<capture::NodeDocument> node = m_bundle.node(file);
        if (!node) {
            return node.error();
        }
        PlannedObject& object = m_plan.objects.at(file.sha256);
        addTensors(node->parameters, object);
        addTensors(node->buffers, object);
        for (const auto& [name, child] : node->children) {
            if (!child.empty()) {
                object.children.insert(child);
            }
        }
        if (!node->source.empty()) {
            object.children.insert(node->source);
        }
        for (const auto& values : {node->init, node->attributes}) {
            if (values) {
                collectReferences(*values, object);
            }
        }
    }
    return {};
}

base::Result<void> Planner::planRuns() {
    addObjects(m_index.runs, "run");
    for (const capture::BundleFile& file : m_index.runs) {
        const base::Result<capture::RunRecord> record = m_bundle.run(file);
        if (!record) {
            return record.error();
        }
        const base::Result<std::int64_t> started = timeOf(m_bundle, record->started, file.name + ": started");
        if (!started) {
            return started.error();
        }
        m_plan.runs.push_back({record->digest, record->model, capture::runCollectionId(record->model), record->step, *started,
                               static_cast<std::int64_t>(record->calls.size())});
    }
    return {};
}

base::Result<void> Planner::planVersion(const capture::BundleVersion& entry) {
    const base::Result<capture::VersionDocument> document = m_bundle.version(entry);
    if (!document) {
        return document.error();
    }
    if (capture::collectionId(document->model, document->module) != document->collection) {
        return corrupt(m_bundle, entry.file.name + " names a collection that is not that of its model and module");
    }
    PlannedVersion version;
    version.digest = document->digest;
    version.collection = document->collection;
    version.model = document->model;
    version.module = document->module;
    version.className = document->className;
    version.stateDigest = document->stateDigest;
    version.noProgramReason = document->noProgramReason;
    version.parameterBytes = document->parameterBytes;
    version.parameterCount = document->parameterCount;
    version.callCount = static_cast<std::int64_t>(document->calls.size());
    version.run = static_cast<std::size_t>(std::max(entry.run, 0));
    if (document->environment) {
        version.device = textAt(*document->environment, "device");
        version.torchVersion = textAt(*document->environment, "torch");
    }
    std::string stateParts = "node " + version.stateDigest + "\n";
    for (const capture::ProgramReference& program : document->programs) {
        version.programs.push_back(program.digest);
        stateParts += "program " + program.digest + "\n";
    }
    version.stateArtifact = base::sha256Hex(stateParts);
    for (const auto& [name, tensor] : document->stateTensors) {
        version.dtypes.emplace(scalarTypeName(tensor.tensor.dtype));
    }
    for (const capture::CallDocument& call : document->calls) {
        addDtypes(call.inputs, version.dtypes);
        addDtypes(call.outputs, version.dtypes);
    }
    PlannedObject object{document->digest, "version", entry.file, {}, {}};
    for (const capture::CallDocument& call : document->calls) {
        if (!call.node.empty()) {
            object.children.insert(call.node);
        }
    }
    const std::set<std::string>& held = tensorsBelow(version.stateDigest);
    for (const std::string& tensor : document->tensorDigests()) {
        if (!held.contains(tensor)) {
            object.tensors.insert(tensor);
        }
    }
    m_plan.objects.emplace(object.digest, std::move(object));
    m_plan.versions.push_back(std::move(version));
    return {};
}

const std::set<std::string>& Planner::tensorsBelow(const std::string& node) {
    const auto known = m_tensorsBelow.find(node);
    if (known != m_tensorsBelow.end()) {
        return known->second;
    }
    std::set<std::string> tensors;
    std::set<std::string> seen;
    std::vector<std::string> open{node};
    while (!open.empty()) {
        const std::string digest = std::move(open.back());
        open.pop_back();
        const auto object = m_plan.objects.find(digest);
        if (object == m_plan.objects.end() || !seen.insert(digest).second) {
            continue;
        }
        tensors.insert(object->second.tensors.begin(), object->second.tensors.end());
        open.insert(open.end(), object->second.children.begin(), object->second.children.end());
    }
    return m_tensorsBelow.emplace(node, std::move(tensors)).first->second;
}

/// Values inside attributes may name what a bundle left out as a gap; only what is there can be referred to.
void Planner::keepKnownReferences() {
    for (auto& [digest, object] : m_plan.objects) {
        std::erase_if(object.children, [&](const std::string& child) { return !m_plan.objects.contains(child); });
        std::erase_if(object.tensors, [&](const std::string& tensor) { return !m_plan.tensors.contains(tensor); });
    }
}

}  // namespace

base::Result<ImportPlan> planImport(capture::Bundle& bundle) {
    return base::guarded("reading the bundle " + bundle.path().string(), [&] { return Planner(bundle).plan(); });
}

std::set<std::string> nodesNamedIn(const capture::NodeDocument& node) {
    PlannedObject object;
    for (const auto& values : {node.init, node.attributes}) {
        if (values) {
            collectReferences(*values, object);
        }
    }
    return std::move(object.children);
}

base::Result<void> checkLabel(const std::string& name, const std::string& what) {
    const auto refuse = [&](const std::string& why) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "The " + what + " '" + name.substr(0, kMaxLabelCharacters) + "' " + why + ".",
                           "Choose another " + what + "."};
    };
    if (name.empty()) {
        return base::Error{base::ErrorCode::InvalidArgument, "The " + what + " is empty.", "Write at least one character."};
    }
    std::size_t characters = 0;
    for (std::size_t i = 0; i < name.size(); ++characters) {
        const CodePoint point = decodeUtf8(name, i);
        if (!point.valid) {
            return refuse("is not valid UTF-8");
        }
        const bool control = point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0);
        if (control) {
            return base::Error{base::ErrorCode::InvalidArgument, "The " + what + " holds a control character.",
                               "Choose another " + what + "."};
        }
        i += point.sizeBytes;
    }
    if (name.front() == ' ' || name.back() == ' ') {
        return refuse("begins or ends with a space");
    }
    if (characters > kMaxLabelCharacters) {
        return refuse("is longer than 128 characters");
    }
    return {};
}

}  // namespace modulelens::registry
