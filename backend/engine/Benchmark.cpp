// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Benchmark.h"

#include "backend/engine/Comparison.h"
#include "backend/engine/DeviceClock.h"
#include "backend/engine/DeviceGraph.h"
#include "backend/engine/MachineState.h"
#include "backend/engine/Modes.h"
#include "backend/engine/Passes.h"
#include "backend/profile/Measurement.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;
namespace mode = protocol::benchmarkmode;

constexpr int kMostRepetitions = 1 << 30;
constexpr std::int64_t kLeastFlushBytes = std::int64_t{256} << 20;
constexpr std::int64_t kNsPerMs = 1'000'000;
/// Before a graph is recorded: kernels choose their algorithms, libraries get their workspaces.
constexpr int kRunsBeforeGraph = 3;
/// Launching a graph takes some microseconds, which must not show: a sample lasts a hundred times as long.
constexpr std::int64_t kLeastGraphNs = 600'000;
constexpr std::int64_t kMostRunsOfGraph = 64;

/// Writes to more memory than the last-level cache holds, from every thread that a run may use.
class CacheFlush {
public:
    explicit CacheFlush(c10::Device device)
        : m_device(device),
          m_memory(at::empty({std::max(2 * lastLevelCacheBytes().value_or(0), kLeastFlushBytes)},
                             at::TensorOptions().dtype(at::kByte).device(device))) {}

    void run() {
        m_memory.fill_(++m_value);
        synchronize(m_device);
    }
    [[nodiscard]] std::int64_t sizeBytes() const { return m_memory.numel(); }

private:
    c10::Device m_device;
    at::Tensor m_memory;
    std::uint8_t m_value = 0;
};

std::vector<at::Tensor> tensorsOf(const std::vector<c10::IValue>& outputs) {
    std::vector<at::Tensor> tensors;
    tensors.reserve(outputs.size());
    for (const c10::IValue& output : outputs) {
        tensors.push_back(output.isTensor() ? output.toTensor() : at::Tensor());
    }
    return tensors;
}

/// Where each of the program's outputs stands in the call, or what it is written to.
std::vector<std::string> outputNames(const graph::Program& program) {
    std::vector<std::string> names;
    names.reserve(program.outputs.size());
    std::size_t next = 0;
    for (const graph::OutputSpec& spec : program.outputs) {
        const bool isUsers = spec.kind == graph::OutputKind::UserOutput && next < program.outputPointers.size();
        names.push_back(isUsers ? program.outputPointers[next++] : spec.target);
    }
    return names;
}

std::set<std::string> floatingTypes(const graph::Program& program) {
    std::set<std::string> names;
    for (const graph::Value& value : program.graph.values) {
        if (value.tensor && c10::isFloatingType(torchType(value.tensor->dtype))) {
            names.insert(std::string(base::scalarTypeName(value.tensor->dtype)));
        }
    }
    return names;
}

/// One side: a bound call, run in the session's mode.
class Subject {
public:
    explicit Subject(CallBinding& binding) : m_binding(binding), m_hadRun(binding.program().hasRun()) {}

    /// `timed` false: only to leave the caches as a run leaves them.
    profile::Timing run(const std::string& how, DeviceClock& clock, const std::atomic<bool>& stop) {
        if (how == mode::kGraph) {
            return replayGraph(clock, stop);
        }
        m_last.clear();
        profile::Timing timing;
        CallBinding::RunOptions options;
        if (clock.isPresent()) {
            options.beforeRun = [&] { clock.start(); };
            options.afterLaunch = [&] { clock.stop(); };
        }
        const Clock::time_point start = Clock::now();
        CallBinding::Outcome outcome = m_binding.run(stop, options);
        timing.hostNs = outcome.hostNs;
        if (how == mode::kHostEndToEnd) {
            const at::NoGradGuard noGrad;
            for (const at::Tensor& tensor : tensorsOf(outcome.outputs)) {
                if (tensor.defined() && !tensor.device().is_cpu()) {
                    (void)tensor.to(at::kCPU);
                }
            }
            timing.hostNs = std::chrono::nanoseconds(Clock::now() - start).count();
        }
        timing.deviceNs = clock.elapsedNs();
        m_last = std::move(outcome.outputs);
        if (!m_hasFirst) {
            keepFirst();
        }
        return timing;
    }

    /// The outputs of the last run against those of the first.
    void compareOutputs(protocol::BenchmarkSide& side) const {
        static const std::vector<std::string> kWorstFirst = {"fail", "close", "exact", "none"};
        side.outputs = "none";
        std::size_t worst = kWorstFirst.size() - 1;
        const std::vector<at::Tensor> last = tensorsOf(m_last);
        const std::vector<std::string> names = outputNames(m_binding.program().program());
        for (std::size_t i = 0; i < std::min(last.size(), m_first.size()); ++i) {
            if (!last[i].defined() || !m_first[i].defined()) {
                continue;
            }
            const std::string verdict = compareTensors(m_first[i], last[i], "").verdict;
            const auto rank =
                static_cast<std::size_t>(std::find(kWorstFirst.begin(), kWorstFirst.end(), verdict) - kWorstFirst.begin());
            if (rank < worst) {
                worst = rank;
                side.outputs = verdict;
                side.outputsPointer = verdict == "exact" || i >= names.size() ? std::string() : names[i];
            }
        }
    }

