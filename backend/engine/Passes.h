// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/engine/Modes.h"
#include "backend/graph/CostLedger.h"
#include "backend/profile/Profile.h"

#include <functional>
#include <optional>
#include <vector>

/// The measuring passes. Each is a run of its own, so that none disturbs another's numbers.
namespace modulelens::engine {

/// Nanoseconds by step id of one run, and how often each step ran.
struct StepTimes {
    std::vector<std::int64_t> ns;
    std::vector<int> executions;
    std::int64_t runNs = 0;
};

/// One run with a clock read after every step. A step's time reaches from the end of the step before it: reading arguments,
/// the operator, storing results, freeing what died.
[[nodiscard]] StepTimes timeSteps(CallBinding& binding, const std::atomic<bool>& stop);

/// FLOPs and bytes by step id of one run, from formulas fed with the shapes that really occurred. An operator without a
/// formula of its own counts what the operators that it calls count.
struct StepCosts {
    std::vector<std::optional<std::int64_t>> flops;
    std::vector<std::optional<std::int64_t>> bytes;
    std::int64_t totalFlops = 0;
    profile::CoverageLists coverage;
    graph::CostLedger ledger;
    graph::CostLedger innermost;              ///< Counted operators that call no counted one, by their own names.
};
[[nodiscard]] StepCosts countSteps(CallBinding& binding, const std::atomic<bool>& stop);

/// What autograd keeps for backward when grad mode is on: unique storages that are neither parameters nor buffers, by
/// the bytes of the views kept, at the step that first kept them.
struct StepActivations {
    std::int64_t liveBytes = 0;
    std::int64_t heldBytes = 0;               ///< Whole storages.
    int savedTensors = 0;                     ///< Of any kind; 0: autograd recorded nothing.
    std::vector<std::int64_t> live;           ///< By step id.
};
[[nodiscard]] StepActivations recordActivations(CallBinding& binding, const std::atomic<bool>& stop);

/// Must be called once before the first run of the process, for recordActivations.
void installAutogradObserver();

}  // namespace modulelens::engine
