// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/OperatorCost.h"

#include "backend/graph/operators/Formula.h"

namespace modulelens::graph {

OperatorCost operatorCost(const OperatorCall& call) {
    OperatorCost cost;
    if (const auto zero = findZeroRow(call.name)) {
        cost.coverage = Coverage::ZeroByDefinition;
        cost.bytesMoved = bytesMoved(call, zero->traffic);
        const bool isIdentity = zero->traffic == Traffic::Dropout && cost.bytesMoved == 0;
        cost.otherFlops = isIdentity ? std::optional<std::int64_t>(0) : otherWork(call, zero->work);
        return cost;
    }
    cost.bytesMoved = bytesMoved(call, Traffic::Stream);
    const FormulaRow* row = findFormula(call.name);
    // In-place forms ("aten::addmm_") have the arguments of the plain form.
    if (row == nullptr && call.name.ends_with('_') && !call.name.ends_with("__")) {
        row = findFormula(call.name.substr(0, call.name.size() - 1));
    }
    if (row == nullptr) {
        return cost;
    }
    if (const auto flops = row->flops(call)) {
        cost.coverage = Coverage::Counted;
        cost.flops = *flops;
        cost.otherFlops = row->other != nullptr ? row->other(call) : std::nullopt;
        cost.recomputedFlops = row->recomputed != nullptr ? row->recomputed(call).value_or(0) : 0;
        cost.maskedFlops = row->masked != nullptr ? row->masked(call).value_or(0) : 0;
    }
    return cost;
}

}  // namespace modulelens::graph
