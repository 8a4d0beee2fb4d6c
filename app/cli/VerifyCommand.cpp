// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "app/cli/MeasuringOptions.h"
#include "app/cli/Runner.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/Verifying.h"
#include "backend/protocol/ErrorTable.h"

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace modulelens::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookAgain{200};

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

base::Result<operations::VerifySettings> readSettings(const Arguments& arguments, const operations::RunSettings& run) {
    operations::VerifySettings settings;
    settings.run = run;
    if (const base::Result<void> read = readMeasuring(arguments, settings); !read) {
        return read.error();
    }
    if (arguments.has("source")) {
        readSource(arguments.text("source"), settings);
    }
    settings.python = arguments.text("python");
    settings.pythonPath = arguments.texts("python-path");
    settings.measures = !arguments.has("no-benchmark");
    if (settings.file.empty() && settings.pythonPath.empty()) {
        return base::Error{base::ErrorCode::InvalidArgument, "'verify' needs edited source",
                           "Name a file with --source, or a changed checkout with --python-path."};
    }
    return settings;
}

Answer answerOf(const operations::VerifyReport& report) {
    Answer answer;
    answer.data = operations::verifyDocument(report);
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

/// When each watched file was written, so that any save shows.
std::map<std::string, fs::file_time_type> stateOf(const operations::VerifySettings& settings) {
    std::map<std::string, fs::file_time_type> state;
    std::error_code failed;
    const auto note = [&](const fs::path& path) {
        const auto time = fs::last_write_time(path, failed);
        if (!failed) {
            state[path.string()] = time;
        }
    };
    if (!settings.file.empty()) {
        note(settings.file);
    }
    for (const std::string& folder : settings.pythonPath) {
        for (auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, failed);
             !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
            if (entry->path().extension() == ".py") {
                note(entry->path());
            }
        }
    }
    return state;
}

/// Returns false when the user wants no more.
bool waitForSave(const operations::VerifySettings& settings, const std::map<std::string, fs::file_time_type>& seen,
                 const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
        changed.wait_for(lock, stop, kLookAgain, [] { return false; });
        if (stateOf(settings) != seen) {
            return !stop.stop_requested();
        }
    }
    return false;
}

} // namespace

base::Result<Answer> verify(CommandContext& context) {
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    const base::Result<operations::VerifySettings> settings = readSettings(context.arguments(), runner->settings);
    if (!settings) {
        return settings.error();
    }
    while (true) {
        const auto seen = stateOf(*settings);
        const base::Result<operations::VerifyReport> report =
            runner->operations->verify(runner->address, *settings, runner->context);
        if (report) {
            for (const std::string& warning : report->validation.warnings) {
                context.warn(warning);
            }
        }
        if (!context.arguments().has("watch")) {
            return report ? base::Result<Answer>(answerOf(*report)) : report.error();
        }
        if (!report && (report.error().code == base::ErrorCode::Cancelled || report.error().code == base::ErrorCode::Timeout)) {
            return report.error();
        }
        context.publish(report ? base::Result<Answer>(answerOf(*report)) : report.error());
        if (!waitForSave(*settings, seen, context.stop())) {
            return base::Error{base::ErrorCode::Cancelled, "'verify --watch' was ended", {}};
        }
    }
}

} // namespace modulelens::cli
