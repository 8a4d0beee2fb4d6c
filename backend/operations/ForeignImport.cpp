// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/ForeignImport.h"

#include "backend/base/Digest.h"
#include "backend/base/FileSystem.h"
#include "backend/base/Guarded.h"
#include "backend/base/ZipReader.h"
#include "backend/base/ZipWriter.h"
#include "backend/graph/ForeignArchive.h"
#include "backend/operations/ForeignBundle.h"
#include "backend/operations/ForeignTensors.h"
#include "backend/operations/SampleInputs.h"

#include <QDateTime>
#include <QTemporaryDir>

#include <algorithm>
#include <exception>

namespace modulelens::operations {

namespace {

using nlohmann::json;

constexpr const char* kAgain = "Import the file again with --trust, or give inputs with --input.";

constexpr const char* kInputParts[] = {"args", "kwargs"};

/// Carries an Error to importForeignFile.
struct ImportFailure : std::exception {
    explicit ImportFailure(base::Error cause) : error(std::move(cause)) {}
    base::Error error;
};

template <class T>
T valueOrThrow(base::Result<T> result) {
    if (!result) {
        throw ImportFailure(result.error());
    }
    return std::move(result).value();
}

void requireSuccess(const base::Result<void>& result) {
    if (!result) {
        throw ImportFailure(result.error());
    }
}

/// One input of the program that is imported.
struct Input {
    std::string pointer;
    std::vector<std::string> names;                        ///< A keyword may say any of them.
    std::optional<graph::TensorMeta> meta;                 ///< What export recorded of a tensor.
    std::optional<json> value;                             ///< Known without sample inputs: a constant, a default.
};

/// Sizes of the sample inputs; nothing when one is not recorded.
std::optional<std::vector<std::int64_t>> recordedShape(const graph::TensorMeta& meta) {
    std::vector<std::int64_t> shape;
    for (const graph::SymbolicInteger& size : meta.sizes) {
        const std::optional<std::int64_t> value = size.literal ? size.literal : size.hint;
        if (!value) {
            return std::nullopt;
        }
        shape.push_back(*value);
    }
    return shape;
}

/// A place without a value, with the form of its tensor when that is known.
json gapFor(const std::optional<graph::TensorMeta>& meta, const char* reason) {
    const auto shape = meta ? recordedShape(*meta) : std::nullopt;
    if (!shape) {
        return {{"$t", "gap"}, {"type", "Tensor"}, {"reason", reason}, {"repr", ""}};
    }
    json tensor = {
        {"$t", "tensor"}, {"dtype", std::string(base::scalarTypeName(meta->dtype))}, {"shape", *shape}, {"gap", reason}};
    if (meta->device != "cpu") {
        tensor["device"] = meta->device;
    }
    return tensor;
}

std::optional<json> literalOf(const graph::Argument& argument) {
    if (const auto* integer = std::get_if<graph::IntegerArgument>(&argument)) {
        return integer->value;
    }
    if (const auto* number = std::get_if<graph::FloatArgument>(&argument)) {
        return number->value;
    }
    if (const auto* flag = std::get_if<graph::BooleanArgument>(&argument)) {
        return flag->value;
    }
    if (const auto* text = std::get_if<graph::StringArgument>(&argument)) {
        return text->value;
    }
    if (std::holds_alternative<graph::NoneArgument>(argument)) {
        return json();
    }
    return std::nullopt;
}

const graph::Value* valueOf(const graph::Graph& graph, const graph::Argument& argument) {
    const auto* reference = std::get_if<graph::ValueArgument>(&argument);
    const bool isThere =
        reference != nullptr && reference->value >= 0 && static_cast<std::size_t>(reference->value) < graph.values.size();
    return isThere ? &graph.values[static_cast<std::size_t>(reference->value)] : nullptr;
}

std::string lastToken(const std::string& pointer) {
    return pointer.substr(pointer.rfind('/') + 1);
}

/// Imports one file. Throws ImportFailure. Confined to its thread.
class Importer {
public:
    Importer(registry::LocalRegistry& registry, WorkerJobs& worker, Permissions& permissions, const std::filesystem::path& path,
             const ImportSettings& settings, const OperationContext& context)
        : m_registry(registry),
          m_worker(worker),
          m_permissions(permissions),
          m_path(path),
          m_settings(settings),
          m_context(context) {}

