// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "backend/operations/Calibrating.h"
#include "backend/operations/CalibrationStore.h"
#include "backend/operations/Sentences.h"

namespace modulelens::cli {

namespace {

std::string calibrationText(const operations::CalibrationReport& report) {
    const protocol::CalibrateResult& result = report.result;
    const auto rate = [](std::int64_t bytes) { return operations::bytesText(bytes) + "/s"; };
    std::vector<std::vector<std::string>> rows = {{"Read", rate(result.readBytesPerSecond)},
                                                  {"Copy", rate(result.copyBytesPerSecond)},
                                                  {"Triad", rate(result.triadBytesPerSecond)}};
    for (const protocol::PeakRate& peak : result.peaks) {
        rows.push_back({peak.dtype, operations::flopsText(peak.flopsPerSecond) + "/s"});
    }
    rows.push_back({"Clock read", operations::durationText(result.timerNs)});
    rows.push_back({"Empty operator", operations::durationText(result.nullOperatorNs)});
    std::string text = result.environment.device + " with " +
                       operations::countText(result.environment.threads, "thread", "threads") + '\n' + formatTable(rows, {1});
    for (const std::string& reason : result.unmeasured) {
        text += "Not measured: " + reason + '\n';
    }
    return text + (report.file.empty() ? std::string() : "Stored in " + report.file.string() + '\n');
}

} // namespace

base::Result<Answer> calibrate(CommandContext& context) {
    const base::Result<operations::RunSettings> settings = context.runSettings();
    if (!settings) {
        return settings.error();
    }
    const base::Result<operations::OperationContext> operation = context.operationContext();
    if (!operation) {
        return operation.error();
    }
    const base::Result<std::optional<std::chrono::milliseconds>> budget = context.arguments().seconds("budget");
    if (!budget) {
        return budget.error();
    }
    constexpr std::chrono::seconds kDefaultBudget{10};
    operations::Operations operations(nullptr, {});
    const auto report = operations.calibrate(*settings, budget->value_or(kDefaultBudget).count(), *operation);
    if (!report) {
        return report.error();
    }
    context.warnAll(report->warnings);
    Answer answer;
    answer.data = operations::calibrationDocument(*report);
    answer.text = calibrationText(*report);
    return answer;
}

} // namespace modulelens::cli
