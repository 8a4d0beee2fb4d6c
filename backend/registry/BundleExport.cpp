// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/BundleExport.h"

#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/capture/Safetensors.h"
#include "backend/registry/ImportPlan.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace modulelens::registry {

namespace {

using nlohmann::ordered_json;

/// A failure inside of an export, on its way to exportBundles().
struct ExportFailure : std::exception {
    explicit ExportFailure(base::Error failure) : error(std::move(failure)) {}
    base::Error error;
};

template <class T>
T valueOrThrow(base::Result<T> result) {
    if (!result) {
        throw ExportFailure(result.error());
    }
    return std::move(*result);
}

void succeed(const base::Result<void>& result) {
    if (!result) {
        throw ExportFailure(result.error());
    }
}

/// The suffix that says what a program file is (docs/formats/foreign.md).
std::string programSuffix(const std::string& how) {
    return how == "torchscript" || how == "aotinductor" ? '.' + how : ".pt2";
}

/// What a registry holds. Confined to its thread.
class RegistrySource : public BundleSource {
public:
    explicit RegistrySource(Registry& registry) : m_registry(registry) {}

    base::Result<std::string> versionText(const VersionSummary& version) override { return m_registry.versionText(version.id); }
    base::Result<std::string> nodeText(const std::string& digest) override { return m_registry.nodeText(digest); }
    base::Result<std::string> source(const std::string& digest) override { return m_registry.source(digest); }
    base::Result<FileExtent> program(const std::string& digest) override { return m_registry.program(digest); }
    base::Result<std::map<std::string, FileExtent>> tensors(const std::vector<std::string>& digests) override {
        return m_registry.tensors(digests);
    }
    base::Result<std::string> runOf(const VersionSummary& version) override {
        const base::Result<std::optional<RunSummary>> run = m_registry.runOf(version.id);
        if (!run) {
            return run.error();
        }
        if (!*run) {
            return base::Error{base::ErrorCode::Unsupported,
                               "The run of the version " + version.id + " is not in the registry.",
                               "A bundle holds the run of every version; import the bundle that has it."};
        }
        return (*run)->digest;
    }
    base::Result<std::string> runText(const std::string& digest) override { return m_registry.runText(digest); }

private:
    Registry& m_registry;
};

/// Everything that goes into one bundle. Confined to its thread.
class BundleWriter {
public:
    BundleWriter(BundleSource& source, base::FileSystem& files, std::stop_token stop, ExportReport& report)
        : m_source(source), m_files(files), m_stop(std::move(stop)), m_report(report) {}

    void add(const VersionSummary& version);
    void write(const std::filesystem::path& folder);

private:
    void addNode(const std::string& digest);
    void addReferences(const std::vector<capture::TensorReference>& references);
    std::size_t runIndex(const VersionSummary& version);
    ordered_json writeFile(const std::string& name, std::span<const std::byte> bytes, const char* digestKey);
    ordered_json writeText(const std::string& name, const std::string& text, const char* digestKey);
    ordered_json writePrograms();
    ordered_json writeTensors();
    ordered_json index();
    void requireNoStop() const {
        if (m_stop.stop_requested()) {
            throw ExportFailure({base::ErrorCode::Cancelled, "The export was cancelled.", ""});
        }
    }

