// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Plan.h"

#include <vector>

/// The operators that are none of the dispatcher's: those whose operands are graphs (loops in Loops.h) or another operator.
namespace modulelens::engine {

/// Whoever runs graphs. Confined to its thread.
class SubGraphRunner {
public:
    virtual ~SubGraphRunner() = default;
    /// Runs `graph` on one value per input, returns its outputs flat. Throws Failure, Cancelled too for a graph without steps.
    virtual std::vector<c10::IValue> runSubGraph(const PlanGraph& graph, const std::vector<c10::IValue>& inputs) = 0;
};

/// Runs a higher-order step, its results into `frame`. Requires: `step` passed checkHigherOrder of the planner. Throws Failure.
void runHigherOrder(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner);

/// Whether a condition holds: a tensor with one element, a flag or a number.
[[nodiscard]] bool isTrue(const c10::IValue& value);

/// Appends the values that `source` reads: of a list each element.
void appendFlat(const ArgumentSource& source, std::vector<c10::IValue>& frame, std::vector<c10::IValue>& values);

/// The operands of `step` from the argument `first` on, lists as their elements.
[[nodiscard]] std::vector<c10::IValue> flatOperands(const Step& step, std::size_t first, std::vector<c10::IValue>& frame);

/// Stores `values` one by one into what `step` names as results. Throws Failure (Corrupt) when there are too few.
void storeFlat(const Step& step, std::vector<c10::IValue> values, std::vector<c10::IValue>& frame);

}  // namespace modulelens::engine
