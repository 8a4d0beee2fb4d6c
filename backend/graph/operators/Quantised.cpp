// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Linear layers over weights in a packed or quantised form, which show no shape of their own: input [..., in], output
// [..., out]. One multiply-add counts 2, whatever the width of its numbers.
#include "backend/graph/operators/Formula.h"

#include <array>

namespace modulelens::graph {

namespace {

std::optional<std::int64_t> byOutput(const OperatorCall& call) {
    const Shape* input = shapeAt(call, 0);
    const Shape* output = outputShape(call);
    if (input == nullptr || output == nullptr || input->empty() || output->empty()) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, *input);
    count *= output->back();
    return count.value();
}

constexpr std::array kRows = {
    FormulaRow{"quantized::linear", "X", byOutput},
    FormulaRow{"quantized::linear_relu", "X", byOutput},
    FormulaRow{"quantized::linear_dynamic", "X", byOutput},
    FormulaRow{"quantized::linear_relu_dynamic", "X", byOutput},
    FormulaRow{"quantized::linear_dynamic_fp16", "X", byOutput},
    FormulaRow{"quantized::linear_relu_dynamic_fp16", "X", byOutput},
    FormulaRow{"onednn::qlinear_pointwise", "qx", byOutput},
    FormulaRow{"onednn::linear_dynamic_fp16", "x", byOutput},
    FormulaRow{"aten::_weight_int8pack_mm", "self", byOutput},
    FormulaRow{"aten::_weight_int4pack_mm", "self", byOutput},
    FormulaRow{"aten::_weight_int4pack_mm_for_cpu", "self", byOutput},
    FormulaRow{"aten::_dyn_quant_matmul_4bit", "inp", byOutput},
    FormulaRow{"aten::fbgemm_linear_int8_weight", "input", byOutput},
    FormulaRow{"aten::fbgemm_linear_int8_weight_fp32_activation", "input", byOutput},
    FormulaRow{"aten::fbgemm_linear_fp16_weight", "input", byOutput},
    FormulaRow{"aten::fbgemm_linear_fp16_weight_fp32_activation", "input", byOutput},
};

}  // namespace

std::span<const FormulaRow> quantisedFormulas() {
    return kRows;
}

}  // namespace modulelens::graph
