// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Validating.h"

#include "backend/operations/ForeignImport.h"
#include "backend/operations/OperationSteps.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/ValidationOrder.h"
#include "backend/operations/VersionInput.h"
#include "backend/operations/WorkerJobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace modulelens::operations {

namespace {

/// Compares the gradients as well; the worse verdict counts.
base::Result<void> checkGradients(workerclient::WorkerClient& client, const protocol::CallParams& call,
                                  const workerclient::RequestContext& request, ValidationReport& report) {
    base::Result<protocol::ValidateResult> result = client.gradients(call, request);
    if (!result) {
        return result.error();
    }
    report.gradientVerdict = result->verdict;
    report.exact = report.exact && result->exact;
    report.leaves.insert(report.leaves.end(), result->leaves.begin(), result->leaves.end());
    if (result->maxAbsDiff) {
        report.maxAbsDiff = std::max(report.maxAbsDiff.value_or(0), *result->maxAbsDiff);
    }
    if (result->verdict == "fail" || (result->verdict == "not_comparable" && report.verdict == "pass")) {
        report.verdict = result->verdict;
        report.reason = result->reason;
    }
    return {};
}

} // namespace

base::Result<ValidationReport> runValidation(registry::Registry& registry, WorkerJobs& jobs, const std::string& addressOrId,
                                             const RunSettings& settings, const OperationContext& context, Storing storing) {
    const base::Result<VersionInput> input = readRunInput(registry, addressOrId, settings);
    if (!input) {
        return input.error();
    }
    ValidationReport report;
    report.version = input->summary;
    report.engine = settings.engine;
    if (!input->call().exceptionType.empty()) {
        report.verdict = "not_comparable";
        report.reason = "the captured call raised " + input->call().exceptionType;
        return report;
    }
    if (isWithoutOutputs(input->call())) {
        report.verdict = "not_comparable";
        report.reason = kNoOutputGap;
        return report;
    }
    if (input->program.empty() && !input->usesSource) {
        report.verdict = "no_program";
        report.reason = input->noProgramReason;
        return report;
    }
    base::Result<protocol::CallParams> call = callParams(registry, *input);
    if (!call) {
        return call.error();
    }
    protocol::ValidateParams params(*std::move(call));
    params.repeats = settings.repeats;
    params.wantsOracle = settings.wantsOracle;
    params.call.threads = settings.threads ? settings.threads : capturedThreads(input->document);
    if (base::Result<void> added = addSameCalls(registry, *input, params); !added) {
        return added.error();
    }
    const auto job = [&](workerclient::WorkerClient& client, const WorkerJobs::Loaded& loaded,
                         const workerclient::RequestContext& request) -> base::Result<void> {
        params.call.handle = loaded.load.handle;
        base::Result<protocol::ValidateResult> result = client.validate(params, request);
        if (!result) {
            return result.error();
        }
        report.verdict = result->verdict;
        if (input->usesSource) {
            report.how = loaded.source.how;
            report.differences = loaded.source.differences;
        }
        report.exact = result->exact;
        report.maxAbsDiff = result->maxAbsDiff;
        report.leaves = std::move(result->leaves);
        report.threads = result->threads;
        report.reason = result->reason;
        report.repeats = result->repeats;
        report.oracle = std::move(result->oracle);
        report.warnings = loaded.warnings;
        report.warnings.insert(report.warnings.end(), result->warnings.begin(), result->warnings.end());
        return settings.backward ? checkGradients(client, params.call, request, report) : base::Result<void>();
    };
    if (base::Result<void> done = jobs.run(registry, *input, settings.device, context, job); !done) {
        return done.error();
    }
    if (storing == Storing::No) {
        return report;
    }
    nlohmann::ordered_json document = validationDocument(report);
    document["warnings"] = report.warnings;
    report.resultId =
        storeResult(registry, report.version.id,
                    {{}, "validation", {}, settings.device, report.engine, serialized(document), {}}, report.warnings)
            .id;
    return report;
}

} // namespace modulelens::operations
