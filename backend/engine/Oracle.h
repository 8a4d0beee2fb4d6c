// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/protocol/ValidationMessages.h"

#include <ATen/core/Tensor.h>
#include <atomic>
#include <map>
#include <string>

/// The same computation with every floating number in float64: what the module's formula gives, were rounding not there.
namespace modulelens::engine {

struct OracleRun {
    std::map<std::string, at::Tensor> outputs;   ///< By pointer, dense, on the CPU.
    std::string reason;                          ///< Why there is none; then `outputs` is empty.
};

/// Runs the plan of `binding` on float64 copies of its inputs and state, with the element types that the program names
/// mapped, without autograd and autocast. Changes nothing of the binding's. Throws Failure (Cancelled) alone.
[[nodiscard]] OracleRun runOracle(CallBinding& binding, const std::atomic<bool>& stop);

/// How far `got` and `captured` are from `oracle`, and whether `got` is at most `factor` times as far, up to the rounding of
/// its own type. All are dense CPU tensors of one shape, `captured` and `got` of one type.
[[nodiscard]] protocol::OracleLeaf compareWithOracle(const at::Tensor& oracle, const at::Tensor& captured,
                                                     const at::Tensor& got, double factor);

}  // namespace modulelens::engine
