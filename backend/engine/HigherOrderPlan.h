// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Plan.h"

#include <optional>
#include <string_view>

/// What the planner must know of operators that are no dispatcher operators.
namespace modulelens::engine {

/// By the name behind "torch.ops.higher_order.". Throws Failure (Unsupported) with the reason for one that does not run here.
[[nodiscard]] StepKind higherOrderKind(std::string_view name);

/// The calls that torch.vmap leaves in a program. Nothing: the target is none of functorch's. Throws Failure (Unsupported)
/// for those of derivatives.
[[nodiscard]] std::optional<StepKind> functionTransformKind(std::string_view target);

/// True for operands that say nothing about the result: hints, names, how a checkpoint recomputes.
[[nodiscard]] bool isIgnoredOperand(StepKind kind, const graph::NamedArgument& operand);

/// Throws Failure (Unsupported) unless the arguments stand where the executor, which does not look again, reads them.
void checkHigherOrder(const Step& step);

}  // namespace modulelens::engine
