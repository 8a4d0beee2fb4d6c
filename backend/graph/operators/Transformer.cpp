// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// The fused layers that eager evaluation takes instead of nn.MultiheadAttention and nn.TransformerEncoderLayer: projections,
// attention (dense) and the two linear layers, as the plain path would count them.
#include "backend/graph/operators/Formula.h"

#include <array>

namespace modulelens::graph {

namespace {

using Flops = std::optional<std::int64_t>;

/// Every row of `rows` (all but the last dimension) times each weight matrix.
std::optional<Count> projected(const Shape* rows, std::initializer_list<const Shape*> weights) {
    if (rows == nullptr || rows->empty()) {
        return std::nullopt;
    }
    Count matrices(0);
    for (const Shape* weight : weights) {
        if (weight == nullptr || weight->size() != 2) {
            return std::nullopt;
        }
        Count one(1);
        multiplyAll(one, *weight);
        matrices += one;
    }
    Count count(2);
    multiplyAll(count, std::span(*rows).first(rows->size() - 1));
    count *= matrices.value().value_or(-1);
    return count;
}

/// Scores and their product with the values: query [batch, L, width], key [batch, S, width], all heads together.
std::optional<Count> attended(const Shape* query, const Shape* key) {
    if (query == nullptr || key == nullptr || query->size() != 3 || key->size() != 3) {
        return std::nullopt;
    }
    Count count(4);
    multiplyAll(count, *query);
    count *= (*key)[1];
    return count;
}

Flops sumOf(std::initializer_list<std::optional<Count>> parts) {
    Count total(0);
    for (const std::optional<Count>& part : parts) {
        if (!part) {
            return std::nullopt;
        }
        total += *part;
    }
    return total.value();
}

/// (query, key, value, embed_dim, num_head, qkv_weight [3 E, E], qkv_bias, proj_weight, ...), self-attention or lengths that
/// are the same: each of the three inputs meets a third of the packed weight.
Flops multiHead(const OperatorCall& call) {
    const Shape* query = shapeAt(call, 0);
    const Shape* key = shapeAt(call, 1);
    const Shape* packed = shapeAt(call, 5);
    const Shape* out = shapeAt(call, 7);
    if (packed == nullptr || packed->size() != 2 || (*packed)[0] % 3 != 0) {
        return std::nullopt;
    }
    const Shape third{(*packed)[0] / 3, (*packed)[1]};
    return sumOf({projected(query, {&third, out}), projected(key, {&third}), projected(shapeAt(call, 2), {&third}),
                  attended(query, key)});
}

/// (src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, ..., ffn_weight_1 at 14, ..., ffn_weight_2 at 16, ...).
Flops encoderLayer(const OperatorCall& call) {
    const Shape* source = shapeAt(call, 0);
    return sumOf({projected(source, {shapeAt(call, 3), shapeAt(call, 5), shapeAt(call, 14), shapeAt(call, 16)}),
                  attended(source, source)});
}

constexpr std::array kRows = {
    FormulaRow{"aten::_native_multi_head_attention",
               "query key value embed_dim num_head qkv_weight qkv_bias proj_weight proj_bias", multiHead},
    FormulaRow{"aten::_transformer_encoder_layer_fwd",
               "src embed_dim num_heads qkv_weight qkv_bias proj_weight proj_bias use_gelu norm_first eps norm_weight_1 "
               "norm_bias_1 norm_weight_2 norm_bias_2 ffn_weight_1 ffn_bias_1 ffn_weight_2 ffn_bias_2",
               encoderLayer},
};

}  // namespace

std::span<const FormulaRow> transformerFormulas() {
    return kRows;
}

}  // namespace modulelens::graph