    registry::ImportReport run(ImportKind kind) {
        m_file = valueOrThrow(base::realFileSystem().map(m_path));
        requireSuccess(base::ZipReader::checkSums(m_file->bytes(), shown()));
        m_sha256 = base::sha256Hex(m_file->bytes());
        m_bundle.model = m_settings.model.empty() ? m_path.stem().string() : m_settings.model;
        m_bundle.created = lastChange();
        m_bundle.attributes.emplace("imported_from", m_path.filename().string());
        m_bundle.environment = {{"torch", nullptr}, {"device", "cpu"}};
        if (kind == ImportKind::Exported) {
            readExported();
        } else {
            readByWorker(kind);
        }
        m_bundle.tensors = m_tensors.take();
        return store();
    }

private:
    /// When the file was last written, since nothing tells when it was made.
    [[nodiscard]] std::string lastChange() const {
        std::error_code failed;
        const auto time = std::filesystem::last_write_time(m_path, failed);
        const auto system = std::chrono::file_clock::to_sys(time);
        const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(system.time_since_epoch()).count();
        return QDateTime::fromMSecsSinceEpoch(failed ? 0 : milliseconds, Qt::UTC)
            .toString(QStringLiteral("yyyy-MM-dd'T'HH:mm:ss.zzz'000Z'"))
            .toStdString();
    }

    [[nodiscard]] std::string shown() const { return m_path.filename().string(); }

    void readExported() {
        m_archive = valueOrThrow(graph::readForeignArchive(m_file, shown()));
        const graph::Program& program = *m_archive.program;
        m_bundle.how = "foreign";
        m_bundle.program = base::bytesOf(m_archive.stripped);
        m_bundle.environment["torch"] = program.torchVersion.empty() ? json() : json(program.torchVersion);
        m_bundle.modules = program.moduleClasses;
        for (const auto& [name, weight] : m_archive.weights) {
            if (weight.meta.device != "cpu" && weight.meta.device != "meta") {
                m_bundle.environment["device"] = weight.meta.device;
            }
            m_bundle.state[name] = valueOrThrow(m_tensors.addWeight(name, weight, m_file));
        }
        m_bundle.call = *m_archive.call;
        std::vector<Input> inputs = inputsOf(program);
        const bool hasOwn = m_settings.inputs.empty() && m_archive.sampleInputs && readSampleInputs(inputs);
        if (!hasOwn) {
            fill(inputs, m_settings.inputs.empty() && m_archive.sampleInputs ? kConsentGap : kNoInputGap);
        }
        m_bundle.call["output"] = *m_archive.output;
        std::size_t next = 0;
        for (std::size_t i = 0; i < program.outputs.size() && next < program.outputPointers.size(); ++i) {
            if (program.outputs[i].kind != graph::OutputKind::UserOutput) {
                continue;
            }
            const graph::Argument& argument = program.graph.outputs.at(i);
            const graph::Value* value = valueOf(program.graph, argument);
            const std::optional<json> literal = value == nullptr ? literalOf(argument) : std::nullopt;
            at(program.outputPointers[next++]) =
                literal ? *literal : gapFor(value == nullptr ? std::nullopt : value->tensor, kNoOutputGap);
        }
    }

    [[nodiscard]] static std::vector<Input> inputsOf(const graph::Program& program) {
        std::vector<Input> inputs;
        std::size_t next = 0;
        for (std::size_t i = 0; i < program.inputs.size() && next < program.inputPointers.size(); ++i) {
            const graph::InputSpec& spec = program.inputs[i];
            if (spec.kind != graph::InputKind::UserInput && spec.kind != graph::InputKind::ConstantInput) {
                continue;
            }
            const std::string& pointer = program.inputPointers[next++];
            Input input{pointer, {lastToken(pointer)}, std::nullopt, std::nullopt};
            const graph::Argument& argument = program.graph.inputs.at(i);
            if (const graph::Value* value = valueOf(program.graph, argument)) {
                input.names.push_back(value->name);
                input.meta = value->tensor;
            } else {
                input.value = literalOf(spec.constant ? *spec.constant : argument);
            }
            inputs.push_back(std::move(input));
        }
        return inputs;
    }

    json& at(const std::string& pointer) { return m_bundle.call.at(json::json_pointer(pointer)); }

