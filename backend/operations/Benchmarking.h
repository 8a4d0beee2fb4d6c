// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Operations.h"
#include "backend/profile/Statistics.h"
#include "backend/protocol/BenchmarkMessages.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::operations {

class WorkerJobs;

struct BenchmarkSettings {
    RunSettings run;
    std::string mode = protocol::benchmarkmode::kHot;
    int repetitions = 50;                  ///< Samples of each side, or turns of each worker.
    std::int64_t budgetMs = 3000;
    std::uint64_t seed = 0;
    /// The command of a second worker, which measures the second side: another engine, another build, another machine.
    std::vector<std::string> againstWorker;
    /// Source engine: takes the place of captured classes on the second side.
    std::optional<protocol::EditedSource> edited;
    bool isFirstTrusted = false;           ///< Source engine: nobody is asked for consent to the code of the first side.
    bool secondNeedsCode = false;          ///< Source engine: the second side is never rebuilt from the program.
};

/// A condition that makes a number doubtful. Names as in docs/cli.md, "Flags".
struct MeasuringFlag {
    std::string name;
    std::string sentence;
};

/// One side of a benchmark.
struct BenchmarkSideReport {
    registry::VersionSummary version;
    int call = 0;
    std::string worker;                    ///< "modulelens-worker 0.1.0".
    std::string engine;
    protocol::BenchmarkSide measured;
    std::optional<profile::SampleStatistics> host;      ///< Absent: no samples.
    std::optional<profile::SampleStatistics> device;
    std::string deviceReason;
    protocol::MeasuringEnvironment environment;
    std::int64_t timerNs = 0;
    std::int64_t nullOperatorNs = 0;
    std::optional<std::int64_t> floorNs;   ///< No device of this kind can be faster.
    std::string floorReason;               ///< Why the floor is unknown.
    std::vector<MeasuringFlag> flags;
};

struct BenchmarkReport {
    std::string mode;
    std::uint64_t seed = 0;
    int samplesPerTurn = 1;                ///< Above 1: two workers, whose pairs are medians of turns.
    std::vector<BenchmarkSideReport> sides;
    std::vector<std::int64_t> againNs;
    std::optional<std::int64_t> flushedBytes;
    std::optional<profile::PairedRatio> ratio;          ///< Two sides: how many times as fast the second is as the first.
    std::optional<profile::PairedRatio> sameSide;       ///< The first side against itself in the same session.
    std::optional<double> aaBand;
    std::optional<double> delta;           ///< Smallest difference that counts.
    std::optional<profile::Verdict> verdict;            ///< Two sides only.
    std::string verdictReason;
    std::vector<MeasuringFlag> flags;      ///< Of the session.
    std::vector<std::string> warnings;
    std::string resultId;
};

/// Measures one version, or the second against the first: in one worker, or the second in `otherWorker` when that is not
/// null, taken in turn under the device lock. InvalidArgument: not one or two addresses, settings that no worker can measure
/// with, or workers that measured under different settings. Unsupported: a version has no program.
[[nodiscard]] base::Result<BenchmarkReport> runBenchmark(registry::Registry& registry, WorkerJobs& worker,
                                                         WorkerJobs* otherWorker, const std::vector<std::string>& addresses,
                                                         const BenchmarkSettings& settings, const OperationContext& context);

/// What may be compared: one mode, thread count and precision on both sides. InvalidArgument names what differs.
[[nodiscard]] base::Result<void> checkComparable(const protocol::BenchmarkResult& first,
                                                 const protocol::BenchmarkResult& second);

/// Fills in statistics, ratio, band, floor, flags and verdict from the raw samples of `report`. Pure.
/// `pairsNs` are the times that are compared, when these are not the samples themselves: of first, second and first again.
void judge(BenchmarkReport& report, const std::vector<std::vector<std::int64_t>>& pairsNs);

[[nodiscard]] nlohmann::ordered_json benchmarkDocument(const BenchmarkReport& report);
/// A sentence where other processes left too few processors for the threads of the measurement; else empty.
[[nodiscard]] std::string otherLoad(const protocol::MeasuringEnvironment& environment);
[[nodiscard]] nlohmann::ordered_json environmentDocument(const protocol::MeasuringEnvironment& environment);
/// "1.24 ms (95 %: 1.20 to 1.31 ms), 50 samples, hot." or "1.32 times as fast (95 %: 1.25 to 1.40): faster."
[[nodiscard]] std::string benchmarkSentence(const BenchmarkReport& report);

} // namespace modulelens::operations
