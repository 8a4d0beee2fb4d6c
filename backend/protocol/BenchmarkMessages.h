// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/WorkerMessages.h"

/// The messages of `benchmark` (docs/formats/worker-protocol.md). Parsing as in WorkerMessages.h.
namespace modulelens::protocol {

/// How a run is timed. Numbers of different modes are never compared.
namespace benchmarkmode {
inline constexpr const char* kHot = "hot";             ///< The run before was of the same module.
inline constexpr const char* kCold = "cold";           ///< Last-level caches flushed before each run.
inline constexpr const char* kHostEndToEnd = "host_e2e";   ///< Putting inputs in place, the run, outputs on the host.
inline constexpr const char* kGraph = "graph";         ///< Replay of a captured device graph.
}  // namespace benchmarkmode

struct BenchmarkParams {
    CallParams call;
    std::optional<CallParams> against;   ///< The second side; threads and limits are those of `call`.
    std::string mode = benchmarkmode::kHot;
    std::optional<int> warmupRuns;       ///< Absent: until the times are steady.
    int repetitions = 50;                ///< Samples of each side; also bounded by budgetMs.
    std::int64_t budgetMs = 3000;
    std::uint64_t seed = 0;              ///< Decides the order within each round.
    bool count = false;                  ///< Count FLOPs and bytes after the timing.
};

/// One side: raw samples and what is known of the work.
struct BenchmarkSide {
    std::vector<std::int64_t> samplesNs;       ///< Host time, in the order of measuring.
    std::vector<std::int64_t> deviceNs;        ///< Empty when the device has no clock.
    std::vector<std::int64_t> order;           ///< Place of each sample among all timed runs.
    std::int64_t medianNs = 0;
    std::optional<std::int64_t> firstCallNs;   ///< Absent when this process had run the program before.
    int warmupRuns = 0;
    bool warmupCapped = false;
    std::optional<int> runsPerSample;          ///< Mode graph: a sample is the time of this many runs, divided by it.
    int operators = 0;                         ///< Dispatcher operators of the program.
    std::string outputs;                       ///< Last timed run against the first run: "exact", "close", "fail", "none".
    std::string outputsPointer;                ///< First output that differs.
    std::optional<std::int64_t> flops;
    std::vector<std::string> unknownOperators; ///< Not counted, so `flops` is a lower bound.
    std::optional<std::int64_t> bytesLeast;    ///< Inputs and weights that matrix products read whole.
    std::vector<std::string> dtypes;           ///< Floating element types in the program.
};

/// Where and under what conditions was measured. Absent: unknown, never 0.
struct MeasuringEnvironment {
    std::string host;
    std::string device;
    std::optional<std::string> deviceName;
    std::optional<std::string> deviceUuid;
    std::optional<std::string> driver;
    std::optional<bool> clockLocked;
    std::optional<std::int64_t> clockHzBefore;
    std::optional<std::int64_t> clockHzAfter;
    std::optional<std::string> governor;
    std::optional<std::string> throttleReasons;
    std::optional<double> powerLimitWatts;
    std::optional<int> cpus;                   ///< Logical processors that this process may use.
    std::optional<double> loadAverage;         ///< Of one minute, before.
    std::optional<double> otherCpus;           ///< Processors that other processes kept busy while samples were taken.
    std::optional<int> otherDeviceProcesses;
    std::optional<std::int64_t> memoryAvailableBytes;
    std::optional<std::int64_t> lastLevelCacheBytes;
    int threads = 1;
    int interopThreads = 1;
    std::string torchVersion;
    std::string float32MatmulPrecision;
    std::optional<bool> reducedPrecisionReduction;   ///< float16 or bfloat16 products may add up in their own precision.
    bool deterministicAlgorithms = false;
};

struct BenchmarkResult {
    std::string mode;
    std::int64_t medianNs = 0;                 ///< Of the first side.
    std::vector<BenchmarkSide> sides;          ///< One or two.
    std::vector<std::int64_t> againNs;         ///< Of two sides: the first once more in each round.
    std::vector<std::int64_t> againOrder;
    std::string deviceReason;                  ///< Why there is no device time.
    std::int64_t timerNs = 0;                  ///< Cost of reading the clock.
    std::int64_t nullOperatorNs = 0;           ///< Cost of an operator that does nothing.
    std::optional<std::int64_t> flushedBytes;  ///< Mode cold: written before each run.
    MeasuringEnvironment environment;
};

#define MODULELENS_MESSAGE(Type)                      \
    [[nodiscard]] nlohmann::json toJson(const Type&); \
    [[nodiscard]] base::Result<Type> parse##Type(const nlohmann::json& json)

MODULELENS_MESSAGE(BenchmarkParams);
MODULELENS_MESSAGE(BenchmarkSide);
MODULELENS_MESSAGE(MeasuringEnvironment);
MODULELENS_MESSAGE(BenchmarkResult);
#undef MODULELENS_MESSAGE

}  // namespace modulelens::protocol
