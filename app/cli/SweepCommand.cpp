// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "app/cli/MeasuringOptions.h"
#include "app/cli/Runner.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/Sweep.h"

#include <cstdio>

namespace modulelens::cli {

namespace {

base::Result<operations::SweepSettings> readSettings(const Arguments& arguments) {
    operations::SweepSettings settings;
    for (const std::string& text : arguments.texts("dim")) {
        base::Result<operations::SweepDimension> dimension = operations::parseSweepDimension(text);
        if (!dimension) {
            return dimension.error();
        }
        settings.dimensions.push_back(*std::move(dimension));
    }
    if (const base::Result<void> read = readMeasuring(arguments, settings); !read) {
        return read.error();
    }
    return settings;
}

std::string rateText(const operations::SweepPoint& point) {
    constexpr double kNsPerSecond = 1e9;
    char text[32];
    std::snprintf(text, sizeof text, "%.4g/s",
                  static_cast<double>(point.items) * kNsPerSecond / static_cast<double>(point.side->host->medianNs));
    return text;
}

std::string sweepText(const operations::SweepReport& report) {
    std::vector<std::vector<std::string>> rows(1);
    std::vector<std::size_t> numbers;
    for (const operations::SweepDimension& dimension : report.dimensions) {
        numbers.push_back(rows[0].size());
        rows[0].push_back(dimension.name);
    }
    for (const char* title : {"LATENCY", "ITEMS", "PEAK", "SAVED FOR BACKWARD"}) {
        numbers.push_back(rows[0].size());
        rows[0].emplace_back(title);
    }
    rows[0].emplace_back("");
    const auto bytes = [](const std::optional<std::int64_t>& value) {
        return value ? operations::bytesText(*value) : std::string("-");
    };
    for (const operations::SweepPoint& point : report.points) {
        std::vector<std::string> row;
        row.reserve(rows[0].size());
        for (const std::int64_t value : point.values) {
            row.push_back(std::to_string(value));
        }
        const bool isMeasured = !point.error && point.side && point.side->host && point.side->host->medianNs > 0;
        row.push_back(isMeasured ? operations::durationText(point.side->host->medianNs) : "-");
        row.push_back(isMeasured ? rateText(point) : "-");
        row.push_back(point.error ? "-" : bytes(point.peakBytes));
        row.push_back(point.error ? "-" : bytes(point.activationBytes));
        row.push_back(point.error ? operations::errorSentence(*point.error) : std::string());
        rows.push_back(std::move(row));
    }
    return operations::versionAddress(report.version) + ": " + operations::sweepSentence(report) + '\n' +
           formatTable(rows, numbers);
}

} // namespace

base::Result<Answer> sweep(CommandContext& context) {
    // What was typed is checked before anything is opened.
    base::Result<operations::SweepSettings> settings = readSettings(context.arguments());
    if (!settings) {
        return settings.error();
    }
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    settings->run = runner->settings;
    const auto report = runner->operations->sweep(runner->address, *settings, runner->context);
    if (!report) {
        return report.error();
    }
    context.warnAll(report->warnings);
    Answer answer;
    answer.data = operations::sweepDocument(*report);
    answer.text = sweepText(*report);
    return answer;
}

} // namespace modulelens::cli
