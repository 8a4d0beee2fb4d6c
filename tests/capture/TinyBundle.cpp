// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/capture/TinyBundle.h"

#include "backend/base/Digest.h"
#include "tests/support/ZipWriter.h"

namespace modulelens::test {

namespace {

using nlohmann::json;

const std::string kWeight = std::string("\0\0\x80?\0\0\0@", 8); // 1.0f and 2.0f.

void edit(const TinyBundle::Edit& change, json& document) {
    if (change) {
        change(document);
    }
}

std::string tensorFile(const std::string& key) {
    std::string header = json{{key, {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {0, 8}}}}}.dump();
    header.append((64 - (8 + header.size()) % 64) % 64, ' ');
    std::string file;
    for (int i = 0; i < 8; ++i) {
        file.push_back(static_cast<char>((header.size() >> (8 * i)) & 0xffU));
    }
    return file + header + kWeight;
}

json entry(const std::string& name, const std::string& text, const char* digestKey) {
    return {{"file", name}, {digestKey, base::sha256Hex(text)}, {"size", text.size()}};
}

} // namespace

std::string sealOf(const std::string& index) {
    return base::sha256Hex(index) + "  bundle.json\n";
}

std::map<std::string, std::string> TinyBundle::files() const {
    std::map<std::string, std::string> files;
    const auto add = [&](const std::string& folder, const std::string& text, const char* suffix) {
        const std::string name = folder + "/" + base::sha256Hex(text) + suffix;
        files[name] = text;
        return name;
    };
    const std::string key = base::sha256Hex("float32:2:" + kWeight);
    std::string tensors = tensorFile(key);
    if (editTensors) {
        editTensors(tensors);
    }
    files["tensors/0000.safetensors"] = tensors;
    std::string program = makeZip({{"program/models/model.json", "{}"}, {"program/data/sample_inputs/model.pt", ""}});
    if (editProgram) {
        editProgram(program);
    }
    const std::string programName = add("programs", program, ".pt2");
    const std::string sourceName = add("sources", "class Scale: ...\n", ".py");
    const json reference = {{"dtype", "float32"}, {"shape", {2}}, {"ref", key}};

    json node = {{"schema", "modulelens.node"},
                 {"schema_version", 1},
                 {"class", "pkg:Scale"},
                 {"runtime_class", nullptr},
                 {"training", false},
                 {"init", {{"how", "captured"}, {"args", {2}}, {"kwargs", json::object()}, {"missing", json::array()}}},
                 {"attributes", {{"width", 2}}},
                 {"parameters", {{"weight", reference}}},
                 {"buffers", json::object()},
                 {"non_persistent", json::array()},
                 {"children", json::object()},
                 {"source", base::sha256Hex("class Scale: ...\n")}};
    edit(editNode, node);
    const std::string nodeName = add("nodes", node.dump(), ".json");

    json weight = reference;
    weight.update({{"kind", "parameter"}, {"requires_grad", true}, {"obj", 0}, {"storage", 0}, {"offset", 0}});
    json input = reference;
    input.update({{"$t", "tensor"}, {"obj", 0}});
    json version = {{"schema", "modulelens.version"},
                    {"schema_version", 1},
                    {"model", "tiny"},
                    {"module", "scale"},
                    {"aliases", json::array()},
                    {"class", "pkg:Scale"},
                    {"collection", base::md5Hex(std::string("tiny\0scale", 10))},
                    {"environment", {{"torch", "2.13.0"}}}};
    version["state"] = {
        {"node", base::sha256Hex(node.dump())},
        {"tensors", {{"weight", weight}}},
        {"parameter_bytes", 8},
        {"parameter_count", 2},
        {"no_program", nullptr},
        {"programs", {{{"digest", base::sha256Hex(program)}, {"training", false}, {"call", 0}, {"how", "non_strict"}}}}};
    version["calls"] = {{{"method", "forward"},
                         {"training", false},
                         {"grad_mode", false},
                         {"inference_mode", false},
                         {"autocast", nullptr},
                         {"args", {input}},
                         {"kwargs", json::object()},
                         {"output", input},
                         {"exception", nullptr},
                         {"mutated", json::object()},
                         {"state_before", json::object()},
                         {"state_after", json::object()},
                         {"rng", nullptr},
                         {"program", base::sha256Hex(program)}}};
    edit(editVersion, version);
    const std::string versionName = add("versions", version.dump(), ".json");

    const json shapes = {{{"path", "/args/0"}, {"dtype", "float32"}, {"shape", {2}}}};
    json run = {{"schema", "modulelens.run"},
                {"schema_version", 1},
                {"model", "tiny"},
                {"collection", "registered_model_tiny"},
                {"step", 0},
                {"started", "2026-11-30T16:00:00.000000Z"},
                {"duration_ns", 1000},
                {"device", "cpu"},
                {"environment", json::object()}};
    run["calls"] = {{{"id", 0},
                     {"parent", nullptr},
                     {"module", "scale"},
                     {"class", "pkg:Scale"},
                     {"call", 0},
                     {"method", "forward"},
                     {"inputs", shapes},
                     {"outputs", shapes},
                     {"parameter_bytes", 8},
                     {"own_parameter_bytes", 8},
                     {"start_ns", 1},
                     {"host_ns", 10},
                     {"version", base::sha256Hex(version.dump())},
                     {"version_call", 0},
                     {"exception", nullptr}}};
    edit(editRun, run);
    files["runs/0.json"] = run.dump();

    json versionEntry = entry(versionName, version.dump(), "digest");
    versionEntry.update(
        {{"collection", version["collection"]}, {"model", "tiny"}, {"module", "scale"}, {"class", "pkg:Scale"}, {"run", 0}});
    json tensorEntry = entry("tensors/0000.safetensors", tensors, "sha256");
    tensorEntry["keys"] = {key};
    json index = {{"schema", "modulelens.bundle"},
                  {"schema_version", 1},
                  {"created", "2026-11-30T16:00:00.000000Z"},
                  {"model", "tiny"},
                  {"complete", true},
                  {"incomplete_reason", nullptr},
                  {"environment", json::object()},
                  {"tags", {"small"}},
                  {"attributes", {{"a", 1}, {"b", "text"}, {"c", true}}},
                  {"problems", json::array()}};
    index["runs"] = {entry("runs/0.json", files["runs/0.json"], "sha256")};
    index["versions"] = {versionEntry};
    index["nodes"] = {entry(nodeName, node.dump(), "digest")};
    index["programs"] = {entry(programName, program, "digest")};
    index["sources"] = {entry(sourceName, files[sourceName], "digest")};
    index["tensors"] = {tensorEntry};
    edit(editIndex, index);
    files["bundle.json"] = index.dump();
    files["bundle.sha256"] = sealOf(files["bundle.json"]);
    return files;
}

} // namespace modulelens::test
