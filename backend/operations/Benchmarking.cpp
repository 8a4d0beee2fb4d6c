// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Benchmarking.h"

#include "backend/operations/CalibrationStore.h"
#include "backend/operations/DeviceLock.h"
#include "backend/operations/VersionInput.h"
#include "backend/operations/WorkerJobs.h"
#include "backend/profile/Measurement.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace modulelens::operations {

namespace {

constexpr int kSamplesPerTurn = 5;
constexpr std::int64_t kNsPerMs = 1'000'000;

/// A side before it is measured.
struct Side {
    VersionInput input;
    protocol::CallParams call;
};

base::Result<Side> readSide(registry::Registry& registry, const std::string& address, const BenchmarkSettings& settings) {
    base::Result<VersionInput> input = readRunInput(registry, address, settings.run);
    if (!input) {
        return input.error();
    }
    if (input->program.empty() && !input->usesSource) {
        return base::Error{base::ErrorCode::Unsupported, "'" + input->address() + "' has no program: " + input->noProgramReason,
                           "Only what has a program can be measured."};
    }
    base::Result<protocol::CallParams> call = callParams(registry, *input);
    if (!call) {
        return call.error();
    }
    call->threads = settings.run.threads;
    return Side{*std::move(input), *std::move(call)};
}

protocol::BenchmarkParams paramsOf(const Side& side, const BenchmarkSettings& settings) {
    protocol::BenchmarkParams params;
    params.call = side.call;
    params.mode = settings.mode;
    params.repetitions = settings.repetitions;
    params.budgetMs = settings.budgetMs;
    params.seed = settings.seed;
    params.count = true;
    return params;
}

/// The least time that the counted work takes at the peaks of this machine. Caches may hold what a hot run reads, so only what
/// is beyond them counts then.
void setFloor(BenchmarkSideReport& side, const std::string& mode) {
    const protocol::MeasuringEnvironment& environment = side.environment;
    const auto calibration = findCalibration(calibrationFolder(), environment.host, environment.device, environment.threads);
    if (!calibration) {
        side.floorReason = "the peaks of " + environment.device + " with " + std::to_string(environment.threads) +
                           " threads were not measured; run modulelens calibrate";
        return;
    }
    const std::vector<std::string>& types = side.measured.dtypes;
    std::int64_t peakFlops = 0;
    std::int64_t anyPeak = 0;
    for (const protocol::PeakRate& peak : calibration->peaks) {
        anyPeak = std::max(anyPeak, peak.flopsPerSecond);
        if (std::find(types.begin(), types.end(), peak.dtype) != types.end()) {
            peakFlops = std::max(peakFlops, peak.flopsPerSecond);
        }
    }
    peakFlops = peakFlops > 0 ? peakFlops : anyPeak;
    const std::int64_t peakBytes = peakBytesPerSecond(*calibration);
    if (peakFlops <= 0 || peakBytes <= 0 || !side.measured.flops) {
        side.floorReason = "the work of this module is not known";
        return;
    }
    const std::int64_t cached = mode == protocol::benchmarkmode::kCold ? 0 : environment.lastLevelCacheBytes.value_or(0);
    constexpr double kNsPerSecond = 1e9;
    const double computing = static_cast<double>(*side.measured.flops) / static_cast<double>(peakFlops);
    const double moving = static_cast<double>(std::max<std::int64_t>(side.measured.bytesLeast.value_or(0) - cached, 0)) /
                          static_cast<double>(peakBytes);
    side.floorNs = std::llround(std::max(computing, moving) * kNsPerSecond);
}

BenchmarkSideReport sideReport(const Side& side, const BenchmarkSettings& settings, const protocol::InitializeResult& worker,
                               const protocol::BenchmarkResult& result, const protocol::BenchmarkSide& measured) {
    BenchmarkSideReport report;
    report.version = side.input.summary;
    report.call = settings.run.call;
    report.worker = worker.worker;
    report.engine = worker.engine;
    report.measured = measured;
    report.deviceReason = result.deviceReason;
    report.environment = result.environment;
    report.timerNs = result.timerNs;
    report.nullOperatorNs = result.nullOperatorNs;
    setFloor(report, settings.mode);
    return report;
}

void addWarnings(std::vector<std::string>& all, const std::vector<std::string>& more) {
    for (const std::string& warning : more) {
        if (std::find(all.begin(), all.end(), warning) == all.end()) {
            all.push_back(warning);
        }
    }
}

base::Result<void> checkAnswer(const protocol::BenchmarkResult& result, const BenchmarkSettings& settings, std::size_t sides) {
    if (result.sides.size() != sides) {
        return base::Error{
            base::ErrorCode::WorkerCrashed,
            "the worker answered with " + std::to_string(result.sides.size()) + " sides instead of " + std::to_string(sides),
            "Check that worker and client are of one version."};
    }
    protocol::BenchmarkResult wanted = result;
    wanted.mode = settings.mode;
    return checkComparable(wanted, result);
}

/// Both sides in one worker, which takes the turns itself.
base::Result<BenchmarkReport> inOneWorker(registry::Registry& registry, WorkerJobs& worker, std::vector<Side>& sides,
                                          const BenchmarkSettings& settings, const OperationContext& context) {
    BenchmarkReport report;
    const auto job = [&](workerclient::WorkerClient& client, const std::vector<WorkerJobs::Loaded>& loaded,
                         const workerclient::RequestContext& request) -> base::Result<void> {
        const base::Result<protocol::InitializeResult> facts = client.initialize(request);
        if (!facts) {
            return facts.error();
        }
        for (std::size_t i = 0; i < sides.size(); ++i) {
            sides[i].call.handle = loaded[i].load.handle;
            addWarnings(report.warnings, loaded[i].warnings);
        }
        protocol::BenchmarkParams params = paramsOf(sides.front(), settings);
        if (sides.size() == 2) {
            params.against = sides.back().call;
        }
        const base::Result<protocol::BenchmarkResult> result = client.benchmark(params, request);
        if (!result) {
            return result.error();
        }
        if (base::Result<void> checked = checkAnswer(*result, settings, sides.size()); !checked) {
            return checked;
        }
        for (std::size_t i = 0; i < sides.size(); ++i) {
            report.sides.push_back(sideReport(sides[i], settings, *facts, *result, result->sides[i]));
        }
        report.againNs = result->againNs;
        report.flushedBytes = result->flushedBytes;
        return {};
    };
    std::vector<const VersionInput*> inputs;
    inputs.reserve(sides.size());
    for (const Side& side : sides) {
        inputs.push_back(&side.input);
    }
    if (base::Result<void> done = worker.runAll(registry, inputs, settings.run.device, context, job); !done) {
        return done.error();
    }
    judge(report, {});
    return report;
}

/// What one of two workers measures, turn by turn.
class Turns {
public:
    Turns(const Side& side, const BenchmarkSettings& settings, workerclient::WorkerClient& client,
          const workerclient::RequestContext& request)
        : m_params(paramsOf(side, settings)), m_client(client), m_request(request) {
        m_params.repetitions = kSamplesPerTurn;
    }

