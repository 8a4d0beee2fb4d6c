// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/profile/Profile.h"
#include "backend/protocol/SourceMessages.h"
#include "backend/protocol/WorkerMessages.h"
#include "backend/registry/Registry.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::operations {

struct BenchmarkReport;
struct BenchmarkSettings;
struct CalibrationReport;
struct SweepReport;
struct SweepSettings;
struct VerifyReport;
struct VerifySettings;

/// What a use case needs to know of its surroundings. Callbacks come on any thread.
struct OperationContext {
    std::stop_token stop;
    std::function<void(const protocol::Progress&)> progress;
    std::function<void(const std::string&)> log;
    std::optional<std::chrono::milliseconds> timeout;
};

struct RunSettings {
    std::string device = "cpu";
    std::optional<int> threads;            ///< Absent: the capture's count for validation, the worker's default else.
    int call = 0;                          ///< Which captured call.
    std::optional<int> repeats;            ///< Runs of a validation; absent: 5, fewer when they take long.
    bool wantsOracle = false;              ///< Validation in float64 too, even when all bits are equal.
    bool backward = false;                 ///< Validation and profile: the backward pass as well.
    std::string train;                     ///< Profile and memory: the optimizer of a training step; empty: none.
    std::string engine = protocol::engine_name::kProgram;   ///< Or kSource: from its class, in a Python worker.
    std::optional<protocol::EditedSource> edited;           ///< Source engine: in the place of captured classes.
    /// Source engine: the user consented to whatever code this needs, for now; that is not remembered.
    bool isTrusted = false;
    bool needsCode = false;                ///< Source engine: never from the program, which holds no changed code.
};

/// How to import a file that no tracer wrote; bundles need none of it.
struct ImportSettings {
    std::string model;                     ///< Name of the model; empty: the file's name without its suffix.
    std::vector<std::string> inputs;       ///< As parseSampleInput reads them, in order of the arguments.
    bool isTrusted = false;                ///< The user consents to this file; that is remembered.
};

class Permissions;

struct RebuildReport {
    registry::VersionSummary version;
    std::string engine;                    ///< "program" or "source".
    /// Of the program: "non_strict", "strict", "draft", "foreign", "torchscript", "aotinductor"; of the source engine:
    /// "structure", "init", "program".
    std::string how;
    std::vector<std::string> reasons;      ///< Why ways of rebuilding before `how` did not work.
    std::vector<protocol::SourceDifference> differences;   ///< Classes whose source is not the captured one.
    std::int64_t loadNs = 0;
    std::int64_t hostNs = 0;               ///< Of one run on the captured inputs.
    int operatorCount = 0;
    std::vector<protocol::OutputTensor> outputs;
    std::vector<std::string> warnings;
};

struct ValidationReport {
    registry::VersionSummary version;
    std::string verdict;                   ///< "pass", "fail", "not_comparable", "no_program".
    bool exact = false;
    std::string engine = "program";
    std::optional<double> maxAbsDiff;
    std::vector<protocol::LeafResult> leaves;
    int threads = 0;
    std::string reason;
    std::optional<protocol::RepeatResult> repeats;
    std::optional<protocol::OracleResult> oracle;
    std::string gradientVerdict;           ///< As verdict, of the gradients alone; empty when they were not asked for.
    std::vector<std::string> warnings;
    std::string resultId;                  ///< Of the stored result.
    std::string how;                       ///< Source engine: how the module was rebuilt.
    std::vector<protocol::SourceDifference> differences;   ///< Source engine: as in RebuildReport.
};

struct ProfileReport {
    registry::VersionSummary version;
    std::shared_ptr<const profile::Profile> profile;
    protocol::ProfileResult result;
    std::string engine = "program";
    std::string device;
    int threads = 0;
    std::string resultId;
    std::vector<std::string> warnings;
};

struct MemoryReport;

/// Values of one captured tensor, for the inputs and outputs page.
struct TensorStatistics {
    std::string pointer;
    capture::TensorReference tensor;
    std::int64_t elements = 0;
    std::int64_t nanCount = 0;
    std::int64_t infiniteCount = 0;
    std::int64_t zeroCount = 0;
    std::optional<double> minimum;         ///< Over finite values; absent when there are none or the dtype has no order.
    std::optional<double> maximum;
    std::optional<double> mean;
    std::optional<double> standardDeviation;   ///< Of the population (divided by n).
    std::vector<std::int64_t> histogram;   ///< 16 equal bins from minimum to maximum over finite values.
    std::string gap;                       ///< Why there are no statistics.
};

