// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ForeignArchive.h"

#include "backend/base/ZipWriter.h"
#include "backend/graph/ModelJson.h"
#include "backend/graph/TreeSpec.h"

namespace modulelens::graph {

namespace {

using nlohmann::json;

constexpr const char* kStem = "program/";
constexpr const char* kUnknownClass = "torch.nn.modules.module:Module";

/// Bytes of our own behind the interface of a file.
class TextFile : public base::MappedFile {
public:
    explicit TextFile(const std::string& text) : m_text(text) {}
    [[nodiscard]] std::span<const std::byte> bytes() const override { return base::bytesOf(m_text); }

private:
    const std::string& m_text;
};

template <class T>
T valueOrThrow(base::Result<T> result) {
    if (!result) {
        throw FormatError{result.error()};
    }
    return std::move(result).value();
}

/// "package.module:QualName" of export's "package.module.QualName".
std::string captureClass(const std::string& exported) {
    const std::size_t dot = exported.rfind('.');
    if (exported.empty() || exported.find(':') != std::string::npos) {
        return exported.empty() ? kUnknownClass : exported;
    }
    return dot == std::string::npos ? "__main__:" + exported : exported.substr(0, dot) + ':' + exported.substr(dot + 1);
}

/// Reads one .pt2. Throws FormatError. Confined to its thread.
class Reader {
public:
    Reader(const base::ZipReader& zip, const std::string& displayName) : m_zip(zip), m_displayName(displayName) {}

    ForeignArchive read() {
        findProgram();
        refusePickles();
        const std::string_view text = textOf("models/" + m_model + ".json");
        const std::shared_ptr<const Program> program = valueOrThrow(parseProgram(text, "models/" + m_model + ".json"));
        const json document = parseText(text, m_displayName);
        json call;
        json output;
        const json& signature = member(member(document, "graph_module"), "module_call_graph");
        const json& top = member(array(signature, "module_call_graph").at(0), "signature");
        const LeafPointers inputs = valueOrThrow(readArgumentTree(graph::text(member(top, "in_spec"), "in_spec"), call));
        const LeafPointers outputs = valueOrThrow(readOutputTree(graph::text(member(top, "out_spec"), "out_spec"), output));
        const json config = readWeights();
        const json sidecar = {
            {"schema_version", 1}, {"inputs", inputs}, {"outputs", outputs}, {"modules", modulesOf(*program, signature)}};
        m_archive.stripped = strip(text, config.dump(), sidecar.dump());
        m_archive.program =
            valueOrThrow(readProgramArchive(std::make_shared<TextFile>(m_archive.stripped), m_displayName)).program;
        m_archive.call = std::make_shared<const json>(std::move(call));
        m_archive.output = std::make_shared<const json>(std::move(output));
        return std::move(m_archive);
    }

private:
    void findProgram() {
        for (const auto& [name, entry] : m_zip.members()) {
            const std::size_t models = name.find("/models/");
            if (models == std::string::npos || !name.ends_with(".json") || name.find('/', models + 8) != std::string::npos) {
                continue;
            }
            if (!m_model.empty()) {
                failUnsupported("it holds more than one program", "Save each program into a file of its own.");
            }
            m_root = name.substr(0, models + 1);
            m_model = name.substr(models + 8, name.size() - models - 8 - 5);
        }
        if (m_model.empty()) {
            failCorrupt("it holds no program below models/");
        }
    }

    void refusePickles() {
        for (const auto& [name, entry] : m_zip.members()) {
            const std::string leaf = name.substr(name.rfind('/') + 1);
            const bool isPickled = leaf.starts_with("custom_obj_") || leaf.starts_with("opaque_obj_") ||
                                   name.starts_with(m_root + "data/weights/" + m_model + ".pt");
            if (entry.sizeBytes > 0 && isPickled) {
                failUnsupported("it holds pickled objects in its member '" + name + "'",
                                "Save it with torch 2.9 or newer, without custom objects, or capture it with the tracer.");
            }
        }
        const auto samples = m_zip.members().find(m_root + "data/sample_inputs/" + m_model + ".pt");
        if (samples != m_zip.members().end() && samples->second.sizeBytes > 0) {
            m_archive.sampleInputs = samples->second;
        }
    }