    base::Result<profile::Timing> take() {
        const base::Result<protocol::BenchmarkResult> result = m_client.benchmark(m_params, m_request);
        if (!result) {
            return result.error();
        }
        if (result->sides.size() != 1) {
            return base::Error{base::ErrorCode::WorkerCrashed, "the worker answered with another number of sides", {}};
        }
        if (!m_first) {
            m_first = *result;
        } else {
            m_turns.push_back(*result);
        }
        // Only the first turn warms up fully and counts; later ones bind the call anew and fill the caches.
        m_params.warmupRuns = 2;
        m_params.count = false;
        return profile::Timing{result->medianNs, std::nullopt};
    }

    [[nodiscard]] const protocol::BenchmarkResult& first() const { return *m_first; }

    /// The first turn's facts with the samples of the later turns that belong to the side itself: turns that measured it once
    /// more are those in `again`, by their place among all turns of this side.
    [[nodiscard]] protocol::BenchmarkSide side(const std::vector<std::size_t>& own) const {
        protocol::BenchmarkSide side = m_first->sides.front();
        side.samplesNs.clear();
        side.deviceNs.clear();
        side.order.clear();
        for (const std::size_t turn : own) {
            const protocol::BenchmarkSide& taken = m_turns[turn].sides.front();
            side.samplesNs.insert(side.samplesNs.end(), taken.samplesNs.begin(), taken.samplesNs.end());
            side.deviceNs.insert(side.deviceNs.end(), taken.deviceNs.begin(), taken.deviceNs.end());
            side.outputs = taken.outputs == "exact" ? side.outputs : taken.outputs;
        }
        side.medianNs = profile::summarize(side.samplesNs, 0).value_or(profile::SampleStatistics{}).medianNs;
        return side;
    }

