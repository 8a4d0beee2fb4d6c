// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Sweep.h"

#include "backend/operations/DeviceLock.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/VersionInput.h"
#include "backend/operations/WorkerJobs.h"
#include "backend/workerclient/ScratchFolder.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

namespace modulelens::operations {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 1000;

base::Error invalid(const std::string& message, const std::string& fix) {
    return {base::ErrorCode::InvalidArgument, message, fix};
}

/// An error that ends the whole sweep.
bool endsSweep(const base::Error& error, const OperationContext& context) {
    return error.code == base::ErrorCode::Cancelled || error.code == base::ErrorCode::EnvironmentMissing ||
           (error.code == base::ErrorCode::Timeout && context.timeout);
}

/// Sizes that a sweep changes, in the order of its dimensions.
base::Result<std::vector<const DynamicSize*>> sweptSizes(const std::vector<DynamicSize>& sizes,
                                                         const std::vector<SweepDimension>& dimensions,
                                                         const std::string& address) {
    if (sizes.empty()) {
        return invalid("every size of the program of '" + address + "' is fixed, so there is nothing to sweep",
                       "Trace the module with a dynamic batch dimension.");
    }
    if (dimensions.empty()) {
        return invalid("a sweep needs a dimension",
                       "Write --dim NAME=VALUE,VALUE; the program leaves open: " + dynamicSizesText(sizes) + '.');
    }
    std::vector<const DynamicSize*> swept;
    std::size_t points = 1;
    for (const SweepDimension& dimension : dimensions) {
        const DynamicSize* size = findDynamicSize(sizes, dimension.name);
        if (size == nullptr) {
            return invalid("the program of '" + address + "' has no open dimension '" + dimension.name + "'",
                           "It leaves open: " + dynamicSizesText(sizes) + '.');
        }
        if (std::find(swept.begin(), swept.end(), size) != swept.end()) {
            return invalid("the dimension '" + dimension.name + "' is named twice", {});
        }
        swept.push_back(size);
        points *= dimension.values.size();
        if (dimension.values.empty() || points > kMostPoints) {
            return invalid("a sweep takes from 1 to " + std::to_string(kMostPoints) + " points", {});
        }
    }
    return swept;
}

class Sweep {
public:
    Sweep(registry::Registry& registry, WorkerJobs& worker, const graph::Program& program, const VersionInput& input,
          const SweepSettings& settings, const OperationContext& context)
        : m_registry(registry),
          m_worker(worker),
          m_program(program),
          m_input(input),
          m_settings(settings),
          m_context(context),
          m_deadline(context.timeout) {}

    base::Result<SweepReport> run() {
        m_report.version = m_input.summary;
        m_report.mode = m_settings.mode;
        m_report.device = m_settings.run.device;
        m_report.dimensions = m_settings.dimensions;
        m_report.sizes = dynamicSizes(m_program, m_input.call());
        const auto swept = sweptSizes(m_report.sizes, m_settings.dimensions, m_input.address());
        if (!swept) {
            return swept.error();
        }
        base::Result<protocol::CallParams> call = callParams(m_registry, m_input);
        if (!call) {
            return call.error();
        }
        m_call = *std::move(call);
        m_call.threads = m_settings.run.threads;
        auto scratch = workerclient::ScratchFolder::create({});
        if (!scratch) {
            return scratch.error();
        }
        m_file = (*scratch)->path() / "inputs.bin";
        const base::Result<DeviceLock> lock = DeviceLock::acquire(m_settings.run.device, m_context);
        if (!lock) {
            return lock.error();
        }
        if (base::Result<void> done = runPoints(*swept); !done) {
            return done.error();
        }
        if (std::all_of(m_report.points.begin(), m_report.points.end(),
                        [](const SweepPoint& point) { return !!point.error; })) {
            return m_report.points.front().error->within("no point could be measured");
        }
        return std::move(m_report);
    }

private:
    base::Result<void> runPoints(const std::vector<const DynamicSize*>& swept) {
        // What the captured sizes need, and what is free, tells what others will need.
        SweepPoint captured;
        if (base::Result<void> measured = measure(captured, {}, 1); !measured) {
            return measured;
        }
        std::size_t total = 1;
        for (const SweepDimension& dimension : m_settings.dimensions) {
            total *= dimension.values.size();
        }
        for (std::size_t i = 0; i < total; ++i) {
            if (m_context.progress) {
                m_context.progress({0, "sweep", static_cast<std::int64_t>(i), static_cast<std::int64_t>(total)});
            }
            SweepPoint point;
            std::map<std::string, std::int64_t> symbols;
            std::size_t rest = i;
            for (std::size_t d = swept.size(); d-- > 0;) {
                const std::vector<std::int64_t>& values = m_settings.dimensions[d].values;
                point.values.insert(point.values.begin(), values[rest % values.size()]);
                symbols[swept[d]->symbol] = point.values.front();
                rest /= values.size();
            }
            if (base::Result<void> measured = measure(point, symbols, m_settings.repetitions); !measured) {
                if (endsSweep(measured.error(), m_context)) {
                    return measured;
                }
                point.error = measured.error();
            }
            m_report.points.push_back(std::move(point));
        }
        return {};
    }

