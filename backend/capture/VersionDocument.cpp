// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/VersionDocument.h"

#include "backend/base/Digest.h"
#include "backend/capture/JsonView.h"
#include "backend/capture/TensorReading.h"

#include <algorithm>

namespace modulelens::capture {

namespace {

constexpr std::int64_t kNewestSchema = 1;

std::string readName(const JsonView& view) {
    const std::string& name = view.string();
    if (name.find('\0') != std::string::npos) {
        view.fail("holds a NUL character");
    }
    return name;
}

std::map<std::string, StateTensor> readStateTensors(const JsonView& view) {
    std::map<std::string, StateTensor> tensors;
    view.forEachMember([&](const std::string& name, const JsonView& member) {
        StateTensor tensor;
        tensor.tensor = readStateTensor(member);
        tensor.isBuffer = member.stringOr("kind", "parameter") == "buffer";
        tensor.isPersistent = member.booleanOr("persistent", true);
        tensors.emplace(name, std::move(tensor));
    });
    return tensors;
}

void readState(const JsonView& state, VersionDocument& version) {
    version.stateDigest = state.at("node").digest();
    const JsonView tensors = state.at("tensors");
    version.stateTensors = readStateTensors(tensors);
    version.stateJson = std::make_shared<const nlohmann::json>(tensors.json());
    version.parameterBytes = state.at("parameter_bytes").nonNegative();
    version.parameterCount = state.at("parameter_count").nonNegative();
    const JsonView programs = state.at("programs");
    for (std::size_t i = 0; i < programs.size(); ++i) {
        const JsonView item = programs.element(i);
        ProgramReference program;
        program.digest = item.at("digest").digest();
        program.training = item.booleanOr("training", false);
        program.call = static_cast<int>(std::clamp<std::int64_t>(item.integerOr("call", 0), 0, 1 << 30));
        program.how = item.stringOr("how", "");
        version.programs.push_back(std::move(program));
    }
    if (const auto none = state.find("no_program")) {
        version.noProgramReason = none->stringOr("reason", "");
        version.noProgramSource = none->stringOr("source", "");
    }
}

StateChanges readChanges(const JsonView& call, std::string_view key) {
    StateChanges changes;
    if (const auto view = call.find(key)) {
        view->forEachMember(
            [&](const std::string& name, const JsonView& member) { changes.emplace(name, readStateTensor(member)); });
    }
    return changes;
}

std::map<std::string, std::optional<TensorReference>> readGradients(const JsonView& gradients, std::string_view key) {
    std::map<std::string, std::optional<TensorReference>> read;
    if (const auto view = gradients.find(key)) {
        const nlohmann::json& json = view->json();
        view->forEachMember([&](const std::string& name, const JsonView& member) {
            read.emplace(name, json.at(name).is_null() ? std::nullopt : std::optional(readStateTensor(member)));
        });
    }
    return read;
}

std::vector<AutocastState> readAutocast(const JsonView& call) {
    std::vector<AutocastState> states;
    const auto list = call.find("autocast");
    for (std::size_t i = 0; list && i < list->size(); ++i) {
        const JsonView item = list->element(i);
        const JsonView dtype = item.at("dtype");
        const auto type = scalarTypeFromName(dtype.string());
        if (!type) {
            dtype.fail("is an unknown element type");
        }
        states.push_back({item.at("device").string(), *type, item.booleanOr("cache", true)});
    }
    return states;
}

CallDocument readCall(const JsonView& view) {
    CallDocument call;
    call.method = view.stringOr("method", "forward");
    call.isDirect = view.booleanOr("direct", false);
    if (const auto node = view.find("node")) {
        call.node = node->digest();
    }
    call.training = view.at("training").boolean();
    call.gradMode = view.booleanOr("grad_mode", false);
    call.inferenceMode = view.booleanOr("inference_mode", false);
    call.autocast = readAutocast(view);
    const JsonView args = view.at("args");
    (void)args.size();
    collectTensors(args, "/args", call.inputs);
    const JsonView kwargs = view.at("kwargs");
    kwargs.forEachMember([](const std::string&, const JsonView&) {});
    collectTensors(kwargs, "/kwargs", call.inputs);
    collectTensors(view.at("output"), "/output", call.outputs);
    call.mutated = readChanges(view, "mutated");
    call.stateBefore = readChanges(view, "state_before");
    call.stateAfter = readChanges(view, "state_after");
    if (const auto generator = view.find("rng")) {
        if (const auto cpu = generator->find("cpu")) {
            call.cpuGeneratorState = readTensorReference(*cpu);
        }
    }
    if (const auto exception = view.find("exception")) {
        call.exceptionType = exception->at("type").string();
        call.exceptionMessage = exception->stringOr("message", "");
    }
    if (const auto program = view.find("program")) {
        call.program = program->digest();
    }
    if (const auto gradients = view.find("gradients")) {
        CallGradients& read = call.gradients.emplace();
        read.isOfCaptured = gradients->stringOr("of", "sum") == "captured";
        read.outputs = readChanges(*gradients, "outputs");
        read.inputs = readGradients(*gradients, "inputs");
        read.parameters = readGradients(*gradients, "parameters");
    }
    call.json = std::make_shared<const nlohmann::json>(view.json());
    return call;
}

void addKept(const std::map<std::string, TensorReference>& from, std::vector<TensorReference>& references) {
    for (const auto& [name, tensor] : from) {
        if (!tensor.digest.empty()) {
            references.push_back(tensor);
        }
    }
}

/// State tensors stand without "$t", so that the walk over values does not see them.
void gatherReferences(const JsonView& view, VersionDocument& version) {
    std::vector<TensorReference>& references = version.references;
    view.at("state").at("tensors").forEachMember([&](const std::string&, const JsonView& member) {
        if (member.find("$t")) {
            collectAllReferences(member, references);
        }
    });
    for (const auto& [name, tensor] : version.stateTensors) {
        references.push_back(tensor.tensor);
    }
    for (const CallDocument& call : version.calls) {
        const JsonView json(*call.json, "call");
        for (const std::string_view key : {"args", "kwargs", "output"}) {
            collectAllReferences(json.at(key), references);
        }
        for (const std::string_view key : {"mutated", "inputs_after", "state_before", "state_after"}) {
            if (const auto changes = json.find(key)) {
                collectAllReferences(*changes, references);
            }
        }
        if (const auto gradients = json.find("gradients")) {
            collectAllReferences(*gradients, references);
        }
        if (call.gradients) {
            addKept(call.gradients->outputs, references);
            for (const auto* given : {&call.gradients->inputs, &call.gradients->parameters}) {
                for (const auto& [name, gradient] : *given) {
                    if (gradient) {
                        references.push_back(*gradient);
                    }
                }
            }
        }
        addKept(call.mutated, references);
        addKept(call.stateBefore, references);
        addKept(call.stateAfter, references);
        if (call.cpuGeneratorState) {
            references.push_back(*call.cpuGeneratorState);
        }
    }
    std::erase_if(references, [](const TensorReference& tensor) { return tensor.digest.empty(); });
}

void checkProgramCalls(const JsonView& view, const VersionDocument& version) {
    for (const ProgramReference& program : version.programs) {
        if (static_cast<std::size_t>(program.call) >= version.calls.size()) {
            view.fail("has a program of a call that is not there");
        }
    }
}

VersionDocument readVersion(std::string_view text, const std::string& digest, const std::string& document) {
    const nlohmann::json json = parseJson(text, document);
    const JsonView view(json, document);
    checkSchema(view, "modulelens.version", kNewestSchema);
    VersionDocument version;
    version.digest = digest;
    version.model = readName(view.at("model"));
    version.module = readName(view.at("module"));
    version.aliases = view.at("aliases").strings();
    version.className = view.at("class").string();
    version.collection = view.at("collection").string();
    if (version.collection != collectionId(version.model, version.module)) {
        view.at("collection").fail("is not the collection of its model and module");
    }
    readState(view.at("state"), version);
    const JsonView calls = view.at("calls");
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const JsonView call = calls.element(i);
        version.calls.push_back(readCall(call));
    }
    checkProgramCalls(view, version);
    const auto environment = view.find("environment");
    version.environment = std::make_shared<const nlohmann::json>(environment ? environment->json() : nlohmann::json::object());
    gatherReferences(view, version);
    return version;
}

}  // namespace

