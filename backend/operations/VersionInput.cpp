// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/VersionInput.h"

#include "backend/operations/ForeignImport.h"
#include "backend/operations/Operations.h"
#include "backend/registry/VersionAddress.h"

#include <algorithm>
#include <set>

namespace modulelens::operations {

namespace {

protocol::Extent toExtent(const std::string& digest, const registry::FileExtent& place) {
    return {digest, place.file.string(), place.offset, place.sizeBytes};
}

/// Digests of all tensor references in a value, also those inside numpy, sparse and other values.
void collectDigests(const nlohmann::json& json, std::set<std::string>& digests) {
    if (json.is_object() && json.contains("ref") && json["ref"].is_string()) {
        digests.insert(json["ref"].get<std::string>());
    }
    if (json.is_structured()) {
        for (const nlohmann::json& item : json) {
            collectDigests(item, digests);
        }
    }
}

/// The text at environment[group][key], or at environment[key] when `group` is empty; empty when absent.
std::string environmentText(const nlohmann::json& environment, const char* group, const char* key) {
    const nlohmann::json* holder = &environment;
    if (group != nullptr) {
        const auto found = environment.find(group);
        if (found == environment.end()) {
            return {};
        }
        holder = &*found;
    }
    const auto value = holder->find(key);
    return value != holder->end() && value->is_string() ? value->get<std::string>() : std::string();
}

/// "2.13.0" of "2.13.0+cpu".
std::string publicVersion(const std::string& version) {
    return version.substr(0, version.find('+'));
}

std::string deviceType(const std::string& device) {
    return device.substr(0, device.find(':'));
}

void chooseProgram(VersionInput& input) {
    const capture::CallDocument& call = input.call();
    input.program = call.program;
    if (input.program.empty()) {
        input.noProgramReason = input.document.noProgramReason;
        if (input.noProgramReason.empty()) {
            input.noProgramReason = "no program computes call " + std::to_string(input.callIndex);
        }
        return;
    }
    for (const capture::ProgramReference& program : input.document.programs) {
        if (program.digest == input.program) {
            input.programHow = program.how;
        }
    }
}

} // namespace

base::Result<std::vector<protocol::Extent>> tensorExtents(registry::Registry& registry, const std::set<std::string>& digests) {
    const base::Result<std::map<std::string, registry::FileExtent>> places = registry.tensors({digests.begin(), digests.end()});
    if (!places) {
        return places.error();
    }
    std::vector<protocol::Extent> extents;
    for (const auto& [digest, place] : *places) {
        extents.push_back(toExtent(digest, place));
    }
    return extents;
}

ProgramFormat programFormat(const std::string& how) {
    for (const char* format : {protocol::program_format::kTorchScript, protocol::program_format::kAotInductor}) {
        if (how == format) {
            return {format, false};
        }
    }
    return {};
}

std::string VersionInput::address() const {
    return registry::formatVersionAddress(summary.model, summary.module, summary.number);
}

base::Result<VersionInput> readVersionInput(registry::Registry& registry, const std::string& addressOrId, int call) {
    VersionInput input;
    base::Result<registry::VersionSummary> summary = registry.resolve(addressOrId);
    if (!summary) {
        return summary.error();
    }
    input.summary = *std::move(summary);
    base::Result<capture::VersionDocument> document = registry.versionDocument(input.summary.id);
    if (!document) {
        return document.error();
    }
    input.document = *std::move(document);
    const std::size_t calls = input.document.calls.size();
    if (call < 0 || static_cast<std::size_t>(call) >= calls) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "'" + input.address() + "' has " + std::to_string(calls) +
                               (calls == 1 ? " captured call" : " captured calls") + ", so there is no call " +
                               std::to_string(call),
                           "Calls count from 0."};
    }
    input.callIndex = static_cast<std::size_t>(call);
    chooseProgram(input);
    return input;
}

