// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ProgramArchive.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/graph/ModelJson.h"

#include <algorithm>

namespace modulelens::graph {

namespace {

constexpr std::int64_t kNewestSidecar = 1;

/// The members of an archive without the root folder that they all share. Confined to its thread.
class ArchiveMembers {
public:
    ArchiveMembers(const base::ZipReader& zip, const std::string& displayName) : m_zip(zip), m_displayName(displayName) {
        if (zip.members().empty()) {
            failCorrupt("the archive is empty");
        }
        const std::string& first = zip.members().begin()->first;
        const std::size_t slash = first.find('/');
        m_root = slash == std::string::npos ? std::string() : first.substr(0, slash + 1);
        for (const auto& [name, member] : zip.members()) {
            if (m_root.empty() || !name.starts_with(m_root)) {
                failCorrupt("the members do not share one root folder");
            }
        }
    }

    [[nodiscard]] const base::ZipMember* find(const std::string& name) const {
        const auto found = m_zip.members().find(m_root + name);
        return found == m_zip.members().end() ? nullptr : &found->second;
    }

    [[nodiscard]] std::string_view text(const std::string& name) const {
        const auto bytes = m_zip.bytes(m_root + name);
        if (!bytes) {
            failCorrupt("the member '" + name + "' is missing");
        }
        return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
    }

