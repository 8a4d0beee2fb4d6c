// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "app/cli/Runner.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"

#include <nlohmann/json.hpp>

namespace modulelens::cli {

namespace {

constexpr std::size_t kNodesShown = 50;

} // namespace

base::Result<Answer> rebuild(CommandContext& context) {
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    const auto report = runner->operations->rebuild(runner->address, runner->settings, runner->context);
    if (!report) {
        return report.error();
    }
    context.warnAll(report->warnings);
    Answer answer;
    answer.data = operations::rebuildDocument(*report);
    answer.text = operations::versionAddress(report->version) + ": " + operations::rebuildSentence(*report) + '\n';
    std::vector<std::vector<std::string>> rows = {{"OUTPUT", "DTYPE", "SHAPE"}};
    for (const protocol::OutputTensor& output : report->outputs) {
        rows.push_back({output.pointer, output.dtype, nlohmann::json(output.shape).dump()});
    }
    answer.text += formatTable(rows, {});
    return answer;
}

namespace {

using nlohmann::ordered_json;

std::string known(const std::optional<std::int64_t>& value, std::string (*format)(std::int64_t)) {
    return value ? format(*value) : "unknown";
}

std::string nodeMetric(const ordered_json& node, const char* key, const char* part, std::string (*format)(std::int64_t)) {
    const ordered_json& value = node[key][part];
    return value.is_null() ? "-" : format(value.get<std::int64_t>());
}

std::string intensityText(const ordered_json& node) {
    const ordered_json& value = node["intensity"]["total"];
    if (!value.is_number()) {
        return "-";
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value.get<double>());
    return text;
}

std::string trainingText(const protocol::TrainingResult& training) {
    std::vector<std::vector<std::string>> rows = {{"Backward", known(training.backwardNs, operations::durationText)},
                                                  {"Backward FLOPs", known(training.flops, operations::flopsText)},
                                                  {"Gradients", known(training.gradientBytes, operations::bytesText)},
                                                  {"Peak of training", known(training.peakBytes, operations::bytesText)}};
    if (!training.optimizer.empty()) {
        rows.push_back({"Optimizer " + training.optimizer, known(training.optimizerNs, operations::durationText)});
        rows.push_back({"Its state", known(training.optimizerStateBytes, operations::bytesText)});
        rows.push_back({"Whole step", known(training.stepNs, operations::durationText)});
    }
    std::string text = formatTable(rows, {});
    for (const auto& [number, reason] : training.reasons) {
        text += number + " is unknown: " + reason + '\n';
    }
    return text;
}

std::string profileText(const operations::ProfileReport& report, const ordered_json& nodes) {
    const protocol::ProfileResult& result = report.result;
    std::string text = operations::versionAddress(report.version) + " on " + report.device + ", " +
                       operations::countText(report.threads, "thread", "threads") + '\n';
    text += formatTable(
        {{"Latency", known(result.latencyNs, operations::durationText)},
         {"FLOPs", (result.unknown.empty() || !result.flops ? "" : "at least ") + known(result.flops, operations::flopsText)},
         {"Bytes moved", result.costs ? known(result.costs->bytes, operations::bytesText) : "unknown"},
         {"Parameters", known(result.parameterBytes, operations::bytesText)},
         {"Saved for backward", known(result.activationBytes, operations::bytesText)},
         {"Peak memory", known(result.peakBytes, operations::bytesText)}},
        {});
    if (result.training) {
        text += trainingText(*result.training);
    }
    std::vector<std::vector<std::string>> rows = {
        {"SELF", "TOTAL", "BACKWARD", "FLOPS", "FLOPS/BYTE", "MODULE", "OPERATOR OR CLASS"}};
    for (const ordered_json& node : nodes) {
        const std::string path = node["path"].get<std::string>();
        const bool isModule = node["kind"] == "module";
        rows.push_back(
            {nodeMetric(node, "latency_ns", "self", operations::durationText),
             nodeMetric(node, "latency_ns", "total", operations::durationText),
             node["backward"].is_null() ? "-" : nodeMetric(node["backward"], "latency_ns", "self", operations::durationText),
             nodeMetric(node, "flops", "total", operations::flopsText), intensityText(node),
             path.empty() ? "(module itself)" : path,
             isModule && node["class"].is_string() ? node["class"].get<std::string>() : node["name"].get<std::string>()});
    }
    text += formatTable(rows, {0, 1, 2, 3});
    for (const auto& [metric, reason] : result.reasons) {
        text += metric + " is unknown: " + reason + '\n';
    }
    if (result.costs) {
        for (const protocol::FlopDifference& difference : result.costs->staticDifference) {
            text += difference.name + " counts " + known(difference.observed, operations::flopsText) + " in the run and " +
                    known(difference.other, operations::flopsText) + " from the graph: " + difference.reason + '\n';
        }
        for (const protocol::FlopDifference& difference : result.costs->torchDifference) {
            text += difference.name + " count " + known(difference.observed, operations::flopsText) + " here and " +
                    known(difference.other, operations::flopsText) + " in PyTorch's counter: " + difference.reason + '\n';
        }
    }
    return text;
}

} // namespace

base::Result<Answer> profileVersion(CommandContext& context) {
    const base::Result<std::string> optimizer = optimizerName(context);
    if (!optimizer) {
        return optimizer.error();
    }
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    runner->settings.backward = context.arguments().has("backward");
    runner->settings.train = *optimizer;
    const auto report = runner->operations->profile(runner->address, runner->settings, runner->context);
    if (!report) {
        return report.error();
    }
    context.warnAll(report->warnings);
    const auto total = static_cast<std::size_t>(report->profile->scopeCount());
    const std::size_t limit = context.arguments().has("all") ? total : kNodesShown;
    Answer answer;
    answer.data = operations::profileDocument(*report);
    answer.data["nodes_total"] = total;
    answer.data["nodes"] = operations::heaviestNodes(*report->profile, limit);
    answer.text = profileText(*report, answer.data["nodes"]);
    return answer;
}

} // namespace modulelens::cli