    BundleSource& m_source;
    base::FileSystem& m_files;
    std::stop_token m_stop;
    ExportReport& m_report;
    std::filesystem::path m_folder;
    std::vector<VersionSummary> m_versions;
    std::map<std::string, std::string> m_versionTexts;   ///< By digest, as are the next.
    std::map<std::string, std::string> m_nodes;
    std::map<std::string, std::string> m_sources;
    std::map<std::string, std::string> m_programs;       ///< Suffix of the file.
    std::map<std::string, capture::TensorReference> m_tensors;
    std::vector<std::string> m_runs;                     ///< Digests, in the order of the versions.
    std::map<std::string, std::string> m_runTexts;
    std::vector<std::size_t> m_runOfVersion;
    ordered_json m_environment;
};

void BundleWriter::add(const VersionSummary& version) {
    requireNoStop();
    const std::string text = valueOrThrow(m_source.versionText(version));
    const capture::VersionDocument document = valueOrThrow(capture::parseVersionDocument(text, version.versionDigest));
    m_versionTexts.emplace(version.versionDigest, text);
    m_versions.push_back(version);
    m_runOfVersion.push_back(runIndex(version));
    addReferences(document.references);
    addNode(document.stateDigest);
    for (const capture::ProgramReference& program : document.programs) {
        m_programs.emplace(program.digest, programSuffix(program.how));
    }
    for (const capture::CallDocument& call : document.calls) {
        if (!call.node.empty()) {
            addNode(call.node);
        }
        if (!call.program.empty()) {
            m_programs.emplace(call.program, ".pt2");
        }
    }
    if (m_environment.is_null() && document.environment) {
        m_environment = *document.environment;
    }
}

std::size_t BundleWriter::runIndex(const VersionSummary& version) {
    const std::string digest = valueOrThrow(m_source.runOf(version));
    const auto known = std::find(m_runs.begin(), m_runs.end(), digest);
    if (known != m_runs.end()) {
        return static_cast<std::size_t>(known - m_runs.begin());
    }
    m_runs.push_back(digest);
    const std::string& text = m_runTexts[digest] = valueOrThrow(m_source.runText(digest));
    const capture::RunRecord record = valueOrThrow(capture::parseRunRecord(text, digest));
    if (m_runs.size() == 1 && record.environment) {
        m_environment = *record.environment;
    }
    return m_runs.size() - 1;
}

void BundleWriter::addNode(const std::string& digest) {
    std::vector<std::string> open{digest};
    while (!open.empty()) {
        const std::string at = std::move(open.back());
        open.pop_back();
        if (m_nodes.contains(at)) {
            continue;
        }
        requireNoStop();
        m_nodes[at] = valueOrThrow(m_source.nodeText(at));
        const capture::NodeDocument node = valueOrThrow(capture::parseNodeDocument(m_nodes[at], at));
        addReferences(node.references);
        if (!node.source.empty() && !m_sources.contains(node.source)) {
            m_sources[node.source] = valueOrThrow(m_source.source(node.source));
        }
        for (const auto& [name, child] : node.children) {
            if (!child.empty()) {
                open.push_back(child);
            }
        }
        // Values may name modules too; those that the capture left out as a gap are in no registry.
        for (const std::string& child : nodesNamedIn(node)) {
            const base::Result<std::string> text = m_source.nodeText(child);
            if (text) {
                open.push_back(child);
            } else if (text.error().code != base::ErrorCode::NotFound) {
                throw ExportFailure(text.error());
            }
        }
    }
}

void BundleWriter::addReferences(const std::vector<capture::TensorReference>& references) {
    for (const capture::TensorReference& reference : references) {
        if (!reference.digest.empty()) {
            m_tensors.emplace(reference.digest, reference);
        }
    }
}

ordered_json BundleWriter::writeFile(const std::string& name, std::span<const std::byte> bytes, const char* digestKey) {
    requireNoStop();
    const std::filesystem::path path = m_folder / name;
    succeed(m_files.createDirectories(path.parent_path()));
    const std::unique_ptr<base::WritableFile> file = valueOrThrow(m_files.create(path));
    succeed(file->append(bytes));
    succeed(file->sync());
    succeed(file->close());
    ++m_report.files;
    m_report.bytesWritten += bytes.size();
    return {{digestKey, base::sha256Hex(bytes)}, {"file", name}, {"size", bytes.size()}};
}

ordered_json BundleWriter::writeText(const std::string& name, const std::string& text, const char* digestKey) {
    return writeFile(name, std::as_bytes(std::span(text.data(), text.size())), digestKey);
}

ordered_json BundleWriter::writePrograms() {
    ordered_json list = ordered_json::array();
    for (const auto& [digest, suffix] : m_programs) {
        const FileExtent extent = valueOrThrow(m_source.program(digest));
        const std::shared_ptr<const base::MappedFile> file = valueOrThrow(m_files.map(extent.file));
        const auto program = valueOrThrow(base::sliceOf(file, extent.offset, extent.sizeBytes));
        list.push_back(writeFile("programs/" + digest + suffix, program->bytes(), "digest"));
    }
    return list;
}

ordered_json BundleWriter::writeTensors() {
    if (m_tensors.empty()) {
        return ordered_json::array();
    }
    std::vector<std::string> digests;
    digests.reserve(m_tensors.size());
    for (const auto& [digest, reference] : m_tensors) {
        digests.push_back(digest);
    }
    const std::map<std::string, FileExtent> extents = valueOrThrow(m_source.tensors(digests));
    std::map<std::filesystem::path, std::shared_ptr<const base::MappedFile>> mapped;
    std::vector<capture::SafetensorsInput> inputs;
    inputs.reserve(extents.size());
    for (const auto& [digest, extent] : extents) {
        std::shared_ptr<const base::MappedFile>& file = mapped[extent.file];
        if (!file) {
            file = valueOrThrow(m_files.map(extent.file));
        }
        if (extent.offset > file->bytes().size() || extent.sizeBytes > file->bytes().size() - extent.offset) {
            throw ExportFailure({base::ErrorCode::Corrupt, "The file " + extent.file.string() + " was cut short.",
                                 "Run `modulelens registry verify`."});
        }
        const capture::TensorReference& reference = m_tensors.at(digest);
        const std::string dtype = capture::safetensorsDtype(std::string(scalarTypeName(reference.dtype)));
        const bool isPlain = dtype != "U8" || reference.dtype == capture::ScalarType::UInt8;
        inputs.push_back(
            {digest, dtype,
             isPlain ? reference.storedShape : std::vector<std::int64_t>{static_cast<std::int64_t>(extent.sizeBytes)},
             file->bytes().subspan(extent.offset, extent.sizeBytes)});
    }
    requireNoStop();
    const std::string name = "tensors/exported.safetensors";
    succeed(m_files.createDirectories(m_folder / "tensors"));
    static_cast<void>(valueOrThrow(capture::writeSafetensors(m_files, m_folder / name, inputs, {})));
    const std::shared_ptr<const base::MappedFile> written = valueOrThrow(m_files.map(m_folder / name));
    ++m_report.files;
    m_report.bytesWritten += written->bytes().size();
    return ordered_json::array({{{"file", name},
                                 {"sha256", base::sha256Hex(written->bytes())},
                                 {"size", written->bytes().size()},
                                 {"keys", digests}}});
}

ordered_json BundleWriter::index() {
    ordered_json versions = ordered_json::array();
    for (std::size_t i = 0; i < m_versions.size(); ++i) {
        const VersionSummary& version = m_versions[i];
        ordered_json entry =
            writeText("versions/" + version.versionDigest + ".json", m_versionTexts.at(version.versionDigest), "digest");
        entry["collection"] = capture::collectionId(version.model, version.module);
        entry["model"] = version.model;
        entry["module"] = version.module;
        entry["class"] = version.className;
        entry["run"] = m_runOfVersion[i];
        versions.push_back(std::move(entry));
    }
    ordered_json runs = ordered_json::array();
    for (std::size_t i = 0; i < m_runs.size(); ++i) {
        runs.push_back(writeText("runs/" + std::to_string(i) + ".json", m_runTexts.at(m_runs[i]), "sha256"));
    }
    ordered_json nodes = ordered_json::array();
    for (const auto& [digest, text] : m_nodes) {
        nodes.push_back(writeText("nodes/" + digest + ".json", text, "digest"));
    }
    ordered_json sources = ordered_json::array();
    for (const auto& [digest, text] : m_sources) {
        sources.push_back(writeText("sources/" + digest + ".py", text, "digest"));
    }
    // Labels of the first that all others have too.
    std::set<std::string> tags(m_versions.front().tags.begin(), m_versions.front().tags.end());
    std::map<std::string, AttributeValue> attributes = m_versions.front().attributes;
    for (const VersionSummary& version : m_versions) {
        std::erase_if(tags, [&](const std::string& tag) {
            return std::find(version.tags.begin(), version.tags.end(), tag) == version.tags.end();
        });
        std::erase_if(attributes, [&](const auto& attribute) {
            const auto found = version.attributes.find(attribute.first);
            return found == version.attributes.end() || found->second != attribute.second;
        });
    }
    ordered_json values = ordered_json::object();
    for (const auto& [key, value] : attributes) {
        std::visit([&, &name = key](const auto& held) { values[name] = held; }, value);
    }
    return {{"schema", "modulelens.bundle"},
            {"schema_version", 1},
            {"created", m_versions.front().created},
            {"model", m_versions.front().model},
            {"complete", true},
            {"partial", true},
            {"environment", m_environment.is_object() ? m_environment : ordered_json::object()},
            {"tags", tags},
            {"attributes", values},
            {"runs", runs},
            {"versions", versions},
            {"nodes", nodes},
            {"programs", writePrograms()},
            {"sources", sources},
            {"tensors", writeTensors()},
            {"problems", ordered_json::array()}};
}

void BundleWriter::write(const std::filesystem::path& folder) {
    const std::filesystem::path partial = folder / ".exporting.tmp";
    succeed(m_files.remove(partial));
    m_folder = partial;
    succeed(m_files.createDirectories(partial));
    const std::string text = index().dump(1) + "\n";
    static_cast<void>(writeText("bundle.json", text, "digest"));
    const std::string digest = base::sha256Hex(text);
    static_cast<void>(writeText("bundle.sha256", digest + "  bundle.json\n", "digest"));
    // "2026-11-30T16:01:45.123456Z" gives "20261130T160145Z-3f9a12bc".
    std::string name = m_versions.front().created.substr(0, 19);
    std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
    const std::filesystem::path target = folder / (name + "Z-" + digest.substr(0, 8));
    std::error_code ignored;
    if (std::filesystem::exists(target, ignored)) {
        throw ExportFailure({base::ErrorCode::AlreadyExists, "The bundle " + target.string() + " is there already.",
                             "It has the same content; use it, or name another folder."});
    }
    succeed(m_files.syncDirectory(partial));
    succeed(m_files.rename(partial, target));
    succeed(m_files.syncDirectory(folder));
    m_report.bundles.push_back(target);
    m_report.versions += static_cast<int>(m_versions.size());
}

}  // namespace

