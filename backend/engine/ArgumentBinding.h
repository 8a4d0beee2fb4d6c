// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Plan.h"

#include <ATen/core/function_schema.h>

namespace modulelens::engine {

/// A number as the 0-dim tensor that PyTorch itself makes of Python numbers; tensors and None stay as they are.
[[nodiscard]] c10::IValue wrapNumber(const c10::IValue& value);

/// The source of an argument as the graph spells it, before a schema shaped it. Sub-graphs are not handled here.
/// Throws Failure (Unsupported) for a kind that cannot be represented.
[[nodiscard]] ArgumentSource sourceOf(const graph::Argument& argument, const DeviceMap& devices);

/// Shapes `source` for the boxed kernel's parameter `parameter`: an export writes 1 for 1.0, 2 for [2, 2], [] for any empty
/// list, and a number where the schema says Tensor.
void fitToSchema(ArgumentSource& source, const c10::Argument& parameter, bool isSymbolicScalar);

}  // namespace modulelens::engine