    base::Result<void> measure(SweepPoint& point, const std::map<std::string, std::int64_t>& symbols, int repetitions) {
        const auto inputs = scaledInputs(m_program, m_input.call(), m_report.sizes, symbols);
        if (!inputs) {
            return inputs.error();
        }
        const std::int64_t inputBytes = bytesOf(*inputs, m_input.call());
        if (base::Result<void> fits = checkMemory(inputBytes); !fits) {
            return fits;
        }
        static_cast<void>(base::realFileSystem().remove(m_file));
        base::Result<ScaledCall> scaled = scaleCall(m_call, m_input.call(), *inputs, m_file);
        if (!scaled) {
            return scaled.error();
        }
        point.inputs = scaled->how;
        point.items = scaled->items;
        const auto job = [&](workerclient::WorkerClient& client, const std::vector<WorkerJobs::Loaded>& loaded,
                             const workerclient::RequestContext& request) -> base::Result<void> {
            for (const std::string& warning : loaded.front().warnings) {
                if (std::find(m_report.warnings.begin(), m_report.warnings.end(), warning) == m_report.warnings.end()) {
                    m_report.warnings.push_back(warning);
                }
            }
            protocol::CallParams call = m_call;
            call.handle = loaded.front().load.handle;
            call.call = std::move(scaled->call);
            call.tensors = std::move(scaled->tensors);
            if (base::Result<void> remembered = remember(point, call, client, request, inputBytes); !remembered) {
                return remembered;
            }
            return time(point, call, repetitions, client, request);
        };
        OperationContext limited = m_context;
        limited.timeout = m_deadline.remaining();
        return m_worker.runAll(m_registry, {&m_input}, m_settings.run.device, limited, job);
    }

    base::Result<void> remember(SweepPoint& point, const protocol::CallParams& call, workerclient::WorkerClient& client,
                                const workerclient::RequestContext& request, std::int64_t inputBytes) {
        protocol::ProfileParams params;
        params.call = call;
        const base::Result<protocol::ProfileResult> memory = client.memory(params, request);
        if (!memory) {
            return memory.error();
        }
        if (!memory->file.empty()) {
            static_cast<void>(base::realFileSystem().remove(memory->file));
        }
        point.peakBytes = memory->peakBytes;
        point.activationBytes = memory->activationBytes;
        point.reasons = memory->reasons;
        if (point.peakBytes && inputBytes > 0) {
            m_peakPerInputByte =
                std::max(m_peakPerInputByte, static_cast<double>(*point.peakBytes) / static_cast<double>(inputBytes));
        }
        return {};
    }

