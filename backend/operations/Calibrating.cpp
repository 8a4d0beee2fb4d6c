// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Calibrating.h"

#include "backend/operations/Benchmarking.h"
#include "backend/operations/CalibrationStore.h"
#include "backend/operations/DeviceLock.h"
#include "backend/operations/WorkerJobs.h"

#include <nlohmann/json.hpp>

namespace modulelens::operations {

base::Result<CalibrationReport> runCalibration(WorkerJobs& worker, const RunSettings& settings, std::int64_t budgetMs,
                                               const OperationContext& context) {
    const base::Result<DeviceLock> lock = DeviceLock::acquire(settings.device, context);
    if (!lock) {
        return lock.error();
    }
    CalibrationReport report;
    const auto job = [&](workerclient::WorkerClient& client,
                         const workerclient::RequestContext& request) -> base::Result<void> {
        const base::Result<protocol::InitializeResult> facts = client.initialize(request);
        if (!facts) {
            return facts.error();
        }
        report.worker = facts->worker;
        base::Result<protocol::CalibrateResult> result =
            client.calibrate({settings.device, settings.threads, budgetMs, std::nullopt}, request);
        if (!result) {
            return result.error();
        }
        report.result = *std::move(result);
        return {};
    };
    if (base::Result<void> done = worker.use(context, job); !done) {
        return done.error();
    }
    if (const std::string sentence = otherLoad(report.result.environment); !sentence.empty()) {
        report.warnings.push_back(sentence + " The machine's own peaks may be higher: calibrate again when it is idle.");
    }
    base::Result<std::filesystem::path> stored = storeCalibration(calibrationFolder(), report.result);
    if (stored) {
        report.file = *std::move(stored);
    } else {
        report.warnings.push_back("The calibration was not stored: " + stored.error().message);
    }
    return report;
}

nlohmann::ordered_json calibrationDocument(const CalibrationReport& report) {
    const protocol::CalibrateResult& result = report.result;
    nlohmann::ordered_json peaks = nlohmann::ordered_json::array();
    for (const protocol::PeakRate& peak : result.peaks) {
        peaks.push_back({{"dtype", peak.dtype}, {"flops_per_second", peak.flopsPerSecond}, {"size", peak.size}});
    }
    return {{"device", result.environment.device},
            {"threads", result.environment.threads},
            {"read_bytes_per_second", result.readBytesPerSecond},
            {"copy_bytes_per_second", result.copyBytesPerSecond},
            {"triad_bytes_per_second", result.triadBytesPerSecond},
            {"peak_bytes_per_second", peakBytesPerSecond(result)},
            {"array_bytes", result.arrayBytes},
            {"peaks", std::move(peaks)},
            {"unmeasured", result.unmeasured},
            {"timer_ns", result.timerNs},
            {"null_operator_ns", result.nullOperatorNs},
            {"environment", environmentDocument(result.environment)},
            {"worker", report.worker},
            {"file", report.file.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(report.file.string())}};
}

} // namespace modulelens::operations