    [[nodiscard]] std::string_view textOf(const std::string& name) const {
        const auto bytes = m_zip.bytes(m_root + name);
        if (!bytes) {
            failCorrupt("the member '" + name + "' is missing");
        }
        return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
    }

    [[nodiscard]] bool has(const std::string& name) const { return m_zip.members().count(m_root + name) != 0; }

    /// Fills the weights and gives their config as stand-ins on no device.
    json readWeights() {
        json standIns = json::object();
        const std::string name = "data/weights/" + m_model + "_weights_config.json";
        if (!has(name)) {
            return {{"config", std::move(standIns)}};
        }
        const std::string_view config = textOf(name);
        const JsonTree tree = parseTree(config, m_displayName + "/" + name);
        const json document = parseText(config, m_displayName + "/" + name);
        standIns = member(document, "config");
        forEachMember(member(tree.root(), "config"), name, [&](const std::string& weight, const JsonNode& payload) {
            addWeight(weight, payload);
            json& standIn = standIns[weight];
            standIn["path_name"] = "";
            standIn["tensor_meta"]["device"] = {{"type", "meta"}, {"index", nullptr}};
        });
        return {{"config", std::move(standIns)}};
    }

    void addWeight(const std::string& name, const JsonNode& payload) {
        if (const JsonNode* pickled = findMember(payload, "use_pickle");
            pickled != nullptr && boolean(*pickled, "use_pickle")) {
            failUnsupported("its weight '" + name + "' is pickled", "Save plain tensors, or capture it with the tracer.");
        }
        ForeignWeight weight;
        weight.meta = tensorMeta(member(payload, "tensor_meta"));
        weight.isParameter = boolean(member(payload, "is_param"), "is_param");
        weight.member = graph::text(member(payload, "path_name"), "path_name");
        const auto place = m_zip.members().find(m_root + "data/weights/" + weight.member);
        if (place == m_zip.members().end()) {
            failUnsupported("it does not hold the data of its weight '" + name + "'",
                            "Save it with torch.export.save, weights included.");
        }
        weight.offset = place->second.offset;
        weight.sizeBytes = place->second.sizeBytes;
        m_archive.weights.emplace(name, std::move(weight));
    }

    /// Every module by name, containers included.
    static json modulesOf(const Program& program, const json& callGraph) {
        json modules = json::object();
        for (const json& entry : callGraph) {
            modules[graph::text(member(entry, "fqn"), "a module's name")] = kUnknownClass;
        }
        modules[""] = kUnknownClass;
        for (const Scope& scope : program.scopes) {
            modules[scope.path] = captureClass(scope.className);
        }
        return modules;
    }

    std::string strip(std::string_view model, const std::string& weights, const std::string& sidecar) {
        std::vector<base::ZipContent> contents = {
            {std::string(kStem) + "models/model.json", base::bytesOf(model)},
            {std::string(kStem) + "data/weights/model_weights_config.json", base::bytesOf(weights)},
            {std::string(kStem) + "extra/modulelens.json", base::bytesOf(sidecar)}};
        for (const auto& [name, entry] : m_zip.members()) {
            std::string inside = name.substr(m_root.size());
            const std::string config = "data/constants/" + m_model + "_constants_config.json";
            if (inside == config) {
                inside = "data/constants/model_constants_config.json";
            } else if (!inside.starts_with("data/constants/") && inside != "archive_format" && inside != "archive_version" &&
                       inside != "byteorder") {
                continue;
            }
            contents.push_back({kStem + inside, *m_zip.bytes(name)});
        }
        return valueOrThrow(base::makeZip(contents));
    }

    const base::ZipReader& m_zip;
    const std::string& m_displayName;
    std::string m_root;
    std::string m_model;
    ForeignArchive m_archive;
};

}  // namespace

base::Result<ForeignArchive> readForeignArchive(const std::shared_ptr<const base::MappedFile>& file,
                                                const std::string& displayName) {
    const auto zip = base::ZipReader::open(file, displayName);
    if (!zip) {
        return zip.error();
    }
    return readFormat("'" + displayName + "'", [&] { return Reader(*zip, displayName).read(); });
}

}  // namespace modulelens::graph