    /// False: there is no consent, which is a warning.
    bool readSampleInputs(const std::vector<Input>& inputs) {
        const base::Result<void> allowed = m_permissions.require({m_sha256, "sample_inputs", shown()}, m_settings.isTrusted);
        if (!allowed) {
            if (allowed.error().code != base::ErrorCode::ConsentNeeded) {
                throw ImportFailure(allowed.error());
            }
            m_needsConsent = true;
            m_warnings.push_back("The sample inputs of '" + shown() + "' are a pickle and were not read. " + kAgain);
            return false;
        }
        const base::ZipMember& member = *m_archive.sampleInputs;
        const auto bytes = m_file->bytes().subspan(member.offset, member.sizeBytes);
        protocol::InspectParams params;
        params.kind = protocol::inspection::kSampleInputs;
        params.name = "the sample inputs of '" + shown() + "'";
        params.offset = member.offset;
        params.length = member.sizeBytes;
        params.sha256 = base::sha256Hex(bytes);
        const protocol::InspectResult result = inspect(std::move(params));
        for (const Input& input : inputs) {
            const json::json_pointer place(input.pointer);
            if (!result.call.contains(place)) {
                throw ImportFailure(
                    {base::ErrorCode::Unsupported,
                     "the sample inputs of '" + shown() + "' have no value at " + input.pointer + ", which the program reads",
                     "Import the file without --trust, and give inputs with --input."});
            }
            json value = result.call.at(place);
            if (input.meta && input.meta->device != "cpu" && value.is_object() && value.contains("ref")) {
                value["device"] = input.meta->device;
            }
            at(input.pointer) = std::move(value);
        }
        return true;
    }

    void readByWorker(ImportKind kind) {
        m_bundle.how =
            kind == ImportKind::TorchScript ? protocol::program_format::kTorchScript : protocol::program_format::kAotInductor;
        m_bundle.program = m_file->bytes();
        requireSuccess(m_permissions.require({m_sha256, m_bundle.how, shown()}, m_settings.isTrusted));
        protocol::InspectParams params;
        params.kind = m_bundle.how;
        params.name = "'" + shown() + "'";
        params.length = m_file->bytes().size();
        params.sha256 = m_sha256;
        const protocol::InspectResult result = inspect(std::move(params));
        for (const protocol::InspectedModule& module : result.modules) {
            m_bundle.modules.emplace(module.path, module.className);
            m_bundle.training = m_bundle.training || (module.path.empty() && module.training);
        }
        m_bundle.state = result.state.is_object() ? result.state : json::object();
        m_bundle.call = result.call;
        m_bundle.call["output"] = result.output;
        markOutputs(m_bundle.call["output"]);
        std::vector<Input> inputs;
        inputs.reserve(result.arguments.size());
        for (const protocol::InspectedArgument& argument : result.arguments) {
            inputs.push_back({argument.pointer,
                              {argument.name},
                              std::nullopt,
                              argument.hasDefault ? std::optional(argument.defaultValue) : std::nullopt});
        }
        fill(inputs, kNoInputGap);
        m_warnings.insert(m_warnings.end(), result.warnings.begin(), result.warnings.end());
    }

    static void markOutputs(json& value) {
        if (value.is_null()) {
            value = gapFor(std::nullopt, kNoOutputGap);
        } else if (value.is_structured()) {
            for (json& item : value) {
                markOutputs(item);
            }
        }
    }

    protocol::InspectResult inspect(protocol::InspectParams params) {
        std::error_code ignored;
        params.file = std::filesystem::absolute(m_path, ignored).string();
        protocol::InspectResult result = valueOrThrow(m_worker.inspect(std::move(params), m_context));
        if (!result.file.empty()) {
            requireSuccess(m_tensors.addFile(result.file));
        }
        return result;
    }

    /// Gives every input what the person said, else what is known, else the gap.
    void fill(const std::vector<Input>& inputs, const char* gap) {
        std::vector<std::optional<SampleInput>> given(inputs.size());
        std::size_t position = 0;
        for (std::size_t i = 0; i < m_settings.inputs.size(); ++i) {
            SampleInput input = valueOrThrow(parseSampleInput(m_settings.inputs[i], i));
            const std::size_t place = input.name.empty() ? position++ : find(inputs, input.name);
            if (place >= inputs.size()) {
                throw ImportFailure({base::ErrorCode::InvalidArgument,
                                     "'" + shown() + "' has no input for '" + m_settings.inputs[i] + "'", namesOf(inputs)});
            }
            given[place] = std::move(input);
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            json& place = at(inputs[i].pointer);
            if (given[i] && given[i]->value) {
                place = *given[i]->value;
            } else if (given[i]) {
                place = m_tensors.addInput(*given[i], static_cast<std::int64_t>(i));
                if (inputs[i].meta && inputs[i].meta->device != "cpu") {
                    place["device"] = inputs[i].meta->device;
                }
            } else {
                place = inputs[i].value ? *inputs[i].value : gapFor(inputs[i].meta, gap);
            }
        }
        if (!m_settings.inputs.empty()) {
            m_bundle.attributes.emplace("inputs", "synthetic");
        }
    }