base::Result<ExportReport> writeBundles(BundleSource& source, base::FileSystem& files,
                                        const std::vector<VersionSummary>& versions, const std::filesystem::path& folder,
                                        std::stop_token stop, const ByteProgress& progress) {
    return base::guarded("exporting to " + folder.string(), [&]() -> base::Result<ExportReport> {
        ExportReport report;
        try {
            std::map<std::pair<std::string, std::string>, std::vector<VersionSummary>> bundles;
            for (const VersionSummary& version : versions) {
                bundles[{version.created, version.model}].push_back(version);
            }
            succeed(files.createDirectories(folder));
            std::uint64_t done = 0;
            for (auto& [key, ofBundle] : bundles) {
                std::sort(ofBundle.begin(), ofBundle.end(), [](const VersionSummary& a, const VersionSummary& b) {
                    return std::tie(a.module, a.number, a.versionDigest) < std::tie(b.module, b.number, b.versionDigest);
                });
                BundleWriter writer(source, files, stop, report);
                for (const VersionSummary& version : ofBundle) {
                    writer.add(version);
                }
                writer.write(folder);
                done += ofBundle.size();
                if (progress) {
                    progress(done, versions.size());
                }
            }
        } catch (const ExportFailure& failure) {
            static_cast<void>(files.remove(folder / ".exporting.tmp").hasValue());
            return failure.error;
        }
        return report;
    });
}

base::Result<ExportReport> exportBundles(Registry& registry, base::FileSystem& files, const std::vector<std::string>& ids,
                                         const std::filesystem::path& folder, std::stop_token stop,
                                         const ByteProgress& progress) {
    std::vector<VersionSummary> versions;
    std::set<std::string> known;
    for (const std::string& id : ids) {
        base::Result<VersionSummary> version = registry.resolve(id);
        if (!version) {
            return version.error();
        }
        if (known.insert(version->id).second) {
            versions.push_back(std::move(*version));
        }
    }
    RegistrySource source(registry);
    return writeBundles(source, files, versions, folder, std::move(stop), progress);
}

}  // namespace modulelens::registry