base::Result<VersionInput> readRunInput(registry::Registry& registry, const std::string& addressOrId,
                                        const RunSettings& settings) {
    base::Result<VersionInput> input = readVersionInput(registry, addressOrId, settings.call);
    if (input) {
        input->usesSource = settings.engine == protocol::engine_name::kSource;
        input->edited = settings.edited;
        input->isTrusted = settings.isTrusted;
        input->needsCode = settings.needsCode;
    }
    return input;
}

base::Result<protocol::LoadParams> loadParams(registry::Registry& registry, const VersionInput& input,
                                              const std::string& device) {
    const base::Result<registry::FileExtent> program = registry.program(input.program);
    if (!program) {
        return program.error();
    }
    std::set<std::string> digests;
    for (const auto& [name, state] : input.document.stateTensors) {
        if (!state.tensor.digest.empty()) {
            digests.insert(state.tensor.digest);
        }
    }
    base::Result<std::vector<protocol::Extent>> tensors = tensorExtents(registry, digests);
    if (!tensors) {
        return tensors.error();
    }
    protocol::LoadParams params;
    params.name = input.address();
    params.program = toExtent(input.program, *program);
    params.tensors = *std::move(tensors);
    params.state = *input.document.stateJson;
    params.device = device;
    params.format = programFormat(input.programHow).name;
    return params;
}

base::Result<protocol::CallParams> callParams(registry::Registry& registry, const VersionInput& input) {
    if (const base::Result<void> there = checkInputsAreThere(input.call(), input.address()); !there) {
        return there.error();
    }
    std::set<std::string> digests;
    collectDigests(*input.call().json, digests);
    base::Result<std::vector<protocol::Extent>> tensors = tensorExtents(registry, digests);
    if (!tensors) {
        return tensors.error();
    }
    protocol::CallParams params;
    params.call = *input.call().json;
    params.tensors = *std::move(tensors);
    return params;
}

std::optional<int> capturedThreads(const capture::VersionDocument& document) {
    const auto threads = document.environment->find("threads");
    if (threads == document.environment->end() || !threads->is_object()) {
        return std::nullopt;
    }
    const auto count = threads->find("intra_op");
    constexpr std::int64_t kMost = 4096;
    if (count == threads->end() || !count->is_number_integer() || count->get<std::int64_t>() < 1 ||
        count->get<std::int64_t>() > kMost) {
        return std::nullopt;
    }
    return count->get<int>();
}

std::vector<std::string> environmentWarnings(const capture::VersionDocument& document, const protocol::InitializeResult& worker,
                                             const std::string& device) {
    std::vector<std::string> warnings;
    const nlohmann::json& environment = *document.environment;
    const std::string torch = publicVersion(environmentText(environment, nullptr, "torch"));
    const std::string workerTorch = publicVersion(worker.torchVersion);
    if (!torch.empty() && torch != workerTorch) {
        warnings.push_back("Captured with torch " + torch + ", run with torch " + workerTorch +
                           ": bits may differ for that reason.");
    }
    const std::string precision = environmentText(environment, nullptr, "float32_matmul_precision");
    if (!precision.empty() && !worker.float32MatmulPrecision.empty() && precision != worker.float32MatmulPrecision) {
        warnings.push_back("Captured with float32 matmul precision '" + precision + "', run with '" +
                           worker.float32MatmulPrecision + "': bits may differ for that reason.");
    }
    const std::string capturedDevice = environmentText(environment, nullptr, "device");
    if (!capturedDevice.empty() && deviceType(capturedDevice) != deviceType(device)) {
        warnings.push_back("Captured on " + capturedDevice + ", run on " + device + ": bits may differ for that reason.");
        return warnings;
    }
    const std::string capability = environmentText(environment, "cpu", "capability");
    const auto host = std::find_if(worker.devices.begin(), worker.devices.end(),
                                   [](const protocol::DeviceInfo& info) { return info.name == "cpu"; });
    if (deviceType(device) == "cpu" && host != worker.devices.end() && !capability.empty() && !host->capability.empty() &&
        capability != host->capability) {
        warnings.push_back("Captured with CPU capability " + capability + ", run with " + host->capability +
                           ": bits may differ for that reason.");
    }
    return warnings;
}

} // namespace modulelens::operations
