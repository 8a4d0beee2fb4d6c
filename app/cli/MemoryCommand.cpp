// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Runner.h"
#include "backend/operations/MemoryOperation.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/protocol/OptimizerSettings.h"

#include <nlohmann/json.hpp>

namespace modulelens::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kNodesShown = 50;

std::string known(const std::optional<std::int64_t>& value) {
    return value ? operations::bytesText(*value) : "unknown";
}

std::string bytesOf(const ordered_json& node, const char* key, const char* part) {
    const ordered_json& value = node[key][part];
    return value.is_null() || value == 0 ? "-" : operations::bytesText(value.get<std::int64_t>());
}

std::string memoryText(const operations::MemoryReport& report, const ordered_json& nodes) {
    const protocol::MemoryResult& result = report.result;
    std::string text = operations::versionAddress(report.version) + " on " + report.device + '\n';
    std::vector<std::vector<std::string>> totals = {{"Parameters", known(result.parameterBytes)},
                                                    {"Buffers", known(result.bufferBytes)},
                                                    {"Gradients", known(result.gradientBytes)}};
    for (const auto& [optimizer, bytes] : result.optimizerStateBytes) {
        totals.push_back({"State of " + optimizer, operations::bytesText(bytes)});
    }
    totals.push_back({"Saved for backward", known(result.activationBytes)});
    totals.push_back({"Storage held for it", known(result.activationHeldBytes)});
    totals.push_back({"Peak of a run", known(result.peakBytes)});
    totals.push_back({"Peak of training", known(result.trainingPeakBytes)});
    if (result.stepPeakBytes) {
        totals.push_back({"With the optimizer", known(result.stepPeakBytes)});
    }
    text += formatTable(totals, {});
    std::vector<std::vector<std::string>> rows = {
        {"PARAMETERS", "SAVED", "PEAK", "TRAINING PEAK", "MODULE", "OPERATOR OR CLASS"}};
    for (const ordered_json& node : nodes) {
        const std::string path = node["path"].get<std::string>();
        const bool isModule = node["kind"] == "module";
        rows.push_back(
            {bytesOf(node, "parameter_bytes", "self"), bytesOf(node, "activation_bytes", "self"),
             bytesOf(node, "peak_bytes", "self"), bytesOf(node, "training_peak_bytes", "self"),
             path.empty() ? "(module itself)" : path,
             isModule && node["class"].is_string() ? node["class"].get<std::string>() : node["name"].get<std::string>()});
    }
    text += formatTable(rows, {0, 1, 2, 3});
    for (const auto& [number, reason] : result.reasons) {
        text += number + " is unknown: " + reason + '\n';
    }
    if (!report.timelineFile.empty()) {
        text += "Timeline of " + operations::countText(result.events, "allocation or release", "allocations and releases") +
                ": " + report.timelineFile.string() + '\n';
    }
    return text;
}

} // namespace

base::Result<std::string> optimizerName(const CommandContext& context) {
    const std::string name = context.arguments().text("train");
    if (context.arguments().has("train")) {
        if (const auto settings = protocol::parseOptimizer(name); !settings) {
            return settings.error();
        }
    }
    return name;
}

base::Result<Answer> memoryOfVersion(CommandContext& context) {
    const base::Result<std::string> optimizer = optimizerName(context);
    if (!optimizer) {
        return optimizer.error();
    }
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    runner->settings.train = *optimizer;
    const auto report = runner->operations->memory(runner->address, runner->settings, runner->context);
    if (!report) {
        return report.error();
    }
    context.warnAll(report->warnings);
    const auto total = static_cast<std::size_t>(report->profile->scopeCount());
    Answer answer;
    answer.data = operations::memoryDocument(*report);
    answer.data["nodes_total"] = total;
    answer.data["nodes"] = operations::memoryNodes(*report->profile, context.arguments().has("all") ? total : kNodesShown);
    answer.text = memoryText(*report, answer.data["nodes"]);
    return answer;
}

} // namespace modulelens::cli
