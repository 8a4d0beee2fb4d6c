// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Benchmarking.h"
#include "backend/operations/SweepInputs.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::operations {

struct VersionInput;
class WorkerJobs;

/// One dimension of a sweep: a size of the program and the values that it takes.
struct SweepDimension {
    std::string name;                      ///< "batch", a symbol, or a place such as "/args/0:1".
    std::vector<std::int64_t> values;
};

/// Reads "batch=1,2,4,8". InvalidArgument: no name, no value, a value that is not a positive integer, or one twice.
[[nodiscard]] base::Result<SweepDimension> parseSweepDimension(const std::string& text);

struct SweepSettings {
    RunSettings run;
    std::vector<SweepDimension> dimensions;
    std::string mode = protocol::benchmarkmode::kHot;
    int repetitions = 20;                  ///< Samples of each point.
    std::int64_t budgetMs = 1000;          ///< Of each point.
};

/// One combination of values.
struct SweepPoint {
    std::vector<std::int64_t> values;      ///< In the order of the dimensions.
    std::optional<base::Error> error;      ///< Why it has no numbers.
    std::string inputs;                    ///< "captured", "cut", "tiled", "cut_and_tiled".
    std::int64_t items = 0;                ///< First dimension of the first tensor input: what throughput counts.
    std::optional<BenchmarkSideReport> side;
    std::optional<std::int64_t> peakBytes;
    std::optional<std::int64_t> activationBytes;
    std::map<std::string, std::string> reasons;         ///< Why a number of bytes is unknown.
};

struct SweepReport {
    registry::VersionSummary version;
    std::string mode;
    std::string device;
    std::vector<SweepDimension> dimensions;
    std::vector<DynamicSize> sizes;        ///< Every size that the program leaves open.
    std::vector<SweepPoint> points;
    std::vector<std::string> warnings;
    std::string resultId;

    [[nodiscard]] int okCount() const;
};

/// Measures every combination of the values, under the device lock, the last dimension changing fastest. A point that fails keeps
/// its error, and the others are measured all the same, in a new worker if need be. InvalidArgument: no dimension, one
/// that the program does not have, or too many points. Unsupported: no program. Cancelled, Timeout: the whole sweep. The error of
/// the first point when none could be measured.
[[nodiscard]] base::Result<SweepReport> runSweep(registry::Registry& registry, WorkerJobs& worker,
                                                 const graph::Program& program, const VersionInput& input,
                                                 const SweepSettings& settings, const OperationContext& context);

[[nodiscard]] nlohmann::ordered_json sweepDocument(const SweepReport& report);
/// "4 of 5 points measured. Left out: batch = 1, outside the range 2 and up that the program was exported for."
[[nodiscard]] std::string sweepSentence(const SweepReport& report);

} // namespace modulelens::operations