    void describe(protocol::BenchmarkSide& side, const profile::MeasuredSide& measured) const {
        side.samplesNs = measured.hostNs;
        side.deviceNs = measured.deviceNs;
        side.order = measured.order;
        if (const auto statistics = profile::summarize(measured.hostNs, 0)) {
            side.medianNs = statistics->medianNs;
        }
        if (!m_hadRun) {
            side.firstCallNs = m_firstRunNs.value_or(measured.firstCallNs);
        }
        if (m_graph) {
            side.runsPerSample = static_cast<int>(m_runsOfGraph);
        }
        side.warmupRuns = measured.warmupRuns;
        side.warmupCapped = measured.isWarmupCapped;
        side.operators = m_binding.program().plan().operatorCount;
        const std::set<std::string> types = floatingTypes(m_binding.program().program());
        side.dtypes.assign(types.begin(), types.end());
        compareOutputs(side);
    }

    /// A run with counting, after the timing, so that it disturbs no number.
    void count(protocol::BenchmarkSide& side, const std::atomic<bool>& stop) {
        m_last.clear();
        const StepCosts costs = countSteps(m_binding, stop);
        side.unknownOperators = costs.coverage.unknown;
        if (costs.totalFlops > 0 || costs.coverage.unknown.empty()) {
            side.flops = costs.totalFlops;
        }
        side.bytesLeast = bytesReadWhole(costs);
    }

private:
    profile::Timing replayGraph(DeviceClock& clock, const std::atomic<bool>& stop) {
        if (!m_graph) {
            recordGraph(clock, stop);
        }
        if (stop.load(std::memory_order_relaxed)) {
            throw Failure({base::ErrorCode::Cancelled, "the run was cancelled", ""});
        }
        CallBinding::RunOptions options;
        if (clock.isPresent()) {
            options.beforeRun = [&] { clock.start(); };
            options.afterLaunch = [&] { clock.stop(); };
        }
        profile::Timing timing;
        timing.hostNs = m_binding.replay([this] { m_graph->replay(); }, m_last, options) / m_runsOfGraph;
        if (const auto deviceNs = clock.elapsedNs()) {
            timing.deviceNs = *deviceNs / m_runsOfGraph;
        }
        return timing;
    }

    /// Runs without a graph first, then records one that is long enough to be timed.
    void recordGraph(DeviceClock& clock, const std::atomic<bool>& stop) {
        for (int i = 0; i < kRunsBeforeGraph; ++i) {
            const profile::Timing timing = run(mode::kHot, clock, stop);
            m_firstRunNs = m_firstRunNs.value_or(timing.hostNs);
        }
        auto graph = std::make_unique<DeviceGraph>(m_binding.program().devices().to);
        record(*graph, stop);
        const std::int64_t onceNs = m_binding.replay([&] { graph->replay(); }, m_last, {});
        // Nothing can be put back between two runs of one graph.
        if (onceNs < kLeastGraphNs && m_binding.canRepeat()) {
            m_runsOfGraph = std::min((kLeastGraphNs + onceNs - 1) / std::max<std::int64_t>(onceNs, 1), kMostRunsOfGraph);
            record(*graph, stop);
        }
        m_graph = std::move(graph);
    }

    void record(DeviceGraph& graph, const std::atomic<bool>& stop) {
        m_last.clear();
        CallBinding::RunOptions options;
        options.around = [&](const std::function<void()>& compute) {
            graph.capture([&] {
                for (std::int64_t i = 0; i < m_runsOfGraph; ++i) {
                    compute();
                }
            });
        };
        try {
            m_last = m_binding.run(stop, options).outputs;
        } catch (const std::exception&) {
            const base::Error error = errorOfException("recording a device graph");
            if (error.code != base::ErrorCode::Internal && error.code != base::ErrorCode::Unsupported) {
                throw;
            }
            throw Failure({base::ErrorCode::Unsupported,
                           "the module cannot be recorded as a graph of the device " + m_binding.program().devices().to.str() +
                               ": " + error.message,
                           "Choose hot, cold or host_e2e."});
        }
    }

    void keepFirst() {
        const at::NoGradGuard noGrad;
        for (const at::Tensor& tensor : tensorsOf(m_last)) {
            m_first.push_back(tensor.defined() ? tensor.detach().clone() : at::Tensor());
        }
        m_hasFirst = true;
    }

