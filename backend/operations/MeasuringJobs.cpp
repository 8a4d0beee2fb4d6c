// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/MeasuringJobs.h"

#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>

namespace modulelens::operations {

namespace {

void writeLog(const OperationContext& context, const std::string& line) {
    if (context.log) {
        context.log(line);
    }
}

void logBenchmark(const BenchmarkReport& report, const OperationContext& context) {
    const auto logFlags = [&](const std::vector<MeasuringFlag>& flags) {
        for (const MeasuringFlag& flag : flags) {
            writeLog(context, flag.name + ": " + flag.sentence);
        }
    };
    for (const BenchmarkSideReport& side : report.sides) {
        if (side.host) {
            writeLog(context, "median " + durationText(side.host->medianNs) + ", half of the runs from " +
                                  durationText(side.host->p25Ns) + " to " + durationText(side.host->p75Ns) + ", shortest " +
                                  durationText(side.host->minimumNs) + ", longest " + durationText(side.host->maximumNs));
        }
        if (side.measured.firstCallNs) {
            writeLog(context, "first call " + durationText(*side.measured.firstCallNs));
        }
        logFlags(side.flags);
    }
    logFlags(report.flags);
}

} // namespace

std::string sweepPointSentence(const SweepReport& report, const SweepPoint& point) {
    std::string text;
    for (std::size_t i = 0; i < point.values.size() && i < report.dimensions.size(); ++i) {
        text += (text.empty() ? "" : ", ") + report.dimensions[i].name + " = " + std::to_string(point.values[i]);
    }
    if (point.error) {
        return text + ": " + errorSentence(*point.error);
    }
    if (!point.side || !point.side->host || point.side->host->medianNs <= 0) {
        return text + ": no samples";
    }
    constexpr double kNsPerSecond = 1e9;
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.4g",
                  static_cast<double>(point.items) * kNsPerSecond / static_cast<double>(point.side->host->medianNs));
    text += ": " + durationText(point.side->host->medianNs) + ", " + rate + " items/s";
    return point.peakBytes ? text + ", peak " + bytesText(*point.peakBytes) : text;
}

JobRequest benchmarkJob(Operations& operations, const std::string& addressOrId, const BenchmarkSettings& settings,
                        std::function<void(const base::Result<BenchmarkReport>&)> done) {
    return {"benchmark", "Benchmark " + addressOrId, addressOrId,
            [&operations, addressOrId, settings,
             done = std::move(done)](const OperationContext& context) -> base::Result<std::string> {
                const base::Result<BenchmarkReport> report = operations.benchmark({addressOrId}, settings, context);
                if (report) {
                    logBenchmark(*report, context);
                }
                if (done) {
                    done(report);
                }
                return report ? base::Result<std::string>(benchmarkSentence(*report)) : report.error();
            }};
}

JobRequest verifyJob(Operations& operations, const std::string& addressOrId, const VerifySettings& settings,
                     std::function<void(const base::Result<VerifyReport>&)> done) {
    return {"verify", "Verify an edit of " + addressOrId, addressOrId,
            [&operations, addressOrId, settings, isFirst = std::make_shared<std::atomic<bool>>(true),
             done = std::move(done)](const OperationContext& context) -> base::Result<std::string> {
                VerifySettings now = settings;
                // Whoever runs it again later finds another text in the file, and may have ended their trust.
                now.run.isTrusted = settings.run.isTrusted && isFirst->exchange(false);
                const base::Result<VerifyReport> report = operations.verify(addressOrId, now, context);
                if (report) {
                    for (const protocol::SourceDifference& difference : report->validation.differences) {
                        writeLog(context, difference.className + '\n' + difference.difference);
                    }
                    if (report->benchmark) {
                        logBenchmark(*report->benchmark, context);
                    }
                }
                if (done) {
                    done(report);
                }
                return report ? base::Result<std::string>(verifySentence(*report)) : report.error();
            }};
}

JobRequest sweepJob(Operations& operations, const std::string& addressOrId, const SweepSettings& settings,
                    std::function<void(const base::Result<SweepReport>&)> done) {
    return {"sweep", "Sweep " + addressOrId, addressOrId,
            [&operations, addressOrId, settings,
             done = std::move(done)](const OperationContext& context) -> base::Result<std::string> {
                const base::Result<SweepReport> report = operations.sweep(addressOrId, settings, context);
                if (report) {
                    for (const SweepPoint& point : report->points) {
                        writeLog(context, sweepPointSentence(*report, point));
                    }
                }
                if (done) {
                    done(report);
                }
                if (!report) {
                    return report.error();
                }
                const bool isShort = report->points.size() == 1;
                return isShort ? sweepPointSentence(*report, report->points.front()) : sweepSentence(*report);
            }};
}

} // namespace modulelens::operations