std::vector<std::string> VersionDocument::tensorDigests() const {
    std::vector<std::string> digests;
    digests.reserve(references.size());
    for (const TensorReference& tensor : references) {
        digests.push_back(tensor.digest);
    }
    std::sort(digests.begin(), digests.end());
    digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
    return digests;
}

base::Result<VersionDocument> parseVersionDocument(std::string_view text, const std::string& digest) {
    const std::string document = "versions/" + digest + ".json";
    return readDocument(document, [&] { return readVersion(text, digest, document); });
}

base::Result<CallDocument> parseCallDocument(const nlohmann::json& call) {
    return readDocument("call", [&] { return readCall(JsonView(call, "call")); });
}

base::Result<std::map<std::string, StateTensor>> parseStateTensors(const nlohmann::json& tensors) {
    return readDocument("state", [&] { return readStateTensors(JsonView(tensors, "state")); });
}

std::string collectionId(std::string_view model, std::string_view module) {
    std::string text(model);
    text.push_back('\0');
    text.append(module);
    return base::md5Hex(text);
}

std::string runCollectionId(std::string_view model) {
    constexpr std::size_t kLimit = 128;
    constexpr std::size_t kKept = 119;
    std::string id = "registered_model_";
    // Characters, not bytes: a character of several UTF-8 bytes becomes one "-".
    for (const char c : model) {
        const auto byte = static_cast<unsigned char>(c);
        const bool isAllowed =
            (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        if (isAllowed) {
            id.push_back(c);
        } else if ((byte & 0xc0U) != 0x80U) {
            id.push_back('-');
        }
    }
    if (id == "registered_model_" + std::string(model) && id.size() <= kLimit) {
        return id;
    }
    return id.substr(0, kKept) + "-" + base::sha256Hex(model).substr(0, 8);
}

}  // namespace modulelens::capture