/// The use cases: resolve, load, run, store. The explorer and the command line are faces on this class; what one can do, the
/// other can. Owns its workers, shares the registry. Blocking; never on the GUI thread. Thread-safe: one job at a time per worker.
class Operations {
public:
    /// `workerCommand` empty: modulelens-worker beside the running program, else on PATH. `registry` may be null when only
    /// workerInfo and calibrate are used.
    Operations(std::shared_ptr<registry::Registry> registry, std::vector<std::string> workerCommand);
    ~Operations();

    [[nodiscard]] registry::Registry& registry() const;

    /// What the user allows: consents, libraries of operators that every program is loaded after.
    [[nodiscard]] Permissions& permissions() const;

    /// Imports whatever `path` holds: bundles, or a .pt2, TorchScript or AOTInductor file as a model with its top module.
    /// On any error the registry is as it was. ConsentNeeded, Corrupt, Unsupported, InvalidArgument; Unsupported also for a
    /// registry that is no folder.
    [[nodiscard]] base::Result<registry::ImportReport> import(const std::filesystem::path& path, const ImportSettings& settings,
                                                              const OperationContext& context);

    /// The interpreter of the source engine (empty: pythonWorkerCommand's choice) and folders it imports from first, for what
    /// begins from now on.
    void usePython(const std::string& python, const std::vector<std::string>& pythonPath);
    /// Starts the worker in the background, so that it gets ready meanwhile. Does not block.
    void prepareWorker(const std::string& engine = protocol::engine_name::kProgram);
    /// Starts the worker if need be and says what it is and has.
    [[nodiscard]] base::Result<protocol::InitializeResult> workerInfo(const OperationContext& context);

    /// Loads and runs once. Unsupported: the version has no program.
    [[nodiscard]] base::Result<RebuildReport> rebuild(const std::string& addressOrId, const RunSettings& settings,
                                                      const OperationContext& context);
    /// Runs on the captured inputs, compares with the captured outputs, stores the verdict. A version without a program
    /// gives the verdict "no_program", not an error.
    [[nodiscard]] base::Result<ValidationReport> validate(const std::string& addressOrId, const RunSettings& settings,
                                                          const OperationContext& context);
    /// Unsupported: the version has no program.
    [[nodiscard]] base::Result<ProfileReport> profile(const std::string& addressOrId, const RunSettings& settings,
                                                      const OperationContext& context);

    /// Measures one version, or the second against the first (Benchmarking.h), and stores the result with each.
    [[nodiscard]] base::Result<BenchmarkReport> benchmark(const std::vector<std::string>& addresses,
                                                          const BenchmarkSettings& settings, const OperationContext& context);
    /// Runs edited source in the place of a version's own (Verifying.h).
    [[nodiscard]] base::Result<VerifyReport> verify(const std::string& addressOrId, const VerifySettings& settings,
                                                    const OperationContext& context);
    /// Measures the peaks of a device and keeps them in the user's data folder (Calibrating.h).
    [[nodiscard]] base::Result<CalibrationReport> calibrate(const RunSettings& settings, std::int64_t budgetMs,
                                                            const OperationContext& context);
    /// Unsupported: the version has no program, or its run allocates nothing.
    [[nodiscard]] base::Result<MemoryReport> memory(const std::string& addressOrId, const RunSettings& settings,
                                                    const OperationContext& context);

    /// Measures a version at other sizes (Sweep.h) and stores the result.
    [[nodiscard]] base::Result<SweepReport> sweep(const std::string& addressOrId, const SweepSettings& settings,
                                                  const OperationContext& context);

    /// The hierarchy with what is known before anything ran on this machine: static FLOPs and parameter bytes from the program;
    /// without a program the run record's call tree. Latency is what the traced run measured, if it did.
    [[nodiscard]] base::Result<std::shared_ptr<const profile::Profile>> staticProfile(const std::string& addressOrId);
    /// The newest stored profile, or null.
    [[nodiscard]] base::Result<std::shared_ptr<const profile::Profile>> storedProfile(const std::string& addressOrId);

    /// Statistics of the inputs and outputs of a captured call.
    [[nodiscard]] base::Result<std::vector<TensorStatistics>> tensorStatistics(const std::string& addressOrId, int call,
                                                                               const OperationContext& context);

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

/// One sentence for a person: message, and what to do about it.
[[nodiscard]] std::string errorSentence(const base::Error& error);

}  // namespace modulelens::operations
