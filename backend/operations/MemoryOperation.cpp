// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/MemoryOperation.h"

#include "backend/base/FileSystem.h"
#include "backend/operations/OperationSteps.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/WorkerJobs.h"
#include "backend/profile/ProfileFile.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>

namespace modulelens::operations {

namespace {

using nlohmann::ordered_json;

ordered_json orNull(const std::optional<std::int64_t>& value) {
    return value ? ordered_json(*value) : ordered_json();
}

ordered_json textOrNull(const std::string& text) {
    return text.empty() ? ordered_json() : ordered_json(text);
}

/// Bytes that belong to a scope itself.
std::int64_t ownBytes(const profile::Profile& profile, profile::ScopeId scope) {
    const auto self = [&](const char* metric) {
        const profile::Column* column = profile.column(metric, profile::Direction::Forward);
        const std::int64_t value = column == nullptr ? 0 : column->self[static_cast<std::size_t>(scope)];
        return value == profile::kUnknown ? std::int64_t{0} : value;
    };
    return self("parameters") + self("buffers") + self("gradients") + std::max(self("peak"), self("training_peak"));
}

} // namespace

base::Result<MemoryReport> measureMemory(registry::Registry& registry, WorkerJobs& worker, const std::string& addressOrId,
                                         const RunSettings& settings, const OperationContext& context) {
    const base::Result<VersionInput> input = readRunInput(registry, addressOrId, settings);
    if (!input) {
        return input.error();
    }
    base::Result<protocol::CallParams> call =
        programCall(registry, *input, "The bytes of its parameters can still be seen with 'tree'.");
    if (!call) {
        return call.error();
    }
    protocol::MemoryParams params;
    params.call = *std::move(call);
    params.call.threads = settings.threads;
    params.name = lastClassSegment(input->document.className);
    params.train = settings.train;
    MemoryReport report;
    report.version = input->summary;
    report.device = settings.device;
    const auto job = [&](workerclient::WorkerClient& client, const WorkerJobs::Loaded& loaded,
                         const workerclient::RequestContext& request) -> base::Result<void> {
        params.call.handle = loaded.load.handle;
        base::Result<protocol::MemoryResult> result = client.memory(params, request);
        if (!result) {
            return result.error();
        }
        base::Result<std::shared_ptr<const profile::Profile>> tree = profile::readProfile(base::realFileSystem(), result->file);
        removeScratchFile(result->file);
        if (!tree) {
            return tree.error();
        }
        report.profile = *std::move(tree);
        report.result = *std::move(result);
        report.warnings = loaded.warnings;
        return {};
    };
    if (base::Result<void> done = worker.run(registry, *input, settings.device, context, job); !done) {
        return done.error();
    }
    report.threads = settings.threads.value_or(0);
    if (const auto fact = report.profile->facts().find("threads"); fact != report.profile->facts().end()) {
        std::from_chars(fact->second.data(), fact->second.data() + fact->second.size(), report.threads);
    }
    const registry::StoredResult stored = storeResult(
        registry, report.version.id,
        {{}, "memory", {}, settings.device, report.engine, serialized(memoryDocument(report)), report.result.timelineFile},
        report.warnings);
    report.resultId = stored.id;
    report.timelineFile = stored.file;
    removeScratchFile(report.result.timelineFile);
    report.result.file.clear();
    report.result.timelineFile.clear();
    return report;
}

ordered_json memoryDocument(const MemoryReport& report) {
    const protocol::MemoryResult& result = report.result;
    return {{"id", report.version.id},
            {"address", versionAddress(report.version)},
            {"class", report.version.className},
            {"engine", report.engine},
            {"device", report.device},
            {"threads", report.threads},
            {"sentence", memorySentence(report)},
            {"totals",
             {{"parameter_bytes", orNull(result.parameterBytes)},
              {"buffer_bytes", orNull(result.bufferBytes)},
              {"gradient_bytes", orNull(result.gradientBytes)},
              {"optimizer_state_bytes", result.optimizerStateBytes},
              {"activation_bytes", orNull(result.activationBytes)},
              {"activation_held_bytes", orNull(result.activationHeldBytes)},
              {"peak_bytes", orNull(result.peakBytes)},
              {"training_peak_bytes", orNull(result.trainingPeakBytes)},
              {"step_peak_bytes", orNull(result.stepPeakBytes)},
              {"reserved_peak_bytes", orNull(result.reservedPeakBytes)},
              {"device_used_bytes", orNull(result.deviceUsedBytes)}}},
            {"optimizer_state_formulas", result.optimizerStateFormulas},
            {"loss", textOrNull(result.loss)},
            {"reasons", result.reasons},
            {"events", result.events},
            {"timeline_file", textOrNull(report.timelineFile.string())},
            {"result", textOrNull(report.resultId)}};
}

ordered_json memoryNodes(const profile::Profile& profile, std::size_t limit) {
    std::vector<profile::ScopeId> order(static_cast<std::size_t>(profile.scopeCount()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](profile::ScopeId left, profile::ScopeId right) {
        return ownBytes(profile, left) > ownBytes(profile, right);
    });
    order.resize(std::min(limit, order.size()));
    return nodesOf(profile, order, MetricChoice::Memory);
}

std::string memorySentence(const MemoryReport& report) {
    const protocol::MemoryResult& result = report.result;
    std::string sentence = "Parameters " + bytesText(result.parameterBytes.value_or(0));
    if (result.peakBytes) {
        sentence += ", one run " + bytesText(*result.peakBytes);
    }
    if (result.trainingPeakBytes) {
        sentence += ", forward and backward " + bytesText(*result.trainingPeakBytes);
    }
    return sentence + ".";
}

} // namespace modulelens::operations
