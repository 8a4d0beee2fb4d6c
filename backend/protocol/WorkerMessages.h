// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/protocol/CostMessages.h"
#include "backend/protocol/TrainingResult.h"
#include "backend/protocol/ValidationMessages.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The worker protocol, typed (docs/formats/worker-protocol.md). Wire names stand in WorkerMessages.cpp alone. Every
/// struct has toJson and parse<Type>; parsing gives InvalidArgument naming the key, ignores unknown keys, and never throws.
namespace modulelens::protocol {

inline constexpr int kProtocolVersion = 1;

struct InitializeParams {
    int protocolVersion = kProtocolVersion;
    std::string client;                  ///< "modulelens-explorer 0.1.0".
    std::string scratchFolder;           ///< Where the worker writes result files; exists.
    std::optional<int> threads;          ///< Intra-op threads; the worker's default when absent.
};

struct DeviceInfo {
    std::string name;                    ///< "cpu", "cuda:0".
    std::string description;             ///< Processor or GPU name.
    std::optional<std::int64_t> memoryBytes;
    std::string capability;              ///< "AVX2", "sm_90", or empty.
};

struct InitializeResult {
    int protocolVersion = kProtocolVersion;
    std::string worker;                  ///< "modulelens-worker 0.1.0".
    std::string engine;                  ///< "program" or "source".
    std::string torchVersion;
    int threads = 1;
    std::vector<DeviceInfo> devices;
    std::vector<std::string> capabilities;   ///< Method names.
    std::string float32MatmulPrecision;      ///< "highest", "high", "medium", or empty when unknown.
    std::string host;                        ///< Name of the worker's machine, or empty when unknown.
};

/// Data by place: packs, bundles and caches look alike.
struct Extent {
    std::string digest;
    std::string file;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

/// A shared library that registers operators (TORCH_LIBRARY), by the sha256 of its bytes.
struct OperatorLibrary {
    std::string file;
    std::string sha256;
};

/// How the file of a program is run.
namespace program_format {
inline constexpr const char* kExported = "exported";         ///< torch.export archive without weights and pickles.
inline constexpr const char* kTorchScript = "torchscript";   ///< Archive of torch.jit.save. Needs consent.
inline constexpr const char* kAotInductor = "aotinductor";   ///< Package with a compiled library. Needs consent.
}  // namespace program_format

struct LoadParams {
    std::string name;                    ///< For messages: "minilm-l6::encoder.layer.0@v0".
    Extent program;
    std::vector<Extent> tensors;         ///< Data of every digest that state and calls name.
    nlohmann::json state;                ///< {FQN: tensor reference} as in docs/formats/bundle.md, "state.tensors".
    std::string device = "cpu";
    std::string format = program_format::kExported;
    std::vector<OperatorLibrary> libraries;   ///< Loaded first, each once in a process.
    std::vector<std::string> consent;    ///< sha256 of the files that the user allows to be unpickled or loaded as code.
};

struct LoadResult {
    int handle = 0;
    std::int64_t loadNs = 0;
    int operatorCount = 0;
    std::vector<std::string> warnings;
};

struct UnloadParams {
    int handle = 0;
};

/// Used by run, benchmark, profile and memory, and part of validate's.
struct CallParams {
    int handle = 0;
    nlohmann::json call;                 ///< The captured call object.
    std::vector<Extent> tensors;         ///< Data that this call needs beyond what load named.
    std::optional<int> threads;          ///< Validate defaults to the capture's count; the client passes it.
    std::optional<std::int64_t> timeoutMs;
};

struct OutputTensor {
    std::string pointer;                 ///< Where it stands in the call ("/output/v/0").
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::string key;                     ///< In RunResult::file.
};

struct RunResult {
    std::string file;                    ///< safetensors in the scratch folder.
    std::vector<OutputTensor> outputs;
    std::int64_t hostNs = 0;
};

/// Comparison of one output or written-to input with the capture.
struct LeafResult {
    std::string pointer;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::string verdict;                 ///< "exact", "close", "fail", "not_comparable".
    std::string reason;                  ///< Why it fails or cannot be compared.
    std::optional<double> maxAbsDiff;
    std::optional<double> maxRelDiff;
    std::int64_t mismatched = 0;         ///< Elements outside the tolerance.
    std::int64_t elements = 0;
    std::vector<std::int64_t> worstIndex;
    std::string expected;                ///< At worstIndex, shortest text that round-trips.
    std::string got;
    double relativeTolerance = 0;
    double absoluteTolerance = 0;
    LeafStatistics statistics;
};

struct ValidateParams {
    ValidateParams() = default;
    /// A call alone is a whole request.
    ValidateParams(CallParams params) : call(std::move(params)) {}

