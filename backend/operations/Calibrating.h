// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Operations.h"
#include "backend/protocol/CalibrateMessages.h"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace modulelens::operations {

class WorkerJobs;

struct CalibrationReport {
    protocol::CalibrateResult result;
    std::filesystem::path file;            ///< Where it is kept.
    std::string worker;
    std::vector<std::string> warnings;
};

/// Measures the peaks of settings.device under the device lock and stores them. EnvironmentMissing: no such device.
[[nodiscard]] base::Result<CalibrationReport> runCalibration(WorkerJobs& worker, const RunSettings& settings,
                                                             std::int64_t budgetMs, const OperationContext& context);

[[nodiscard]] nlohmann::ordered_json calibrationDocument(const CalibrationReport& report);

} // namespace modulelens::operations
