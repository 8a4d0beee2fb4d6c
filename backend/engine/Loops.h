// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/HigherOrder.h"

/// The operators that run a graph again and again. A run can be cancelled between two iterations, whatever their graphs hold.
/// All require that the step passed checkHigherOrder of the planner, and throw Failure.
namespace modulelens::engine {

/// while_loop: the carried values after the last iteration; while_loop_stack_output: those of every iteration.
void runWhile(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner);

/// map_impl and scan, along the first dimension.
void runMapOrScan(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner);

/// associative_scan, in the order of PyTorch's own eager one: neighbours first, so that results have its bits.
void runAssociativeScan(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner);

}  // namespace modulelens::engine