    /// The busiest that other processes were during a turn.
    [[nodiscard]] protocol::BenchmarkResult summary() const {
        protocol::BenchmarkResult result = *m_first;
        for (const protocol::BenchmarkResult& turn : m_turns) {
            if (turn.environment.otherCpus) {
                result.environment.otherCpus = std::max(result.environment.otherCpus.value_or(0), *turn.environment.otherCpus);
            }
        }
        return result;
    }

private:
    protocol::BenchmarkParams m_params;
    workerclient::WorkerClient& m_client;
    const workerclient::RequestContext& m_request;
    std::optional<protocol::BenchmarkResult> m_first;
    std::vector<protocol::BenchmarkResult> m_turns;
};

/// Places, among the turns of the first worker, of those at `order`, given that the others stand at `others`.
std::vector<std::size_t> placesOf(const std::vector<std::int64_t>& order, const std::vector<std::int64_t>& others) {
    std::vector<std::size_t> places;
    places.reserve(order.size());
    for (const std::int64_t at : order) {
        const auto isBefore = [at](std::int64_t other) { return other < at; };
        places.push_back(static_cast<std::size_t>(std::count_if(order.begin(), order.end(), isBefore) +
                                                  std::count_if(others.begin(), others.end(), isBefore)));
    }
    return places;
}

base::Result<BenchmarkReport> takeTurns(std::vector<Side>& sides, const BenchmarkSettings& settings, Turns& first,
                                        Turns& second, const std::array<protocol::InitializeResult, 2>& workers,
                                        const workerclient::RequestContext& request) {
    profile::MeasurementPlan plan;
    plan.repetitions = settings.repetitions;
    plan.budgetNs = settings.budgetMs * kNsPerMs;
    plan.warmupRuns = 1;
    plan.seed = settings.seed;
    const auto clock = [] { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); };
    const auto progress = [&](std::string_view stage, std::int64_t done, std::int64_t total) {
        if (request.progress) {
            request.progress({0, std::string(stage), done, total});
        }
    };
    const base::Result<profile::Measurement> measured =
        profile::measure({[&] { return first.take(); }, [&] { return second.take(); }}, plan, {clock, progress});
    if (!measured) {
        return measured.error();
    }
    if (base::Result<void> checked = checkComparable(first.first(), second.first()); !checked) {
        return checked.error();
    }
    if (base::Result<void> checked = checkAnswer(first.first(), settings, 1); !checked) {
        return checked.error();
    }
    BenchmarkReport report;
    report.samplesPerTurn = kSamplesPerTurn;
    const profile::MeasuredSide& own = measured->sides[0];
    const profile::MeasuredSide& other = measured->sides[1];
    report.sides.push_back(
        sideReport(sides[0], settings, workers[0], first.summary(), first.side(placesOf(own.order, measured->again.order))));
    report.sides.push_back(
        sideReport(sides[1], settings, workers[1], second.summary(), second.side(placesOf(other.order, {}))));
    report.sides[0].measured.order = own.order;
    report.sides[1].measured.order = other.order;
    report.againNs = measured->again.hostNs;
    report.flushedBytes = first.first().flushedBytes;
    judge(report, {own.hostNs, other.hostNs, measured->again.hostNs});
    return report;
}

