// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/ValidationMessages.h"

/// Wire names of ValidationMessages.h (MessageFields.h says how such descriptions are read).
namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<OracleLeaf> message) {
    visit.optional("verdict", message.verdict);
    visit.optional("reason", message.reason);
    visit.optional("error_ours", message.errorOurs);
    visit.optional("error_captured", message.errorCaptured);
    visit.optional("bound", message.bound);
}

/// Its members stand in the leaf itself.
template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<LeafStatistics> message) {
    visit.optional("failed_check", message.failedCheck);
    visit.optional("max_ulp", message.maxUlp);
    visit.optional("cosine", message.cosine);
    visit.optional("norm_relative_error", message.normRelativeError);
    visit.optional("first_bad_index", message.firstBadIndex);
    visit.optional("nan_expected", message.nanExpected);
    visit.optional("nan_got", message.nanGot);
    visit.optional("nan_mismatched", message.nanMismatched);
    visit.optional("infinite_expected", message.infiniteExpected);
    visit.optional("infinite_got", message.infiniteGot);
    visit.optional("infinite_mismatched", message.infiniteMismatched);
    visit.optional("spread", message.spread);
    visit.optional("reference_spread", message.referenceSpread);
    visit.optional("oracle", message.oracle);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<RepeatResult> message) {
    visit.required("runs", message.runs);
    visit.optional("nondeterministic", message.isNondeterministic);
    visit.optional("stochastic", message.isStochastic);
    visit.optional("spread", message.spread);
    visit.optional("reference_runs", message.referenceRuns);
    visit.optional("reference_spread", message.referenceSpread);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<OracleResult> message) {
    visit.optional("verdict", message.verdict);
    visit.optional("reason", message.reason);
    visit.optional("dtype", message.dtype);
    visit.optional("factor", message.factor);
}

}  // namespace modulelens::protocol
