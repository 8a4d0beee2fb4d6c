// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "app/cli/MeasuringOptions.h"
#include "app/cli/Runner.h"
#include "backend/operations/Benchmarking.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/WorkerCommand.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace modulelens::cli {

namespace {

base::Result<std::uint64_t> readSeed(const Arguments& arguments) {
    const std::string text = arguments.text("seed");
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (arguments.has("seed") && (error != std::errc() || end != text.data() + text.size() || text.empty())) {
        return base::Error{base::ErrorCode::InvalidArgument, "'" + text + "' is no value for --seed",
                           "Give a number from 0 to 2^64 - 1."};
    }
    return seed;
}

base::Result<operations::BenchmarkSettings> readSettings(const Arguments& arguments, const operations::RunSettings& run) {
    operations::BenchmarkSettings settings;
    settings.run = run;
    if (const base::Result<void> read = readMeasuring(arguments, settings); !read) {
        return read.error();
    }
    const base::Result<std::uint64_t> seed = readSeed(arguments);
    if (!seed) {
        return seed.error();
    }
    settings.seed = *seed;
    if (arguments.has("against-worker")) {
        settings.againstWorker = operations::splitWorkerCommand(arguments.text("against-worker"));
        if (settings.againstWorker.empty()) {
            return base::Error{base::ErrorCode::InvalidArgument, "--against-worker names no command",
                               "Write --against-worker followed by a program and its arguments in quotes."};
        }
    }
    return settings;
}

std::string benchmarkText(const operations::BenchmarkReport& report) {
    std::vector<std::vector<std::string>> rows = {{"SIDE", "MEDIAN", "P25", "P75", "P95", "MIN", "MAX", "N", "FIRST CALL"}};
    for (const operations::BenchmarkSideReport& side : report.sides) {
        std::vector<std::string> row = {operations::versionAddress(side.version)};
        if (side.host) {
            const profile::SampleStatistics& host = *side.host;
            for (const std::int64_t value :
                 {host.medianNs, host.p25Ns, host.p75Ns, host.p95Ns, host.minimumNs, host.maximumNs}) {
                row.push_back(operations::durationText(value));
            }
            row.push_back(std::to_string(host.count));
        } else {
            row.insert(row.end(), {"-", "-", "-", "-", "-", "-", "0"});
        }
        const auto& first = side.measured.firstCallNs;
        row.push_back(first ? operations::durationText(*first) : "-");
        rows.push_back(std::move(row));
    }
    std::string text = operations::benchmarkSentence(report) + '\n' + formatTable(rows, {1, 2, 3, 4, 5, 6, 7, 8});
    const auto addFlags = [&](const std::string& of, const std::vector<operations::MeasuringFlag>& flags) {
        for (const operations::MeasuringFlag& flag : flags) {
            text += of + flag.name + ": " + flag.sentence + '\n';
        }
    };
    for (const operations::BenchmarkSideReport& side : report.sides) {
        addFlags(report.sides.size() > 1 ? operations::versionAddress(side.version) + ' ' : std::string(), side.flags);
    }
    addFlags({}, report.flags);
    return text;
}

} // namespace

base::Result<std::string> benchmarkMode(const Arguments& arguments) {
    namespace mode = protocol::benchmarkmode;
    if (!arguments.has("mode")) {
        return std::string(mode::kHot);
    }
    const std::string name = arguments.text("mode");
    for (const char* known : {mode::kHot, mode::kCold, mode::kHostEndToEnd, mode::kGraph}) {
        if (name == known) {
            return name;
        }
    }
    return base::Error{base::ErrorCode::InvalidArgument, "there is no benchmark mode '" + name + "'",
                       "Modes are hot, cold, host_e2e and graph."};
}

base::Result<Answer> benchmark(CommandContext& context) {
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    const base::Result<operations::BenchmarkSettings> settings = readSettings(context.arguments(), runner->settings);
    if (!settings) {
        return settings.error();
    }
    const auto report = runner->operations->benchmark(context.arguments().positionals(), *settings, runner->context);
    if (!report) {
        return report.error();
    }
    context.warnAll(report->warnings);
    Answer answer;
    answer.data = operations::benchmarkDocument(*report);
    answer.text = benchmarkText(*report);
    return answer;
}

} // namespace modulelens::cli