    [[nodiscard]] JsonTree document(const std::string& name) const { return parseTree(text(name), m_displayName + "/" + name); }

private:
    const base::ZipReader& m_zip;
    const std::string& m_displayName;
    std::string m_root;
};

/// Storage bytes that the tensor reaches into. Fails for symbolic sizes and overflow.
std::uint64_t reachBytes(const TensorMeta& meta, const std::string& name) {
    if (meta.sizes.size() != meta.strides.size() || meta.storageOffset < 0) {
        failCorrupt("the constant '" + name + "' has as many strides as another shape would need");
    }
    std::int64_t last = meta.storageOffset;
    for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
        if (!meta.sizes[i].literal || !meta.strides[i].literal) {
            failCorrupt("the constant '" + name + "' has a symbolic size");
        }
        if (*meta.sizes[i].literal == 0) {
            return 0;
        }
        std::int64_t step = 0;
        if (__builtin_mul_overflow(*meta.sizes[i].literal - 1, *meta.strides[i].literal, &step) ||
            __builtin_add_overflow(last, step, &last)) {
            failCorrupt("the constant '" + name + "' has a size that overflows");
        }
    }
    std::int64_t bytes = 0;
    if (__builtin_add_overflow(last, 1, &last) ||
        __builtin_mul_overflow(last, static_cast<std::int64_t>(base::elementSizeBytes(meta.dtype)), &bytes)) {
        failCorrupt("the constant '" + name + "' has a size that overflows");
    }
    return static_cast<std::uint64_t>(bytes);
}

/// Calls `visit(name, payload)` for each payload of a config; an absent config has none.
template <class Visit>
void forEachPayload(const ArchiveMembers& members, const std::string& configName, Visit visit) {
    if (members.find(configName) == nullptr) {
        return;
    }
    const JsonTree config = members.document(configName);
    forEachMember(member(config.root(), "config"), configName, [&](const std::string& name, const JsonNode& payload) {
        if (const JsonNode* pickled = findMember(payload, "use_pickle");
            pickled != nullptr && boolean(*pickled, "use_pickle")) {
            failUnsupported("'" + name + "' is pickled, and ModuleLens never reads a pickle",
                            "Capture the module again with the ModuleLens tracer.");
        }
        visit(name, payload);
    });
}

void readConstants(const ArchiveMembers& members, ProgramArchive& archive) {
    forEachPayload(members, "data/constants/model_constants_config.json",
                   [&](const std::string& name, const JsonNode& payload) {
                       ArchivedTensor tensor;
                       tensor.meta = tensorMeta(member(payload, "tensor_meta"));
                       const std::string path = "data/constants/" + text(member(payload, "path_name"), "path_name");
                       const base::ZipMember* bytes = members.find(path);
                       if (bytes == nullptr) {
                           failCorrupt("the constant '" + name + "' has no member '" + path + "'");
                       }
                       tensor.offset = bytes->offset;
                       tensor.sizeBytes = bytes->sizeBytes;
                       if (reachBytes(tensor.meta, name) > tensor.sizeBytes) {
                           failCorrupt("the constant '" + name + "' reaches beyond its member '" + path + "'");
                       }
                       archive.constants.emplace(name, std::move(tensor));
                   });
}

void readWeights(const ArchiveMembers& members, ProgramArchive& archive) {
    forEachPayload(members, "data/weights/model_weights_config.json", [&](const std::string& name, const JsonNode& payload) {
        archive.weights.emplace(name, tensorMeta(member(payload, "tensor_meta")));
    });
}

std::vector<std::string> pointers(const JsonNode& sidecar, std::string_view key) {
    std::vector<std::string> result;
    for (const JsonNode& pointer : array(member(sidecar, key), key)) {
        result.push_back(text(pointer, key));
    }
    return result;
}

/// extra/modulelens.json, which only our tracer writes.
void readSidecar(const ArchiveMembers& members, Program& program) {
    const std::string name = "extra/modulelens.json";
    if (members.find(name) == nullptr) {
        return;
    }
    const JsonTree document = members.document(name);
    const JsonNode& sidecar = document.root();
    const std::int64_t version = integer(member(sidecar, "schema_version"), "schema_version");
    if (version > kNewestSidecar) {
        failUnsupported("'" + name + "' has schema version " + std::to_string(version), "Update ModuleLens.");
    }
    program.inputPointers = pointers(sidecar, "inputs");
    program.outputPointers = pointers(sidecar, "outputs");
    forEachMember(member(sidecar, "modules"), "modules", [&](const std::string& path, const JsonNode& className) {
        program.moduleClasses.emplace(path, text(className, "a class name"));
    });
    const auto inputs = std::count_if(program.inputs.begin(), program.inputs.end(), [](const InputSpec& spec) {
        return spec.kind == InputKind::UserInput || spec.kind == InputKind::ConstantInput;
    });
    const auto outputs = std::count_if(program.outputs.begin(), program.outputs.end(),
                                       [](const OutputSpec& spec) { return spec.kind == OutputKind::UserOutput; });
    if (static_cast<std::size_t>(inputs) != program.inputPointers.size() ||
        static_cast<std::size_t>(outputs) != program.outputPointers.size()) {
        failCorrupt("'" + name + "' maps another number of inputs or outputs than the program has");
    }
}

ProgramArchive readArchive(const base::ZipReader& zip, const std::string& displayName) {
    const ArchiveMembers members(zip, displayName);
    if (members.find("byteorder") != nullptr && members.text("byteorder") != "little") {
        failUnsupported("the archive is big-endian", "Export the module on a little-endian machine.");
    }
    const auto parsed = parseProgram(members.text("models/model.json"), "models/model.json");
    if (!parsed) {
        throw FormatError{parsed.error()};
    }
    ProgramArchive archive;
    // Nobody else has it yet, and it was made as a Program that can be changed.
    const std::shared_ptr<Program> program = std::const_pointer_cast<Program>(*parsed);
    readSidecar(members, *program);
    archive.program = program;
    readConstants(members, archive);
    readWeights(members, archive);
    return archive;
}

}  // namespace

base::Result<ProgramArchive> readProgramArchive(const std::shared_ptr<const base::MappedFile>& file,
                                                const std::string& displayName) {
    const auto zip = base::ZipReader::open(file, displayName);
    if (!zip) {
        return zip.error();
    }
    const auto safe = base::checkArchiveHoldsNoPickle(*zip, displayName);
    if (!safe) {
        return safe.error();
    }
    return readFormat("the program '" + displayName + "'", [&] { return readArchive(*zip, displayName); });
}

base::Result<void> checkArchiveIsSafe(const std::shared_ptr<const base::MappedFile>& file, const std::string& displayName) {
    const auto zip = base::ZipReader::open(file, displayName);
    if (!zip) {
        return zip.error();
    }
    return base::checkArchiveHoldsNoPickle(*zip, displayName);
}

}  // namespace modulelens::graph