    static std::size_t find(const std::vector<Input>& inputs, const std::string& name) {
        const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Input& input) {
            return std::find(input.names.begin(), input.names.end(), name) != input.names.end();
        });
        return static_cast<std::size_t>(found - inputs.begin());
    }

    static std::string namesOf(const std::vector<Input>& inputs) {
        std::string text;
        for (const Input& input : inputs) {
            text += (text.empty() ? "" : ", ") + input.names.back();
        }
        return inputs.empty() ? "It takes no inputs." : "Its inputs are, in order: " + text + ".";
    }

    registry::ImportReport store() {
        const QTemporaryDir folder;
        if (!folder.isValid()) {
            throw ImportFailure({base::ErrorCode::StorageFull,
                                 "no folder for temporary files can be made: " + folder.errorString().toStdString(),
                                 "Free some space, or name another folder with TMPDIR."});
        }
        const std::filesystem::path bundle = std::filesystem::path(folder.path().toStdString()) / "bundle";
        requireSuccess(writeForeignBundle(m_bundle, bundle));
        const registry::ByteProgress progress = [this](std::uint64_t bytes, std::uint64_t total) {
            if (m_context.progress) {
                m_context.progress({0, "import", static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(total)});
            }
        };
        registry::ImportReport report = valueOrThrow(m_registry.import(bundle, m_context.stop, progress));
        report.bundles = {m_path};
        report.bytesRead = m_file->bytes().size();
        report.warnings.insert(report.warnings.end(), m_warnings.begin(), m_warnings.end());
        report.needsConsent = m_needsConsent;
        return report;
    }

    registry::LocalRegistry& m_registry;
    WorkerJobs& m_worker;
    Permissions& m_permissions;
    const std::filesystem::path& m_path;
    const ImportSettings& m_settings;
    const OperationContext& m_context;
    std::shared_ptr<const base::MappedFile> m_file;
    std::string m_sha256;
    graph::ForeignArchive m_archive;
    ForeignTensors m_tensors;
    ForeignBundle m_bundle;
    std::vector<std::string> m_warnings;
    bool m_needsConsent = false;
};

/// The reason of the first place without a value that an import left, or empty.
std::string gapIn(const json& value) {
    if (value.is_object()) {
        for (const char* key : {"gap", "reason"}) {
            const auto found = value.find(key);
            if (found != value.end() && (*found == kConsentGap || *found == kNoInputGap || *found == kNoOutputGap)) {
                return found->get<std::string>();
            }
        }
    }
    if (value.is_structured()) {
        for (const json& item : value) {
            if (std::string reason = gapIn(item); !reason.empty()) {
                return reason;
            }
        }
    }
    return {};
}

} // namespace

base::Result<registry::ImportReport> importForeignFile(registry::LocalRegistry& registry, WorkerJobs& worker,
                                                       Permissions& permissions, ImportKind kind,
                                                       const std::filesystem::path& path, const ImportSettings& settings,
                                                       const OperationContext& context) {
    return base::guarded("importing '" + path.filename().string() + "'", [&]() -> base::Result<registry::ImportReport> {
        try {
            return Importer(registry, worker, permissions, path, settings, context).run(kind);
        } catch (const ImportFailure& failure) {
            return failure.error;
        }
    });
}

base::Result<void> checkInputsAreThere(const capture::CallDocument& call, const std::string& address) {
    for (const char* part : kInputParts) {
        const auto values = call.json->find(part);
        const std::string reason = values == call.json->end() ? std::string() : gapIn(*values);
        if (reason == kConsentGap) {
            return base::Error{base::ErrorCode::ConsentNeeded,
                               "'" + address +
                                   "' cannot run yet: its sample inputs are a pickle, which is read only with "
                                   "your consent",
                               kAgain};
        }
        if (!reason.empty()) {
            return base::Error{base::ErrorCode::InvalidArgument, "'" + address + "' cannot run yet: " + reason,
                               "Import the file again with --input."};
        }
    }
    return {};
}

bool isWithoutInputs(const capture::CallDocument& call) {
    return std::any_of(std::begin(kInputParts), std::end(kInputParts), [&](const char* part) {
        const auto values = call.json->find(part);
        return values != call.json->end() && gapIn(*values) == kNoInputGap;
    });
}

bool isWithoutOutputs(const capture::CallDocument& call) {
    const auto output = call.json->find("output");
    return output != call.json->end() && gapIn(*output) == kNoOutputGap;
}

} // namespace modulelens::operations
