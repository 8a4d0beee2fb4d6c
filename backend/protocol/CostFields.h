// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/CostMessages.h"

/// Wire names of CostMessages.h (MessageFields.h says how such descriptions are read).
namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<OperatorTotal> message) {
    visit.required("name", message.name);
    visit.required("coverage", message.coverage);
    visit.optional("calls", message.calls);
    visit.optional("flops", message.flops);
    visit.optional("bytes", message.bytes);
    visit.optional("other_flops", message.otherFlops);
    visit.optional("latency_ns", message.latencyNs);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<FlopDifference> message) {
    visit.required("name", message.name);
    visit.optional("observed", message.observed);
    visit.optional("other", message.other);
    visit.optional("reason", message.reason);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<CostSummary> message) {
    visit.optional("bytes", message.bytes);
    visit.optional("is_lower_bound", message.isLowerBound);
    visit.optional("causal_convention", message.causalConvention);
    visit.optional("causal_exact_flops", message.causalExactFlops);
    visit.optional("all_operations_flops", message.allOperationsFlops);
    visit.optional("static_flops", message.staticFlops);
    visit.optional("static_difference", message.staticDifference);
    visit.optional("operators", message.operators);
    visit.optional("torch_flops", message.torchFlops);
    visit.optional("torch_version", message.torchVersion);
    visit.optional("torch_difference", message.torchDifference);
}

}  // namespace modulelens::protocol