    // Other operators may read a part only, as an embedding does.
    std::int64_t bytesReadWhole(const StepCosts& costs) const {
        const PlanGraph& graph = m_binding.program().plan().root;
        std::set<int> slots;
        for (const Step& step : graph.steps) {
            if (costs.flops[static_cast<std::size_t>(step.id)].value_or(0) > 0) {
                for (const ArgumentSource& argument : step.arguments) {
                    slots.insert(argument.slot);
                }
            }
        }
        std::set<const void*> seen;
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
            const at::Tensor tensor = slots.count(graph.inputs[i]) != 0 ? m_binding.inputTensor(i) : at::Tensor();
            if (graph.inputs[i] >= 0 && tensor.defined() && tensor.has_storage() &&
                seen.insert(tensor.const_data_ptr()).second) {
                bytes +=
                    std::min(static_cast<std::int64_t>(tensor.nbytes()), static_cast<std::int64_t>(tensor.storage().nbytes()));
            }
        }
        return bytes;
    }

    CallBinding& m_binding;
    bool m_hadRun;
    bool m_hasFirst = false;
    std::vector<at::Tensor> m_first;
    std::vector<c10::IValue> m_last;
    std::unique_ptr<DeviceGraph> m_graph;
    std::int64_t m_runsOfGraph = 1;
    std::optional<std::int64_t> m_firstRunNs;
};

}  // namespace

base::Result<void> checkBenchmark(const protocol::BenchmarkParams& params, c10::Device device) {
    const auto refuse = [](const std::string& message, const std::string& fix) {
        return base::Error{base::ErrorCode::InvalidArgument, message, fix};
    };
    if (params.mode == mode::kGraph && !DeviceGraph::isAvailable(device)) {
        return refuse("the mode 'graph' replays a captured device graph, and the device " + device.str() + " has none here",
                      "Choose hot, cold or host_e2e.");
    }
    if (params.mode != mode::kHot && params.mode != mode::kCold && params.mode != mode::kHostEndToEnd &&
        params.mode != mode::kGraph) {
        return refuse("there is no benchmark mode '" + params.mode + "'", "Modes are hot, cold, host_e2e and graph.");
    }
    if (params.repetitions < 1 || params.repetitions > kMostRepetitions || params.budgetMs < 0 ||
        (params.warmupRuns && *params.warmupRuns < 1)) {
        return refuse("a benchmark needs at least one repetition, one warm-up run and no negative budget", "");
    }
    return {};
}

protocol::BenchmarkResult benchmarkCalls(CallBinding& first, CallBinding* second, const protocol::BenchmarkParams& params,
                                         const std::atomic<bool>& stop, const JobContext& job) {
    const c10::Device device = first.program().devices().to;
    protocol::BenchmarkResult result;
    result.mode = params.mode;
    result.environment = measuringEnvironment(device);
    result.timerNs = timerCostNs();
    result.nullOperatorNs = nullOperatorCostNs(device);
    DeviceClock clock(device);
    result.deviceReason = clock.reason();
    std::optional<CacheFlush> flush;
    if (params.mode == mode::kCold) {
        flush.emplace(device);
        result.flushedBytes = flush->sizeBytes();
    }

    std::optional<RecordableStream> stream;
    if (params.mode == mode::kGraph) {
        stream.emplace(device);
    }

    std::vector<Subject> subjects;
    subjects.emplace_back(first);
    if (second != nullptr && second != &first) {
        subjects.emplace_back(*second);
    }
    const Subject* lastRun = nullptr;
    const auto runOf = [&](Subject& subject) -> profile::TimedRun {
        return [&]() -> base::Result<profile::Timing> {
            if (flush) {
                flush->run();
            } else if ((params.mode == mode::kHot || params.mode == mode::kGraph) && lastRun != &subject &&
                       lastRun != nullptr) {
                // Of two sides, each is timed on the caches that a run of its own has left.
                (void)subject.run(params.mode, clock, stop);
            }
            lastRun = &subject;
            return subject.run(params.mode, clock, stop);
        };
    };
    std::vector<profile::TimedRun> sides{runOf(subjects.front())};
    if (second != nullptr) {
        sides.push_back(runOf(subjects.back()));
    }
    profile::MeasurementPlan plan;
    plan.repetitions = params.repetitions;
    plan.budgetNs = std::min(params.budgetMs, std::numeric_limits<std::int64_t>::max() / 4 / kNsPerMs) * kNsPerMs;
    plan.warmupRuns = params.warmupRuns;
    plan.seed = params.seed;
    const OtherLoad load;
    const auto measured = profile::measure(
        sides, plan, {[] { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }, job.progress});
    if (!measured) {
        throw Failure(measured.error());
    }
    result.environment.otherCpus = load.busyCpus();
    result.environment.clockHzAfter = processorClockHz();
    result.againNs = measured->again.hostNs;
    result.againOrder = measured->again.order;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        Subject& subject = subjects[std::min(i, subjects.size() - 1)];
        subject.describe(result.sides.emplace_back(), measured->sides[i]);
    }
    result.medianNs = result.sides.front().medianNs;
    for (std::size_t i = 0; params.count && i < sides.size(); ++i) {
        subjects[std::min(i, subjects.size() - 1)].count(result.sides[i], stop);
    }
    return result;
}

}  // namespace modulelens::engine
