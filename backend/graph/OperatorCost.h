// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/ScalarType.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace modulelens::graph {

/// A tensor as a cost formula sees it. Shape [batch, ...] as PyTorch passes it to the operator.
struct CostTensor {
    std::vector<std::int64_t> shape;
    base::ScalarType dtype = base::ScalarType::Float32;
    std::vector<std::int64_t> strides = {};   ///< In elements; empty: contiguous.
    std::int64_t examples = 1;                ///< How many such tensors torch.vmap goes over: all of them move bytes.
};

struct CostNone {};
struct CostOther {};     ///< A value that no formula reads.

/// One argument or result of an operator, by schema position.
using CostArgument = std::variant<CostNone, CostTensor, std::vector<CostTensor>, std::int64_t, bool, double,
                                  std::vector<std::int64_t>, std::vector<bool>, CostOther, std::string>;

/// One execution of a dispatcher operator: `name` is "aten::addmm" (no overload), arguments by schema position.
struct OperatorCall {
    std::string_view name;
    std::vector<CostArgument> inputs;
    std::vector<CostArgument> outputs;
};

/// How far a FLOP number can be trusted (reference: FLOPs by torch's convention, 2 per multiply-add, matmul class only).
enum class Coverage {
    Counted,            ///< A formula gave the number.
    ZeroByDefinition,   ///< Not matmul class: 0 by convention.
    Unknown,            ///< No formula: the total is a lower bound.
};

struct OperatorCost {
    Coverage coverage = Coverage::Unknown;
    std::int64_t flops = 0;                      ///< As executed; 0 unless Counted.
    std::optional<std::int64_t> bytesMoved;      ///< Inputs read plus outputs written once; absent when unknown.
    std::int64_t recomputedFlops = 0;            ///< Part of `flops` that a backward kernel spends on forward values again.
    std::int64_t maskedFlops = 0;                ///< Part of `flops` behind a causal mask, which an exact kernel would skip.
    std::optional<std::int64_t> otherFlops;  ///< Outside matrix products: bias, norm, activation, ...; absent when unknown.
};

/// Cost of one call: FLOPs for one example, bytes for all examples. A composite operator that only calls others in eager mode has formulas of its own here, since an
/// exported graph holds it as one node; who sees nested calls counts the outermost that is not Unknown and nothing inside
/// it. Outputs may be empty where a formula can do without. Pure.
[[nodiscard]] OperatorCost operatorCost(const OperatorCall& call);

/// Elements in memory that a tensor stands for: a broadcast dimension (stride 0) counts once, overlapping windows count what they
/// cover. Nothing when the sizes overflow or are negative.
[[nodiscard]] std::optional<std::int64_t> storedElements(const CostTensor& tensor);

/// What kind of operator a formula is for: "products", "einsum", "convolutions", "attention", "recurrent", "quantised", "fused
/// transformer"; empty for an operator without one.
[[nodiscard]] std::string_view operatorFamily(std::string_view name);

/// Every operator name that has a formula, sorted (tests hold each against a documentation row and a test case).
[[nodiscard]] std::vector<std::string_view> operatorsWithFormula();

}  // namespace modulelens::graph
