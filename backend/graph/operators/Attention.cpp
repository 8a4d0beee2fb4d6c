// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Scaled dot-product attention: two batched matrix products, dense (a causal mask saves nothing by this convention; what it
// hides is told apart), counted with the query's heads when keys and values have fewer.
#include "backend/graph/operators/Formula.h"

#include <algorithm>
#include <array>

namespace modulelens::graph {

namespace {

using Sizes = std::span<const std::int64_t>;

struct Problem {
    Shape batch;             ///< All dimensions before [length, width], heads included.
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::int64_t queryWidth = 0;
    std::int64_t valueWidth = 0;
};

/// query [..., heads, L, E], key [..., heads or fewer, S, E], value [..., S, Ev].
std::optional<Problem> problemAt(const OperatorCall& call, std::size_t firstPosition) {
    const Shape* query = shapeAt(call, firstPosition);
    const Shape* key = shapeAt(call, firstPosition + 1);
    const Shape* value = shapeAt(call, firstPosition + 2);
    if (query == nullptr || key == nullptr || value == nullptr || query->size() < 2 || key->size() < 2 || value->size() < 2) {
        return std::nullopt;
    }
    Shape keyBatch(key->begin(), key->end() - 2);
    const Shape queryBatch(query->begin(), query->end() - 2);
    if (!keyBatch.empty() && !queryBatch.empty() && keyBatch.back() > 0 && queryBatch.back() % keyBatch.back() == 0) {
        keyBatch.back() = queryBatch.back();  // Grouped queries: each key head serves several query heads.
    }
    auto batch = broadcast(queryBatch, keyBatch);
    if (!batch || query->back() != key->back() || (*key)[key->size() - 2] != (*value)[value->size() - 2]) {
        return std::nullopt;
    }
    return Problem{std::move(*batch), (*query)[query->size() - 2], (*key)[key->size() - 2], query->back(), value->back()};
}

/// 2 * batch * L * S * (E times `byQuery` + Ev times `byValue`).
std::optional<std::int64_t> products(const Problem& problem, std::int64_t byQuery, std::int64_t byValue) {
    Count width(problem.queryWidth);
    width *= byQuery;
    Count valueWidth(problem.valueWidth);
    valueWidth *= byValue;
    width += valueWidth;
    const auto both = width.value();
    if (!both) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, problem.batch);
    count *= problem.queries;
    count *= problem.keys;
    count *= *both;
    return count.value();
}

std::optional<std::int64_t> forward(const OperatorCall& call) {
    const auto problem = problemAt(call, 0);
    return problem ? products(*problem, 1, 1) : std::nullopt;
}

/// What the fused kernels execute: scores again, then gradients of values, probabilities, queries and keys.
std::optional<std::int64_t> fusedBackward(const OperatorCall& call) {
    const auto problem = problemAt(call, 1);
    return problem ? products(*problem, 3, 2) : std::nullopt;
}

/// The scores that `fusedBackward` computes again.
std::optional<std::int64_t> scoresAgain(const OperatorCall& call) {
    const auto problem = problemAt(call, 1);
    return problem ? products(*problem, 1, 0) : std::nullopt;
}

/// Scaling and softmax of every score.
std::optional<std::int64_t> softmax(const OperatorCall& call) {
    const auto problem = problemAt(call, 0);
    if (!problem) {
        return std::nullopt;
    }
    Count count(6);
    multiplyAll(count, problem->batch);
    count *= problem->queries;
    count *= problem->keys;
    return count.value();
}

/// FLOPs of the pairs that a causal mask hides: query i sees the keys 0 to i.
template <std::size_t Flag>
std::optional<std::int64_t> behindMask(const OperatorCall& call) {
    const auto* isCausal = call.inputs.size() > Flag ? std::get_if<bool>(&call.inputs[Flag]) : nullptr;
    const auto problem = problemAt(call, 0);
    const auto dense = forward(call);
    if (isCausal == nullptr || !*isCausal || !problem || !dense || problem->queries == 0 || problem->keys == 0) {
        return 0;
    }
    const std::int64_t full = std::min(problem->queries, problem->keys);
    Count pairs(full);
    pairs *= full + 1;
    Count below(2 * (problem->queries - full));
    below *= problem->keys;
    pairs += below;  // Twice the pairs that are seen.
    const auto twiceSeen = pairs.value();
    const std::int64_t perPair = *dense / problem->queries / problem->keys;
    return twiceSeen ? std::optional(*dense - *twiceSeen / 2 * perPair) : std::nullopt;
}

constexpr std::string_view kCausalAtFive = "query key value attn_mask dropout_p is_causal";
constexpr std::string_view kCausalAtFour = "query key value dropout_p is_causal";

constexpr std::array kRows = {
    FormulaRow{"aten::scaled_dot_product_attention", kCausalAtFive, forward, softmax, nullptr, behindMask<5>},
    FormulaRow{"aten::_scaled_dot_product_attention_math", kCausalAtFive, forward, softmax, nullptr, behindMask<5>},
    FormulaRow{"aten::_scaled_dot_product_flash_attention", kCausalAtFour, forward, softmax, nullptr, behindMask<4>},
    FormulaRow{"aten::_scaled_dot_product_flash_attention_for_cpu", kCausalAtFour, forward, softmax, nullptr, behindMask<4>},
    FormulaRow{"aten::_scaled_dot_product_efficient_attention",
               "query key value attn_bias compute_log_sumexp dropout_p is_causal", forward, softmax, nullptr, behindMask<6>},
    FormulaRow{"aten::_scaled_dot_product_cudnn_attention", "query key value attn_bias compute_log_sumexp dropout_p is_causal",
               forward, softmax, nullptr, behindMask<6>},
    FormulaRow{"aten::_scaled_dot_product_fused_attention_overrideable", kCausalAtFive, forward, softmax, nullptr,
               behindMask<5>},
    FormulaRow{"aten::_scaled_dot_product_flash_attention_backward", "grad_out query key value", fusedBackward, nullptr,
               scoresAgain},
    FormulaRow{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", "grad_out query key value", fusedBackward, nullptr,
               scoresAgain},
    FormulaRow{"aten::_scaled_dot_product_efficient_attention_backward", "grad_out_ query key value", fusedBackward, nullptr,
               scoresAgain},
    FormulaRow{"aten::_scaled_dot_product_fused_attention_overrideable_backward", "grad_out query key value", fusedBackward,
               nullptr, scoresAgain},
    FormulaRow{"aten::_scaled_dot_product_cudnn_attention_backward", "grad_out query key value", fusedBackward, nullptr,
               scoresAgain},
};

}  // namespace

std::span<const FormulaRow> attentionFormulas() {
    return kRows;
}

}  // namespace modulelens::graph