    CallParams call;
    std::optional<int> repeats;          ///< Runs in all; absent: 5, fewer when they take long.
    bool wantsOracle = false;            ///< The float64 run even when all bits are equal.
    std::vector<nlohmann::json> sameCalls;   ///< Other captured calls with the same inputs: the reference's own noise.
};

struct ValidateResult {
    std::string verdict;                 ///< "pass", "fail", "not_comparable".
    bool exact = false;
    std::optional<double> maxAbsDiff;    ///< Over all leaves; absent when nothing was comparable.
    std::vector<LeafResult> leaves;
    int threads = 1;
    std::string reason;                  ///< For not_comparable.
    std::vector<std::string> warnings;   ///< A different CPU capability or torch version, ...
    std::optional<RepeatResult> repeats; ///< Absent when nothing was run.
    std::optional<OracleResult> oracle;
};

struct ProfileParams {
    CallParams call;
    int warmupRuns = 3;
    int repetitions = 20;                ///< Timed repetitions; also bounded by budgetMs.
    std::int64_t budgetMs = 3000;
    std::string name;                    ///< Class or module name for the root scope.
    std::map<std::string, std::string> facts;   ///< To be kept in the profile, such as the peaks of the machine.
    bool backward = false;               ///< The backward pass as well.
    std::string train;                   ///< A training step with this optimizer (OptimizerSettings.h); empty: none.
};

struct ProfileResult {
    std::string file;                    ///< Profile file (docs/formats/profile.md) in the scratch folder.
    std::optional<std::int64_t> latencyNs;          ///< Median of the plain runs.
    std::optional<std::int64_t> operatorSumNs;      ///< Median sum of per-operator times in the timing pass.
    std::optional<std::int64_t> timedRunNs;         ///< Median wall time of a run with per-operator timing.
    std::optional<std::int64_t> flops;
    std::optional<std::int64_t> parameterBytes;
    std::optional<std::int64_t> activationBytes;
    std::optional<std::int64_t> peakBytes;
    std::vector<std::int64_t> samplesNs;            ///< Plain runs, in order.
    std::vector<std::string> counted;
    std::vector<std::string> zero;
    std::vector<std::string> unknown;
    std::map<std::string, std::string> reasons;     ///< Metric id to why it is unknown.
    std::optional<CostSummary> costs;               ///< Absent when the pass did not run.
    std::optional<TrainingResult> training;         ///< When backward or train was asked for.
};

struct Progress {
    std::int64_t requestId = 0;
    std::string stage;                   ///< "load", "warm-up", "timing", "memory", "flops", "compare".
    std::int64_t done = 0;
    std::int64_t total = 0;              ///< 0 when unknown.
};

/// Something the worker wants a person to see ($/log).
struct LogEntry {
    std::string level;                   ///< "info", "warning", "error".
    std::string text;
};

#define MODULELENS_MESSAGE(Type)                      \
    [[nodiscard]] nlohmann::json toJson(const Type&); \
    [[nodiscard]] base::Result<Type> parse##Type(const nlohmann::json& json)

MODULELENS_MESSAGE(InitializeParams);
MODULELENS_MESSAGE(InitializeResult);
MODULELENS_MESSAGE(OperatorLibrary);
MODULELENS_MESSAGE(LoadParams);
MODULELENS_MESSAGE(LoadResult);
MODULELENS_MESSAGE(UnloadParams);
MODULELENS_MESSAGE(CallParams);
MODULELENS_MESSAGE(RunResult);
MODULELENS_MESSAGE(LeafResult);
MODULELENS_MESSAGE(ValidateParams);
MODULELENS_MESSAGE(ValidateResult);
MODULELENS_MESSAGE(ProfileParams);
MODULELENS_MESSAGE(ProfileResult);
MODULELENS_MESSAGE(Progress);
MODULELENS_MESSAGE(LogEntry);
#undef MODULELENS_MESSAGE

/// Method names on the wire.
namespace method {
inline constexpr const char* kInitialize = "initialize";
inline constexpr const char* kLoad = "load";
inline constexpr const char* kUnload = "unload";
inline constexpr const char* kRun = "run";
inline constexpr const char* kValidate = "validate";
inline constexpr const char* kBenchmark = "benchmark";
inline constexpr const char* kCalibrate = "calibrate";
inline constexpr const char* kProfile = "profile";
inline constexpr const char* kMemory = "memory";
inline constexpr const char* kGradients = "gradients";
inline constexpr const char* kShutdown = "shutdown";
inline constexpr const char* kCancel = "$/cancelRequest";
inline constexpr const char* kProgress = "$/progress";
inline constexpr const char* kLog = "$/log";
}  // namespace method

}  // namespace modulelens::protocol
