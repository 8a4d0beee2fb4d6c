// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Verifying.h"

#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/SourceInput.h"
#include "backend/operations/Validating.h"
#include "backend/operations/WorkerJobs.h"

#include <nlohmann/json.hpp>

namespace modulelens::operations {

namespace {

using nlohmann::ordered_json;

/// Errors that end the whole operation, not the benchmark alone.
bool endsAll(base::ErrorCode code) {
    return code == base::ErrorCode::Cancelled || code == base::ErrorCode::Timeout || code == base::ErrorCode::ConsentNeeded ||
           code == base::ErrorCode::InvalidArgument;
}

} // namespace

base::Result<VerifyReport> runVerification(registry::Registry& registry, WorkerJobs& unedited, WorkerJobs* changed,
                                           const std::string& addressOrId, const VerifySettings& settings,
                                           const OperationContext& context) {
    if (settings.file.empty() && changed == nullptr) {
        return base::Error{base::ErrorCode::InvalidArgument, "there is no edited source to verify",
                           "Name a file with --source or a changed checkout with --python-path."};
    }
    RunSettings run = settings.run;
    run.engine = protocol::engine_name::kSource;
    // An edit that does not run must not pass because the captured program does.
    run.needsCode = true;
    if (!settings.file.empty()) {
        base::Result<protocol::EditedSource> edited = readEditedSource(settings.file, settings.className);
        if (!edited) {
            return edited.error();
        }
        run.edited = *std::move(edited);
    }
    base::Result<ValidationReport> validation =
        runValidation(registry, changed != nullptr ? *changed : unedited, addressOrId, run, context, Storing::No);
    if (!validation) {
        return validation.error();
    }
    VerifyReport report{*std::move(validation), std::nullopt, {}};
    if (!settings.measures) {
        report.benchmarkReason = "it was not asked for";
        return report;
    }
    BenchmarkSettings measuring;
    measuring.run = run;
    measuring.run.edited.reset();
    measuring.run.needsCode = false;
    measuring.secondNeedsCode = true;
    measuring.edited = run.edited;
    // Who consented to the edited code, which by now was rebuilt, consented to the same code without the edit.
    measuring.isFirstTrusted = !report.validation.how.empty();
    measuring.mode = settings.mode;
    measuring.repetitions = settings.repetitions;
    measuring.budgetMs = settings.budgetMs;
    base::Result<BenchmarkReport> benchmark =
        runBenchmark(registry, unedited, changed, {addressOrId, addressOrId}, measuring, context);
    if (benchmark) {
        report.benchmark = *std::move(benchmark);
    } else if (endsAll(benchmark.error().code)) {
        return benchmark.error();
    } else {
        report.benchmarkReason = errorSentence(benchmark.error());
    }
    return report;
}

ordered_json verifyDocument(const VerifyReport& report) {
    ordered_json differences = ordered_json::array();
    for (const protocol::SourceDifference& difference : report.validation.differences) {
        differences.push_back({{"class", difference.className}, {"difference", difference.difference}});
    }
    return {{"verdict", report.validation.verdict},
            {"exact", report.validation.exact},
            {"sentence", verifySentence(report)},
            {"how", report.validation.how},
            {"differences", std::move(differences)},
            {"validation", validationDocument(report.validation)},
            {"benchmark", report.benchmark ? benchmarkDocument(*report.benchmark) : ordered_json()},
            {"benchmark_reason", report.benchmark ? ordered_json() : ordered_json(report.benchmarkReason)}};
}

std::string verifySentence(const VerifyReport& report) {
    std::string sentence = verdictSentence(report.validation);
    if (report.benchmark) {
        sentence += ' ' + benchmarkSentence(*report.benchmark);
    }
    return sentence;
}

} // namespace modulelens::operations
