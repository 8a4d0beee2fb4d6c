// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// What the raw samples of a benchmark say, and how far they can be trusted.
#include "backend/operations/Benchmarking.h"
#include "backend/operations/Sentences.h"

#include <algorithm>
#include <cstdio>

namespace modulelens::operations {

namespace {

constexpr std::int64_t kNullOperators = 3;
constexpr std::int64_t kTimerCosts = 100;
constexpr double kEscape = 1.1;
constexpr double kFloorTolerance = 0.8;
constexpr double kLeastDrift = 0.05;
constexpr double kNoticeableCpus = 0.25;

std::string percent(double fraction) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %%", 100 * fraction);
    return text;
}

std::string decimal(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

bool hasFlag(const std::vector<MeasuringFlag>& flags, std::string_view name) {
    return std::any_of(flags.begin(), flags.end(), [&](const MeasuringFlag& flag) { return flag.name == name; });
}

void addSideFlags(BenchmarkSideReport& side, double band) {
    const protocol::BenchmarkSide& measured = side.measured;
    const auto flag = [&](const char* name, std::string sentence) { side.flags.push_back({name, std::move(sentence)}); };
    if (measured.warmupCapped) {
        flag("warmup_capped", "The times were still changing after " + std::to_string(measured.warmupRuns) +
                                  " warm-up runs; allow more with --budget.");
    }
    const std::optional<profile::Drift> drift = profile::driftOf(measured.samplesNs);
    if (profile::isThrottled(drift, std::max(band, kLeastDrift))) {
        flag("throttled", "The runs became " + percent(drift->change) + " slower from the first to the last.");
    }
    if (measured.outputs == "fail") {
        flag("outputs_changed", "The last timed run gave other outputs than the first run" +
                                    (measured.outputsPointer.empty() ? "" : ", at " + measured.outputsPointer) + '.');
    }
    if (!side.host) {
        return;
    }
    const std::int64_t dispatch = measured.operators * side.nullOperatorNs;
    // A graph is launched as a whole, and as often as the clock needs.
    const bool isGraph = measured.runsPerSample.has_value();
    if (!isGraph && side.host->medianNs < kNullOperators * dispatch) {
        flag("host_bound", "Calling " + std::to_string(measured.operators) + " operators that do nothing would take " +
                               durationText(dispatch) + " of the " + durationText(side.host->medianNs) + '.');
    }
    if (side.host->medianNs * measured.runsPerSample.value_or(1) < kTimerCosts * side.timerNs) {
        flag("timer_bound", "A run takes less than a hundred times what reading the clock takes.");
    }
    if (side.floorNs && static_cast<double>(side.host->medianNs) < kFloorTolerance * static_cast<double>(*side.floorNs)) {
        flag("impossible", "The median lies below the " + durationText(*side.floorNs) +
                               " that this device needs at its measured peak; it is no time of this work.");
    }
    if (side.device && static_cast<double>(side.host->medianNs - side.device->medianNs) >
                           kEscape * static_cast<double>(std::max<std::int64_t>(dispatch, 1))) {
        flag("async_escape", "Host and device time differ by more than launching the operators explains.");
    }
}

void addSessionFlags(BenchmarkReport& report) {
    for (const BenchmarkSideReport& side : report.sides) {
        if (std::string sentence = otherLoad(side.environment); !sentence.empty()) {
            report.flags.push_back({"other_load", std::move(sentence)});
            break;
        }
    }
    if (report.sides.size() == 1 && report.aaBand && *report.aaBand > kLeastDrift) {
        report.flags.push_back({"ambiguous", "Neighbouring runs differ by up to " + percent(*report.aaBand) +
                                                 " in the median; smaller differences cannot be seen here."});
    }
}

void decide(BenchmarkReport& report) {
    if (!report.ratio || !report.aaBand) {
        report.verdict = profile::Verdict::Ambiguous;
        report.verdictReason = "There are too few samples.";
        return;
    }
    report.verdict = profile::verdictOf(report.ratio->interval, *report.delta);
    const auto doubt = [&](const std::string& reason) {
        report.verdict = profile::Verdict::Ambiguous;
        report.verdictReason = reason;
    };
    if (*report.verdict == profile::Verdict::Ambiguous) {
        report.verdictReason = "The interval reaches over the limit of " + percent(*report.delta) + '.';
    }
    for (const BenchmarkSideReport& side : report.sides) {
        for (const char* name : {"impossible", "outputs_changed"}) {
            if (hasFlag(side.flags, name)) {
                doubt(std::string("A side is flagged ") + name + '.');
            }
        }
    }
    // Both sides meet the load alike, so that they are the same can still be said.
    if (*report.verdict != profile::Verdict::Same && hasFlag(report.flags, "other_load")) {
        doubt("Other processes disturbed the measurement.");
    }
    if (*report.verdict == profile::Verdict::Ambiguous) {
        report.flags.push_back({"ambiguous", report.verdictReason});
    }
}

} // namespace

std::string otherLoad(const protocol::MeasuringEnvironment& environment) {
    const bool isCrowded = environment.otherCpus && environment.cpus && *environment.otherCpus > kNoticeableCpus &&
                           *environment.otherCpus + environment.threads > *environment.cpus;
    return isCrowded ? "Other processes kept " + decimal(*environment.otherCpus) + " of " + std::to_string(*environment.cpus) +
                           " processors busy while this was measured."
                     : std::string();
}

void judge(BenchmarkReport& report, const std::vector<std::vector<std::int64_t>>& pairsNs) {
    for (BenchmarkSideReport& side : report.sides) {
        side.host = profile::summarize(side.measured.samplesNs, report.seed);
        side.device = profile::summarize(side.measured.deviceNs, report.seed);
    }
    if (report.sides.size() == 2) {
        const bool isGiven = pairsNs.size() == 3;
        const auto& first = isGiven ? pairsNs[0] : report.sides[0].measured.samplesNs;
        const auto& second = isGiven ? pairsNs[1] : report.sides[1].measured.samplesNs;
        const auto& again = isGiven ? pairsNs[2] : report.againNs;
        report.ratio = profile::pairedRatio(first, second, report.seed);
        report.sameSide = profile::pairedRatio(first, again, report.seed);
    } else {
        report.sameSide = profile::neighbourRatio(report.sides.front().measured.samplesNs, report.seed);
    }
    if (report.sameSide) {
        report.aaBand = profile::bandOf(*report.sameSide);
        report.delta = profile::smallestDifference(*report.aaBand);
    }
    for (BenchmarkSideReport& side : report.sides) {
        addSideFlags(side, report.aaBand.value_or(0));
    }
    addSessionFlags(report);
    if (report.sides.size() == 2) {
        decide(report);
    }
}

base::Result<void> checkComparable(const protocol::BenchmarkResult& first, const protocol::BenchmarkResult& second) {
    const auto differ = [](const char* what, const std::string& left, const std::string& right) -> base::Result<void> {
        if (left == right) {
            return {};
        }
        return base::Error{base::ErrorCode::InvalidArgument,
                           std::string("the sides were measured with different ") + what + ", " + left + " and " + right +
                               ", so they cannot be compared",
                           "Measure both in one session with equal settings."};
    };
    for (const auto& checked :
         {differ("modes", first.mode, second.mode),
          differ("thread counts", std::to_string(first.environment.threads), std::to_string(second.environment.threads)),
          differ("float32 matmul precisions", first.environment.float32MatmulPrecision,
                 second.environment.float32MatmulPrecision)}) {
        if (!checked) {
            return checked;
        }
    }
    return {};
}

std::string benchmarkSentence(const BenchmarkReport& report) {
    const auto range = [](const profile::Interval& interval) {
        return " (95 %: " + decimal(interval.low) + " to " + decimal(interval.high) + ')';
    };
    if (report.ratio && report.verdict) {
        return decimal(report.ratio->ratio) + " times as fast" + range(report.ratio->interval) + ": " +
               std::string(profile::verdictName(*report.verdict)) +
               (report.verdictReason.empty() ? "." : ". " + report.verdictReason);
    }
    const BenchmarkSideReport& side = report.sides.front();
    if (!side.host) {
        return "No samples.";
    }
    return durationText(side.host->medianNs) +
           " (95 %: " + durationText(static_cast<std::int64_t>(side.host->medianInterval.low)) + " to " +
           durationText(static_cast<std::int64_t>(side.host->medianInterval.high)) + "), " +
           countText(side.host->count, "sample", "samples") + ", " + report.mode + '.';
}

} // namespace modulelens::operations
