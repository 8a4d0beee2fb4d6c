// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/Program.h"

#include <memory>
#include <string_view>

/// Nodes that call another operator: `with_effects` in an order, `out_dtype` with a result type of its own, and
/// `auto_functionalized`, which `run_decompositions` puts around operators that change their inputs, on copies of them.
namespace modulelens::engine {

/// Copies a tensor with its strides: the target of a node that only `withCalledOperators` makes.
inline constexpr std::string_view kCloneWithStrides = "torch._prims_common.clone_preserve_strides";

/// `graph` with such nodes as the ordinary operators that they stand for, in PyTorch's own order. Null when it has none. An
/// operator that is not registered here is left for the planner to name, and a node that is built otherwise stays as it is.
[[nodiscard]] std::shared_ptr<const graph::Graph> withCalledOperators(const graph::Graph& graph);

}  // namespace modulelens::engine
