// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/engine/Passes.h"
#include "backend/graph/CostLedger.h"
#include "backend/protocol/CostMessages.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace modulelens::engine {

/// What a run counted, by operator, beside what the graph alone says for the same input sizes, and what torch's own counter
/// said of the captured call, where the capture has that. `latencyNs` by operator name, where it was timed. Throws Failure.
[[nodiscard]] protocol::CostSummary summarizeCosts(CallBinding& binding, const StepCosts& costs,
                                                   const std::map<std::string, std::int64_t>& latencyNs);

/// Families of operators that `innermost` and torch's counter (FLOPs by operator name) count differently, each with the reason.
/// `observed`: the operators of the program, which tell kernels that call others unseen.
[[nodiscard]] std::vector<protocol::FlopDifference> torchDifferences(const graph::CostLedger& observed,
                                                                     const graph::CostLedger& innermost,
                                                                     const std::map<std::string, std::int64_t>& torchFlops);

}  // namespace modulelens::engine
