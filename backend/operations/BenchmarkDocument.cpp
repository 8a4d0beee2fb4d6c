// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Benchmarking.h"
#include "backend/operations/ResultDocuments.h"

#include <nlohmann/json.hpp>

namespace modulelens::operations {

namespace {

using nlohmann::ordered_json;

template <class Value>
ordered_json orNull(const std::optional<Value>& value) {
    return value ? ordered_json(*value) : ordered_json();
}

ordered_json textOrNull(const std::string& text) {
    return text.empty() ? ordered_json() : ordered_json(text);
}

ordered_json intervalDocument(const profile::Interval& interval) {
    return {interval.low, interval.high};
}

ordered_json flagsDocument(const std::vector<MeasuringFlag>& flags) {
    ordered_json list = ordered_json::array();
    for (const MeasuringFlag& flag : flags) {
        list.push_back({{"name", flag.name}, {"sentence", flag.sentence}});
    }
    return list;
}

/// All statistics by their keys; null without samples.
ordered_json statisticsDocument(const std::optional<profile::SampleStatistics>& statistics) {
    const auto value = [&](std::int64_t profile::SampleStatistics::* member) {
        return statistics ? ordered_json((*statistics).*member) : ordered_json();
    };
    using Statistics = profile::SampleStatistics;
    return {{"n", statistics ? statistics->count : 0},
            {"median_ns", value(&Statistics::medianNs)},
            {"ci95_ns", statistics ? intervalDocument(statistics->medianInterval) : ordered_json()},
            {"p25_ns", value(&Statistics::p25Ns)},
            {"p75_ns", value(&Statistics::p75Ns)},
            {"p95_ns", value(&Statistics::p95Ns)},
            {"min_ns", value(&Statistics::minimumNs)},
            {"max_ns", value(&Statistics::maximumNs)},
            {"mean_ns", value(&Statistics::meanNs)}};
}

ordered_json sideDocument(const BenchmarkSideReport& side) {
    const protocol::BenchmarkSide& measured = side.measured;
    ordered_json document = {{"id", side.version.id},           {"address", versionAddress(side.version)},
                             {"class", side.version.className}, {"engine", side.engine},
                             {"worker", side.worker},           {"status", side.host ? "ok" : "no_samples"}};
    document.update(statisticsDocument(side.host));
    document["host_ns"] = document["median_ns"];
    document["device_ns"] = side.device ? ordered_json(side.device->medianNs) : ordered_json();
    document["device_reason"] = textOrNull(side.deviceReason);
    if (side.device) {
        document["device"] = statisticsDocument(side.device);
        document["device"]["samples_ns"] = measured.deviceNs;
    }
    document["samples_ns"] = measured.samplesNs;
    document["order"] = measured.order;
    document["first_call_ns"] = orNull(measured.firstCallNs);
    if (measured.runsPerSample) {
        document["runs_per_sample"] = *measured.runsPerSample;
    }
    document["warmup_runs"] = measured.warmupRuns;
    document["inputs"] = "captured";
    document["call"] = side.call;
    document["outputs"] = measured.outputs;
    document["operators"] = measured.operators;
    document["flops"] = orNull(measured.flops);
    document["unknown_operators"] = measured.unknownOperators;
    constexpr double kNsPerSecond = 1e9;
    const bool hasRate = measured.flops && side.host && side.host->medianNs > 0;
    document["flops_per_second"] =
        hasRate ? ordered_json(static_cast<double>(*measured.flops) * kNsPerSecond / static_cast<double>(side.host->medianNs))
                : ordered_json();
    document["bytes_least"] = orNull(measured.bytesLeast);
    document["floor_ns"] = orNull(side.floorNs);
    document["floor_reason"] = textOrNull(side.floorReason);
    document["timer_ns"] = side.timerNs;
    document["null_operator_ns"] = side.nullOperatorNs;
    document["environment"] = environmentDocument(side.environment);
    document["flags"] = flagsDocument(side.flags);
    return document;
}

} // namespace

ordered_json environmentDocument(const protocol::MeasuringEnvironment& environment) {
    return {{"host", textOrNull(environment.host)},
            {"device", environment.device},
            {"device_name", orNull(environment.deviceName)},
            {"device_uuid", orNull(environment.deviceUuid)},
            {"driver", orNull(environment.driver)},
            {"clock_locked", orNull(environment.clockLocked)},
            {"clock_hz_before", orNull(environment.clockHzBefore)},
            {"clock_hz_after", orNull(environment.clockHzAfter)},
            {"governor", orNull(environment.governor)},
            {"throttle_reasons", orNull(environment.throttleReasons)},
            {"power_limit_watts", orNull(environment.powerLimitWatts)},
            {"cpus", orNull(environment.cpus)},
            {"load_average", orNull(environment.loadAverage)},
            {"other_cpus", orNull(environment.otherCpus)},
            {"other_device_processes", orNull(environment.otherDeviceProcesses)},
            {"memory_available_bytes", orNull(environment.memoryAvailableBytes)},
            {"last_level_cache_bytes", orNull(environment.lastLevelCacheBytes)},
            {"threads", environment.threads},
            {"interop_threads", environment.interopThreads},
            {"torch_version", environment.torchVersion},
            {"float32_matmul_precision", environment.float32MatmulPrecision},
            {"reduced_precision_reduction", orNull(environment.reducedPrecisionReduction)},
            {"deterministic_algorithms", environment.deterministicAlgorithms}};
}

ordered_json benchmarkDocument(const BenchmarkReport& report) {
    ordered_json sides = ordered_json::array();
    for (const BenchmarkSideReport& side : report.sides) {
        sides.push_back(sideDocument(side));
    }
    return {{"mode", report.mode},
            {"sentence", benchmarkSentence(report)},
            {"verdict", report.verdict ? ordered_json(profile::verdictName(*report.verdict)) : ordered_json()},
            {"verdict_reason", textOrNull(report.verdictReason)},
            {"ratio", report.ratio ? ordered_json(report.ratio->ratio) : ordered_json()},
            {"ci95", report.ratio ? intervalDocument(report.ratio->interval) : ordered_json()},
            {"pairs", report.ratio ? report.ratio->pairs : 0},
            {"delta", orNull(report.delta)},
            {"aa_band", orNull(report.aaBand)},
            {"aa_ratio", report.sameSide ? ordered_json(report.sameSide->ratio) : ordered_json()},
            {"aa_ci95", report.sameSide ? intervalDocument(report.sameSide->interval) : ordered_json()},
            {"aa_samples_ns", report.againNs},
            {"flags", flagsDocument(report.flags)},
            {"sides", std::move(sides)},
            {"seed", report.seed},
            {"samples_per_turn", report.samplesPerTurn},
            {"flushed_bytes", orNull(report.flushedBytes)},
            {"result", textOrNull(report.resultId)}};
}

} // namespace modulelens::operations
