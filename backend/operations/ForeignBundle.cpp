// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/ForeignBundle.h"

#include "backend/base/Digest.h"
#include "backend/base/ZipWriter.h"
#include "backend/capture/VersionDocument.h"

#include <exception>
#include <set>

namespace modulelens::operations {

namespace {

using nlohmann::json;

constexpr const char* kUnknownClass = "torch.nn.modules.module:Module";

/// Carries an Error to the one function that begins the writing.
struct WriteFailure : std::exception {
    explicit WriteFailure(base::Error cause) : error(std::move(cause)) {}
    base::Error error;
};

template <class T>
void require(const base::Result<T>& result) {
    if (!result) {
        throw WriteFailure(result.error());
    }
}

std::string parentOf(const std::string& path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

std::string leafOf(const std::string& path) {
    return path.substr(path.rfind('.') + 1);
}

/// Parameters and buffers of one module, for its node.
struct OwnTensors {
    json parameters = json::object();
    json buffers = json::object();
    json nonPersistent = json::array();
};

/// Writes one bundle. Throws WriteFailure. Confined to its thread.
class Writer {
public:
    Writer(const ForeignBundle& bundle, std::filesystem::path folder) : m_bundle(bundle), m_folder(std::move(folder)) {}

    void write() {
        sortTensors();
        const std::string top = writeNode("");
        const std::string suffix = m_bundle.how == "foreign" ? ".pt2" : '.' + m_bundle.how;
        const std::string program = store("programs", suffix, m_bundle.program, m_programs);
        const std::string version = writeVersion(top, program);
        writeRun(version);
        writeTensors();
        writeIndex();
    }

private:
    void sortTensors() {
        m_modules = m_bundle.modules;
        for (const auto& [name, reference] : m_bundle.state.items()) {
            for (std::string module = parentOf(name); !module.empty(); module = parentOf(module)) {
                m_modules.try_emplace(module, kUnknownClass);
            }
            json own = reference;
            for (const char* key : {"obj", "storage", "offset", "kind", "persistent"}) {
                own.erase(key);
            }
            OwnTensors& tensors = m_own[parentOf(name)];
            if (reference.value("kind", "parameter") == "parameter") {
                tensors.parameters[leafOf(name)] = std::move(own);
            } else {
                tensors.buffers[leafOf(name)] = std::move(own);
                if (!reference.value("persistent", true)) {
                    tensors.nonPersistent.push_back(leafOf(name));
                }
            }
        }
        m_modules.try_emplace("", kUnknownClass);
        for (const auto& [name, className] : m_modules) {
            if (!name.empty()) {
                std::string parent = parentOf(name);
                while (!m_modules.contains(parent)) {
                    parent = parentOf(parent);
                }
                m_children[parent].push_back(name);
            }
        }
    }

    /// Digest of the node of `module`, written with those below it.
    std::string writeNode(const std::string& module) {
        json children = json::object();
        const std::string prefix = module.empty() ? std::string() : module + '.';
        for (const std::string& child : m_children[module]) {
            children[child.substr(prefix.size())] = writeNode(child);
        }
        const OwnTensors& own = m_own[module];
        const json node = {
            {"schema", "modulelens.node"},
            {"schema_version", 1},
            {"class", m_modules.at(module)},
            {"runtime_class", nullptr},
            {"training", m_bundle.training},
            {"init", {{"how", "unknown"}, {"args", json::array()}, {"kwargs", json::object()}, {"missing", json::array()}}},
            {"attributes", json::object()},
            {"parameters", own.parameters},
            {"buffers", own.buffers},
            {"non_persistent", own.nonPersistent},
            {"children", std::move(children)},
            {"source", nullptr}};
        return store("nodes", ".json", base::bytesOf(node.dump()), m_nodes);
    }

    void countParameters(std::int64_t& bytes, std::int64_t& count) const {
        const auto tensors = capture::parseStateTensors(m_bundle.state);
        require(tensors);
        std::set<std::int64_t> storages;
        for (const auto& [name, tensor] : *tensors) {
            if (!tensor.isBuffer && (!tensor.tensor.storage || storages.insert(*tensor.tensor.storage).second)) {
                bytes += tensor.tensor.viewBytes();
                count += tensor.tensor.elementCount();
            }
        }
    }

    std::string writeVersion(const std::string& node, const std::string& program) {
        std::int64_t parameterBytes = 0;
        std::int64_t parameterCount = 0;
        countParameters(parameterBytes, parameterCount);
        json call = m_bundle.call;
        call.update({{"method", "forward"},
                     {"training", m_bundle.training},
                     {"grad_mode", false},
                     {"inference_mode", false},
                     {"autocast", nullptr},
                     {"exception", nullptr},
                     {"mutated", json::object()},
                     {"state_before", json::object()},
                     {"state_after", json::object()},
                     {"rng", nullptr},
                     {"program", program}});
        const json document = {{"schema", "modulelens.version"},
                               {"schema_version", 1},
                               {"model", m_bundle.model},
                               {"module", ""},
                               {"aliases", json::array()},
                               {"class", m_modules.at("")},
                               {"collection", capture::collectionId(m_bundle.model, "")},
                               {"state",
                                {{"node", node},
                                 {"tensors", m_bundle.state},
                                 {"parameter_bytes", parameterBytes},
                                 {"parameter_count", parameterCount},
                                 {"programs", json::array({{{"digest", program},
                                                            {"training", m_bundle.training},
                                                            {"call", 0},
                                                            {"how", m_bundle.how},
                                                            {"dynamic", json::object()}}})},
                                 {"no_program", nullptr}}},
                               {"environment", m_bundle.environment},
                               {"calls", json::array({std::move(call)})}};
        m_parameterBytes = parameterBytes;
        const std::string digest = store("versions", ".json", base::bytesOf(document.dump()), m_versions);
        m_versions.back().update({{"collection", document["collection"]},
                                  {"model", m_bundle.model},
                                  {"module", ""},
                                  {"class", m_modules.at("")},
                                  {"run", 0}});
        return digest;
    }

    void writeRun(const std::string& version) {
        const json run = {{"schema", "modulelens.run"},
                          {"schema_version", 1},
                          {"model", m_bundle.model},
                          {"collection", capture::runCollectionId(m_bundle.model)},
                          {"step", 0},
                          {"started", m_bundle.created},
                          {"duration_ns", nullptr},
                          {"device", m_bundle.environment.value("device", "cpu")},
                          {"environment", m_bundle.environment},
                          {"calls", json::array({{{"id", 0},
                                                  {"parent", nullptr},
                                                  {"module", ""},
                                                  {"class", m_modules.at("")},
                                                  {"call", 0},
                                                  {"method", "forward"},
                                                  {"inputs", json::array()},
                                                  {"outputs", json::array()},
                                                  {"parameter_bytes", m_parameterBytes},
                                                  {"own_parameter_bytes", 0},
                                                  {"start_ns", nullptr},
                                                  {"host_ns", nullptr},
                                                  {"version", version},
                                                  {"version_call", 0},
                                                  {"exception", nullptr}}})}};
        const std::string text = run.dump();
        writeFile("runs/0.json", base::bytesOf(text));
        m_run = {{"file", "runs/0.json"}, {"sha256", base::sha256Hex(text)}, {"size", text.size()}};
    }

    void writeTensors() {
        if (m_bundle.tensors.empty()) {
            return;
        }
        std::vector<capture::SafetensorsInput> tensors;
        json keys = json::array();
        tensors.reserve(m_bundle.tensors.size());
        for (const auto& [digest, tensor] : m_bundle.tensors) {
            tensors.push_back(tensor);
            keys.push_back(digest);
        }
        const std::string name = "tensors/0.safetensors";
        require(base::realFileSystem().createDirectories(m_folder / "tensors"));
        require(capture::writeSafetensors(base::realFileSystem(), m_folder / name, tensors, {}));
        const auto written = base::realFileSystem().map(m_folder / name);
        require(written);
        const std::span<const std::byte> bytes = (*written)->bytes();
        m_tensors = json::array(
            {{{"file", name}, {"sha256", base::sha256Hex(bytes)}, {"size", bytes.size()}, {"keys", std::move(keys)}}});
    }

    void writeIndex() {
        json attributes = json::object();
        for (const auto& [key, value] : m_bundle.attributes) {
            std::visit([&, name = key](const auto& held) { attributes[name] = held; }, value);
        }
        const json index = {{"schema", "modulelens.bundle"},
                            {"schema_version", 1},
                            {"created", m_bundle.created},
                            {"model", m_bundle.model},
                            {"complete", true},
                            {"incomplete_reason", nullptr},
                            {"environment", m_bundle.environment},
                            {"tags", json::array()},
                            {"attributes", std::move(attributes)},
                            {"runs", json::array({m_run})},
                            {"versions", m_versions},
                            {"nodes", m_nodes},
                            {"programs", m_programs},
                            {"sources", json::array()},
                            {"tensors", m_tensors},
                            {"problems", json::array()}};
        const std::string text = index.dump();
        writeFile("bundle.json", base::bytesOf(text));
        const std::string digest = base::sha256Hex(text) + "  bundle.json\n";
        writeFile("bundle.sha256", base::bytesOf(digest));
    }

    /// Writes a file that is named by its digest, once, and lists it.
    std::string store(const std::string& kind, const std::string& suffix, std::span<const std::byte> bytes, json& list) {
        const std::string digest = base::sha256Hex(bytes);
        const std::string name = kind + '/' + digest + suffix;
        if (m_written.insert(name).second) {
            writeFile(name, bytes);
            list.push_back({{"digest", digest}, {"file", name}, {"size", bytes.size()}});
        }
        return digest;
    }

    void writeFile(const std::string& name, std::span<const std::byte> bytes) {
        base::FileSystem& files = base::realFileSystem();
        require(files.createDirectories((m_folder / name).parent_path()));
        auto file = files.create(m_folder / name);
        require(file);
        require((*file)->append(bytes));
        require((*file)->close());
    }

    const ForeignBundle& m_bundle;
    std::filesystem::path m_folder;
    std::map<std::string, std::string> m_modules;
    std::map<std::string, OwnTensors> m_own;
    std::map<std::string, std::vector<std::string>> m_children;
    std::set<std::string> m_written;
    json m_versions = json::array();
    json m_nodes = json::array();
    json m_programs = json::array();
    json m_tensors = json::array();
    json m_run;
    std::int64_t m_parameterBytes = 0;
};

} // namespace

base::Result<void> writeForeignBundle(const ForeignBundle& bundle, const std::filesystem::path& folder) {
    try {
        Writer(bundle, folder).write();
        return {};
    } catch (const WriteFailure& failure) {
        return failure.error;
    }
}

} // namespace modulelens::operations