/// Each side in a worker of its own.
base::Result<BenchmarkReport> inTwoWorkers(registry::Registry& registry, WorkerJobs& worker, WorkerJobs& otherWorker,
                                           std::vector<Side>& sides, const BenchmarkSettings& settings,
                                           const OperationContext& context) {
    base::Result<BenchmarkReport> report = BenchmarkReport();
    std::vector<std::string> warnings;
    const auto outer = [&](workerclient::WorkerClient& client, const std::vector<WorkerJobs::Loaded>& loaded,
                           const workerclient::RequestContext& request) -> base::Result<void> {
        sides[0].call.handle = loaded.front().load.handle;
        addWarnings(warnings, loaded.front().warnings);
        const auto inner = [&](workerclient::WorkerClient& otherClient, const std::vector<WorkerJobs::Loaded>& otherLoaded,
                               const workerclient::RequestContext& otherRequest) -> base::Result<void> {
            sides[1].call.handle = otherLoaded.front().load.handle;
            addWarnings(warnings, otherLoaded.front().warnings);
            const base::Result<protocol::InitializeResult> facts = client.initialize(request);
            const base::Result<protocol::InitializeResult> otherFacts = otherClient.initialize(otherRequest);
            if (!facts || !otherFacts) {
                return facts ? otherFacts.error() : facts.error();
            }
            // Equal settings on both sides: where none were asked for, those of the first worker.
            for (Side& side : sides) {
                side.call.threads = settings.run.threads.value_or(facts->threads);
            }
            Turns first(sides[0], settings, client, request);
            Turns second(sides[1], settings, otherClient, otherRequest);
            report = takeTurns(sides, settings, first, second, {*facts, *otherFacts}, request);
            return report ? base::Result<void>() : base::Result<void>(report.error());
        };
        return otherWorker.runAll(registry, {&sides[1].input}, settings.run.device, context, inner);
    };
    if (base::Result<void> done = worker.runAll(registry, {&sides[0].input}, settings.run.device, context, outer); !done) {
        return done.error();
    }
    addWarnings(report->warnings, warnings);
    return report;
}

base::Result<void> checkSettings(const std::vector<std::string>& addresses, const BenchmarkSettings& settings) {
    constexpr std::int64_t kLongestBudgetMs = std::int64_t{1000} * 60 * 60 * 24;
    if (addresses.empty() || addresses.size() > 2) {
        return base::Error{base::ErrorCode::InvalidArgument, "a benchmark takes one version or two", {}};
    }
    if (settings.repetitions < 1 || settings.budgetMs < 0 || settings.budgetMs > kLongestBudgetMs) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "a benchmark needs at least one repetition and a budget of at "
                           "most a day",
                           {}};
    }
    return {};
}

} // namespace

base::Result<BenchmarkReport> runBenchmark(registry::Registry& registry, WorkerJobs& worker, WorkerJobs* otherWorker,
                                           const std::vector<std::string>& addresses, const BenchmarkSettings& settings,
                                           const OperationContext& context) {
    if (base::Result<void> checked = checkSettings(addresses, settings); !checked) {
        return checked.error();
    }
    std::vector<Side> sides;
    const std::size_t count = otherWorker != nullptr ? 2 : addresses.size();
    for (std::size_t i = 0; i < count; ++i) {
        base::Result<Side> side = readSide(registry, addresses[std::min(i, addresses.size() - 1)], settings);
        if (!side) {
            return side.error();
        }
        sides.push_back(*std::move(side));
    }
    sides.front().input.isTrusted = settings.run.isTrusted || settings.isFirstTrusted;
    if (settings.edited && sides.size() == 2) {
        sides.back().input.edited = settings.edited;
    }
    sides.back().input.needsCode = settings.secondNeedsCode || settings.run.needsCode;
    const base::Result<DeviceLock> lock = DeviceLock::acquire(settings.run.device, context);
    if (!lock) {
        return lock.error();
    }
    base::Result<BenchmarkReport> report = otherWorker != nullptr
                                               ? inTwoWorkers(registry, worker, *otherWorker, sides, settings, context)
                                               : inOneWorker(registry, worker, sides, settings, context);
    if (report) {
        report->mode = settings.mode;
        report->seed = settings.seed;
    }
    return report;
}

} // namespace modulelens::operations