    base::Result<void> time(SweepPoint& point, const protocol::CallParams& call, int repetitions,
                            workerclient::WorkerClient& client, const workerclient::RequestContext& request) {
        protocol::BenchmarkParams params;
        params.call = call;
        params.mode = m_settings.mode;
        params.repetitions = repetitions;
        params.budgetMs = m_settings.budgetMs;
        params.count = true;
        const base::Result<protocol::InitializeResult> facts = client.initialize(request);
        if (!facts) {
            return facts.error();
        }
        const base::Result<protocol::BenchmarkResult> result = client.benchmark(params, request);
        if (!result) {
            return result.error();
        }
        if (result->sides.size() != 1) {
            return base::Error{base::ErrorCode::WorkerCrashed, "the worker answered with another number of sides", {}};
        }
        m_availableBytes = result->environment.memoryAvailableBytes;
        BenchmarkReport report;
        BenchmarkSideReport& side = report.sides.emplace_back();
        side.version = m_input.summary;
        side.call = m_settings.run.call;
        side.worker = facts->worker;
        side.engine = facts->engine;
        side.measured = result->sides.front();
        side.deviceReason = result->deviceReason;
        side.environment = result->environment;
        side.timerNs = result->timerNs;
        side.nullOperatorNs = result->nullOperatorNs;
        judge(report, {});
        point.side = std::move(report.sides.front());
        return {};
    }

    /// The inputs here and in the worker, and what the run needs, if it grows with its inputs as it did so far.
    base::Result<void> checkMemory(std::int64_t inputBytes) const {
        if (!m_availableBytes) {
            return {};
        }
        const double needed = static_cast<double>(inputBytes) * (2 + m_peakPerInputByte);
        if (needed <= static_cast<double>(*m_availableBytes)) {
            return {};
        }
        return base::Error{base::ErrorCode::OutOfMemory,
                           "this point would need about " + bytesText(static_cast<std::int64_t>(std::min(needed, 9e18))) +
                               ", and " + bytesText(*m_availableBytes) + " are free",
                           "Leave it out, or choose another device."};
    }

    registry::Registry& m_registry;
    WorkerJobs& m_worker;
    const graph::Program& m_program;
    const VersionInput& m_input;
    const SweepSettings& m_settings;
    const OperationContext& m_context;
    Deadline m_deadline;
    protocol::CallParams m_call;
    std::filesystem::path m_file;
    std::optional<std::int64_t> m_availableBytes;
    double m_peakPerInputByte = 0;
    SweepReport m_report;
};

ordered_json sizesDocument(const std::vector<DynamicSize>& sizes) {
    ordered_json list = ordered_json::array();
    for (const DynamicSize& size : sizes) {
        list.push_back({{"name", size.isBatch ? "batch" : size.symbol},
                        {"symbol", size.symbol},
                        {"places", size.places},
                        {"captured", size.captured},
                        {"min", size.minimum ? ordered_json(*size.minimum) : ordered_json()},
                        {"max", size.maximum ? ordered_json(*size.maximum) : ordered_json()}});
    }
    return list;
}

ordered_json pointDocument(const SweepReport& report, const SweepPoint& point) {
    const auto orNull = [](const auto& value) { return value ? ordered_json(*value) : ordered_json(); };
    ordered_json dimensions = ordered_json::object();
    for (std::size_t i = 0; i < point.values.size(); ++i) {
        dimensions[report.dimensions[i].name] = point.values[i];
    }
    ordered_json document = {{"dims", std::move(dimensions)}};
    document["status"] = point.error ? "failed" : point.side && point.side->host ? "ok" : "no_samples";
    document["error"] = point.error ? ordered_json{{"code", base::errorCodeName(point.error->code)},
                                                   {"message", point.error->message},
                                                   {"fix", point.error->fix}}
                                    : ordered_json();
    const profile::SampleStatistics* host = !point.error && point.side && point.side->host ? &*point.side->host : nullptr;
    document["latency_ns"] = host != nullptr ? ordered_json(host->medianNs) : ordered_json();
    document["ci95_ns"] = host != nullptr ? ordered_json{host->medianInterval.low, host->medianInterval.high} : ordered_json();
    document["p25_ns"] = host != nullptr ? ordered_json(host->p25Ns) : ordered_json();
    document["p75_ns"] = host != nullptr ? ordered_json(host->p75Ns) : ordered_json();
    document["samples_ns"] = host != nullptr ? ordered_json(point.side->measured.samplesNs) : ordered_json::array();
    constexpr double kNsPerSecond = 1e9;
    document["items"] = point.error ? ordered_json() : ordered_json(point.items);
    document["items_per_second"] =
        host != nullptr && host->medianNs > 0
            ? ordered_json(static_cast<double>(point.items) * kNsPerSecond / static_cast<double>(host->medianNs))
            : ordered_json();
    document["flops"] = host != nullptr ? orNull(point.side->measured.flops) : ordered_json();
    document["peak_bytes"] = point.error ? ordered_json() : orNull(point.peakBytes);
    document["activation_bytes"] = point.error ? ordered_json() : orNull(point.activationBytes);
    document["reasons"] = point.reasons;
    document["inputs"] = point.inputs.empty() ? ordered_json() : ordered_json(point.inputs);
    ordered_json flags = ordered_json::array();
    if (host != nullptr) {
        for (const MeasuringFlag& flag : point.side->flags) {
            flags.push_back({{"name", flag.name}, {"sentence", flag.sentence}});
        }
    }
    document["flags"] = std::move(flags);
    return document;
}

} // namespace

