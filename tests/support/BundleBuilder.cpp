// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/BundleBuilder.h"

#include "backend/base/Digest.h"
#include "backend/base/FileSystem.h"
#include "backend/capture/Safetensors.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace modulelens::test {

namespace {

using nlohmann::json;

void require(bool condition, const char* what) {
    if (!condition) {
        std::fprintf(stderr, "BundleBuilder: %s\n", what);
        std::abort();
    }
}

void writeText(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

std::string readText(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Collects the files of one bundle.
struct Contents {
    std::filesystem::path folder;
    std::map<std::string, std::pair<std::string, std::vector<float>>> tensors;   ///< Digest -> dtype, values.

    json reference(const std::string& dtype, const std::vector<float>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        const std::string head = dtype + ":" + std::to_string(values.size()) + ":";
        base::Sha256 digest;
        digest.update(head);
        digest.update(bytes);
        const std::string key = digest.finish();
        tensors.emplace(key, std::pair(dtype, values));
        return {{"$t", "tensor"}, {"dtype", dtype}, {"shape", {values.size()}}, {"ref", key}};
    }

    std::string store(const std::string& kind, const std::string& text, const std::string& suffix) const {
        const std::string digest = base::sha256Hex(text);
        writeText(folder / kind / (digest + suffix), text);
        return digest;
    }
};

json fileEntry(const std::filesystem::path& folder, const std::string& name, const char* digestKey) {
    const std::string text = readText(folder / name);
    return {{"file", name}, {digestKey, base::sha256Hex(text)}, {"size", text.size()}};
}

json environment(const std::string& device) {
    return {{"torch", "2.13.0"},
            {"cpu", {{"capability", "AVX2"}}},
            {"device", device},
            {"threads", {{"intra_op", 1}, {"inter_op", 1}}},
            {"float32_matmul_precision", "highest"}};
}

json nodeDocument(const BuiltModule& module, const json& weight, const std::string& source,
                  const std::map<std::string, std::string>& nodes) {
    json children = json::object();
    for (const std::string& child : module.children) {
        children[child] = nodes.at(child);
    }
    return {{"schema", "modulelens.node"},
            {"schema_version", 1},
            {"class", module.className},
            {"runtime_class", nullptr},
            {"training", false},
            {"init", {{"how", "captured"}, {"args", json::array({1})}, {"kwargs", json::object()}, {"missing", json::array()}}},
            {"attributes", {{"scale", weight}}},
            {"parameters", {{"weight", weight}}},
            {"buffers", json::object()},
            {"non_persistent", json::array()},
            {"children", children},
            {"source", source}};
}

json versionDocument(const std::string& model, const BuiltModule& module, const json& weight, const std::string& node,
                     const json& input, const json& output) {
    json state = weight;
    state.update(
        {{"kind", "parameter"}, {"parameter", true}, {"requires_grad", true}, {"obj", 0}, {"storage", 0}, {"offset", 0}});
    json call = {{"method", "forward"},
                 {"training", false},
                 {"grad_mode", false},
                 {"inference_mode", false},
                 {"autocast", nullptr},
                 {"args", json::array({input})},
                 {"kwargs", json::object()},
                 {"output", output},
                 {"exception", nullptr},
                 {"mutated", json::object()},
                 {"state_before", json::object()},
                 {"state_after", json::object()},
                 {"rng", nullptr},
                 {"program", nullptr}};
    return {{"schema", "modulelens.version"},
            {"schema_version", 1},
            {"model", model},
            {"module", module.name},
            {"aliases", json::array()},
            {"class", module.className},
            {"collection", capture::collectionId(model, module.name)},
            {"state",
             {{"node", node},
              {"tensors", {{"weight", state}}},
              {"parameter_bytes", 4 * module.weight.size()},
              {"parameter_count", module.weight.size()},
              {"programs", json::array()},
              {"no_program", {{"reason", "synthetic"}, {"source", ""}}}}},
            {"environment", environment(module.device)},
            {"calls", json::array({call})}};
}

json runDocument(const BundleBuilder& builder, const std::string& model, const std::vector<std::string>& versions) {
    json calls = json::array();
    for (std::size_t i = 0; i < builder.modules.size(); ++i) {
        const BuiltModule& module = builder.modules[i];
        const json shape = {{"path", "/args/0"}, {"dtype", module.inputDtype}, {"shape", {module.input.size()}}};
        const json outputShape = {{"path", "/output"}, {"dtype", "float32"}, {"shape", {module.input.size()}}};
        calls.push_back({{"id", i},
                         {"parent", i == 0 ? json(nullptr) : json(0)},
                         {"module", module.name},
                         {"class", module.className},
                         {"call", 0},
                         {"method", "forward"},
                         {"inputs", json::array({shape})},
                         {"outputs", json::array({outputShape})},
                         {"parameter_bytes", 4 * module.weight.size()},
                         {"own_parameter_bytes", 4 * module.weight.size()},
                         {"start_ns", 1000 * i},
                         {"host_ns", 500},
                         {"version", versions[i]},
                         {"version_call", 0},
                         {"exception", nullptr}});
    }
    return {{"schema", "modulelens.run"},
            {"schema_version", 1},
            {"model", model},
            {"collection", capture::runCollectionId(model)},
            {"step", builder.step},
            {"started", builder.created},
            {"duration_ns", 5000},
            {"device", "cpu"},
            {"environment", environment("cpu")},
            {"calls", calls}};
}

std::string writeTensors(const Contents& contents) {
    std::vector<capture::SafetensorsInput> inputs;
    inputs.reserve(contents.tensors.size());
    for (const auto& [key, value] : contents.tensors) {
        inputs.push_back({key,
                          capture::safetensorsDtype(value.first),
                          {static_cast<std::int64_t>(value.second.size())},
                          std::as_bytes(std::span(value.second))});
    }
    std::filesystem::create_directories(contents.folder / "tensors");
    const auto written = capture::writeSafetensors(base::realFileSystem(), contents.folder / "tensors" / "0.safetensors",
                                                   inputs, {{"format", "pt"}});
    require(written.hasValue(), "the tensors cannot be written");
    return "tensors/0.safetensors";
}

}  // namespace

std::filesystem::path BundleBuilder::write(const std::filesystem::path& store) const {
    Contents contents;
    contents.folder = store / "writing.tmp";
    std::filesystem::remove_all(contents.folder);
    json index = {{"schema", "modulelens.bundle"},
                  {"schema_version", 1},
                  {"created", created},
                  {"model", m_model},
                  {"complete", true},
                  {"incomplete_reason", nullptr},
                  {"environment", environment("cpu")},
                  {"tags", tags},
                  {"attributes", json::object()},
                  {"versions", json::array()},
                  {"nodes", json::array()},
                  {"programs", json::array()},
                  {"sources", json::array()},
                  {"problems", json::array()}};
    for (const auto& [key, value] : attributes) {
        std::visit([&, name = key](const auto& held) { index["attributes"][name] = held; }, value);
    }
    std::map<std::string, std::string> nodes;
    std::map<std::string, std::string> sources;
    std::vector<std::string> versions;
    for (const BuiltModule& module : modules) {
        const json weight = contents.reference("float32", module.weight);
        const std::string source = contents.store("sources", module.source, ".py");
        const std::string node = contents.store("nodes", nodeDocument(module, weight, source, nodes).dump(), ".json");
        json input = contents.reference(module.inputDtype, module.input);
        std::vector<float> doubled = module.input;
        for (float& value : doubled) {
            value *= 2;
        }
        json output = contents.reference("float32", doubled);
        input.update({{"obj", 0}, {"storage", 0}, {"offset", 0}});
        output.update({{"obj", 1}, {"storage", 1}, {"offset", 0}});
        const std::string version =
            contents.store("versions", versionDocument(m_model, module, weight, node, input, output).dump(), ".json");
        json entry = fileEntry(contents.folder, "versions/" + version + ".json", "digest");
        entry.update({{"collection", capture::collectionId(m_model, module.name)},
                      {"model", m_model},
                      {"module", module.name},
                      {"class", module.className},
                      {"run", 0}});
        index["versions"].push_back(entry);
        if (nodes.emplace(module.name, node).second &&
            std::none_of(index["nodes"].begin(), index["nodes"].end(),
                         [&](const json& known) { return known["digest"] == node; })) {
            index["nodes"].push_back(fileEntry(contents.folder, "nodes/" + node + ".json", "digest"));
        }
        if (sources.emplace(source, source).second) {
            index["sources"].push_back(fileEntry(contents.folder, "sources/" + source + ".py", "digest"));
        }
        versions.push_back(version);
    }
    writeText(contents.folder / "runs" / "0.json", runDocument(*this, m_model, versions).dump());
    index["runs"] = json::array({fileEntry(contents.folder, "runs/0.json", "sha256")});
    json tensors = fileEntry(contents.folder, writeTensors(contents), "sha256");
    tensors["keys"] = json::array();
    for (const auto& [key, value] : contents.tensors) {
        tensors["keys"].push_back(key);
    }
    index["tensors"] = json::array({tensors});
    const std::string text = index.dump();
    const std::string digest = base::sha256Hex(text);
    writeText(contents.folder / "bundle.json", text);
    writeText(contents.folder / "bundle.sha256", digest + "  bundle.json\n");
    const std::filesystem::path folder = store / ("20261130T160145Z-" + digest.substr(0, 8));
    std::filesystem::remove_all(folder);
    std::filesystem::rename(contents.folder, folder);
    return folder;
}

BuiltModule namedModule(const std::string& name) {
    BuiltModule module;
    module.name = name;
    return module;
}

BundleBuilder encoderBundle(float weight, float input) {
    BundleBuilder builder("mini lm");
    BuiltModule first{"encoder.layer.2", "torch.nn.modules.linear:Linear", {weight, 2.0F}, {input},
                      "float32",         "class Linear: pass\n",           "cpu",          {}};
    BuiltModule second{"encoder.layer.10",
                       "torch.nn.modules.normalization:LayerNorm",
                       {5.0F, 6.0F, 7.0F},
                       {input},
                       "int32",
                       "class LayerNorm: pass\n",
                       "cuda:0",
                       {}};
    BuiltModule top{"",        "demo:Encoder",          {weight, 9.0F}, {input, input},
                    "float32", "class Encoder: pass\n", "cpu",          {"encoder.layer.2", "encoder.layer.10"}};
    builder.modules = {first, second, top};
    return builder;
}

}  // namespace modulelens::test
