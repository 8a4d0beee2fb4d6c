// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "app/cli/MeasuringOptions.h"
#include "app/cli/Runner.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/SavedFiles.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/Verifying.h"
#include "backend/operations/WorkingCopy.h"
#include "backend/protocol/ErrorTable.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace modulelens::cli {

namespace {

namespace fs = std::filesystem;

bool isClassName(const std::string& text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

/// FILE or FILE:Class.
void readSource(const std::string& text, operations::VerifySettings& settings) {
    const std::size_t colon = text.rfind(':');
    std::error_code ignored;
    if (colon != std::string::npos && isClassName(text.substr(colon + 1)) && !fs::exists(text, ignored)) {
        settings.file = text.substr(0, colon);
        settings.className = text.substr(colon + 1);
    } else {
        settings.file = text;
    }
}

base::Result<operations::VerifySettings> readSettings(const Arguments& arguments, const Runner& runner) {
    operations::VerifySettings settings;
    settings.run = runner.settings;
    if (const base::Result<void> read = readMeasuring(arguments, settings); !read) {
        return read.error();
    }
    if (arguments.has("source") && arguments.has("edit")) {
        return base::Error{base::ErrorCode::InvalidArgument, "--source and --edit both name the edited source",
                           "Leave out one of them."};
    }
    if (arguments.has("source")) {
        readSource(arguments.text("source"), settings);
    }
    if (arguments.has("edit")) {
        const base::Result<operations::WorkingCopy> copy =
            operations::prepareWorkingCopy(*runner.registry, runner.address, operations::workingCopyFolder());
        if (!copy) {
            return copy.error();
        }
        settings.file = copy->file;
        settings.className = copy->className;
    }
    settings.python = arguments.text("python");
    settings.pythonPath = arguments.texts("python-path");
    settings.measures = !arguments.has("no-benchmark");
    if (settings.file.empty() && settings.pythonPath.empty()) {
        return base::Error{base::ErrorCode::InvalidArgument, "'verify' needs edited source",
                           "Name a file with --source, let --edit write one, or name a changed checkout with --python-path."};
    }
    return settings;
}

Answer answerOf(const operations::VerifyReport& report, const operations::VerifySettings& settings) {
    Answer answer;
    answer.data = operations::verifyDocument(report);
    answer.data["file"] =
        settings.file.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(fs::absolute(settings.file).string());
    answer.text = operations::versionAddress(report.validation.version) + ": " + operations::verifySentence(report) + '\n';
    for (const protocol::LeafResult& leaf : report.validation.leaves) {
        if (leaf.verdict == "fail" || leaf.verdict == "not_comparable") {
            answer.text += leaf.pointer + ": " + leaf.reason + '\n';
        }
    }
    for (const protocol::SourceDifference& difference : report.validation.differences) {
        answer.text += difference.className + '\n' + difference.difference + '\n';
    }
    if (!report.benchmark) {
        answer.text += "Not timed: " + report.benchmarkReason + '\n';
    }
    answer.exitCode = report.validation.verdict == "pass" ? 0 : protocol::kExitMismatch;
    return answer;
}

} // namespace

base::Result<Answer> verify(CommandContext& context) {
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    const base::Result<operations::VerifySettings> settings = readSettings(context.arguments(), *runner);
    if (!settings) {
        return settings.error();
    }
    const operations::WatchedFiles watched{settings->file, settings->pythonPath};
    while (true) {
        const operations::SavedState seen = operations::savedState(watched);
        const base::Result<operations::VerifyReport> report =
            runner->operations->verify(runner->address, *settings, runner->context);
        if (report) {
            for (const std::string& warning : report->validation.warnings) {
                context.warn(warning);
            }
        }
        if (!context.arguments().has("watch")) {
            return report ? base::Result<Answer>(answerOf(*report, *settings)) : report.error();
        }
        if (!report && (report.error().code == base::ErrorCode::Cancelled || report.error().code == base::ErrorCode::Timeout)) {
            return report.error();
        }
        context.publish(report ? base::Result<Answer>(answerOf(*report, *settings)) : report.error());
        if (!operations::waitForSave(watched, seen, context.stop())) {
            return base::Error{base::ErrorCode::Cancelled, "'verify --watch' was ended", {}};
        }
    }
}

} // namespace modulelens::cli