int SweepReport::okCount() const {
    return static_cast<int>(std::count_if(
        points.begin(), points.end(), [](const SweepPoint& point) { return !point.error && point.side && point.side->host; }));
}

base::Result<SweepDimension> parseSweepDimension(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string fix = "Write --dim NAME=VALUE,VALUE, such as --dim batch=2,4,8.";
    if (equals == std::string::npos || equals == 0) {
        return invalid("'" + text + "' is no dimension with values", fix);
    }
    SweepDimension dimension{text.substr(0, equals), {}};
    std::set<std::int64_t> seen;
    std::string_view rest = std::string_view(text).substr(equals + 1);
    while (true) {
        const std::string_view word = rest.substr(0, rest.find(','));
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (word.empty() || error != std::errc() || end != word.data() + word.size() || value < 1) {
            return invalid("'" + std::string(word) + "' is no value for the dimension '" + dimension.name +
                               "'; values are positive integers",
                           fix);
        }
        if (!seen.insert(value).second) {
            return invalid("the dimension '" + dimension.name + "' has the value " + std::to_string(value) + " twice", fix);
        }
        dimension.values.push_back(value);
        if (word.size() == rest.size()) {
            return dimension;
        }
        rest.remove_prefix(word.size() + 1);
    }
}

base::Result<SweepReport> runSweep(registry::Registry& registry, WorkerJobs& worker, const graph::Program& program,
                                   const VersionInput& input, const SweepSettings& settings, const OperationContext& context) {
    return Sweep(registry, worker, program, input, settings, context).run();
}

std::string sweepSentence(const SweepReport& report) {
    std::string text = std::to_string(report.okCount()) + " of " +
                       countText(static_cast<std::int64_t>(report.points.size()), "point", "points") + " measured.";
    for (const SweepDimension& dimension : report.dimensions) {
        const DynamicSize* size = findDynamicSize(report.sizes, dimension.name);
        std::string skipped;
        for (const std::int64_t value : dimension.values) {
            if (size != nullptr && !isInRange(*size, value)) {
                skipped += (skipped.empty() ? "" : ", ") + std::to_string(value);
            }
        }
        if (!skipped.empty()) {
            text += " Left out: " + dimension.name + " = " + skipped + ", outside the range " + rangeText(*size) +
                    " that the program was exported for.";
        }
    }
    return text;
}

ordered_json sweepDocument(const SweepReport& report) {
    ordered_json points = ordered_json::array();
    ordered_json environment;
    for (const SweepPoint& point : report.points) {
        points.push_back(pointDocument(report, point));
        if (point.side && environment.is_null()) {
            environment = environmentDocument(point.side->environment);
        }
    }
    return {{"id", report.version.id},
            {"address", versionAddress(report.version)},
            {"class", report.version.className},
            {"sentence", sweepSentence(report)},
            {"mode", report.mode},
            {"device", report.device},
            {"dimensions", sizesDocument(report.sizes)},
            {"n_ok", report.okCount()},
            {"n_total", report.points.size()},
            {"points", std::move(points)},
            {"environment", std::move(environment)},
            {"result", report.resultId.empty() ? ordered_json() : ordered_json(report.resultId)}};
}

} // namespace modulelens::operations
