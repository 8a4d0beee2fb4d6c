// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Convolutions: every weight meets every output place (every input place when transposed) of every sample once. Weights
// have shape [out, in / groups, kernel...], so groups need no factor of their own. Padding counts as work.
#include "backend/graph/operators/Formula.h"

#include <array>

namespace modulelens::graph {

namespace {

using Flops = std::optional<std::int64_t>;
using Sizes = std::span<const std::int64_t>;

/// 2 * batch * places * weights; `places` are the spatial sizes behind the channel dimension of `shape`, which has the
/// rank of the weight, or one less without a batch.
Flops everyWeightAtEveryPlace(const Shape& shape, const Shape& weight) {
    if (weight.size() < 3 || (shape.size() != weight.size() && shape.size() + 1 != weight.size())) {
        return std::nullopt;
    }
    const bool hasBatch = shape.size() == weight.size();
    Count count(2);
    count *= hasBatch ? shape[0] : 1;
    multiplyAll(count, Sizes(shape).subspan(hasBatch ? 2 : 1));
    multiplyAll(count, weight);
    return count.value();
}

/// Element `i` of a list argument that may also be one number for all dimensions.
std::int64_t elementAt(const std::vector<std::int64_t>& list, std::size_t i) {
    return list.size() == 1 ? list[0] : list[i];
}

/// The output of a plain convolution when the caller did not give it.
std::optional<Shape> computedOutput(const OperatorCall& call, const Shape& input, const Shape& weight,
                                    std::size_t stridePosition) {
    const std::size_t spatial = weight.size() - 2;
    const auto stride = integersAt(call, stridePosition).value_or(std::vector<std::int64_t>{1});
    const auto padding = integersAt(call, stridePosition + 1).value_or(std::vector<std::int64_t>{0});
    const auto dilation = integersAt(call, stridePosition + 2).value_or(std::vector<std::int64_t>{1});
    for (const auto* list : {&stride, &padding, &dilation}) {
        if (list->size() != 1 && list->size() != spatial) {
            return std::nullopt;
        }
    }
    const auto* named =
        stridePosition + 1 < call.inputs.size() ? std::get_if<std::string>(&call.inputs[stridePosition + 1]) : nullptr;
    if (input.size() <= spatial) {
        return std::nullopt;
    }
    Shape output = input;
    for (std::size_t i = 0; i < spatial; ++i) {
        std::int64_t& size = output[output.size() - spatial + i];
        if (named != nullptr && *named == "same") {
            continue;
        }
        const std::int64_t step = elementAt(stride, i);
        const std::int64_t reach = elementAt(dilation, i) * (weight[2 + i] - 1) + 1;
        if (step < 1) {
            return std::nullopt;
        }
        size = (size + 2 * elementAt(padding, i) - reach) / step + 1;
    }
    return output;
}

template <std::size_t StridePosition>
Flops plain(const OperatorCall& call) {
    const Shape* input = shapeAt(call, 0);
    const Shape* weight = shapeAt(call, 1);
    if (input == nullptr || weight == nullptr || weight->size() < 3) {
        return std::nullopt;
    }
    if (const Shape* output = outputShape(call)) {
        return everyWeightAtEveryPlace(*output, *weight);
    }
    const auto output = computedOutput(call, *input, *weight, StridePosition);
    return output ? everyWeightAtEveryPlace(*output, *weight) : std::nullopt;
}

/// Operators whose argument order has no stride that this file reads: the output must be known.
Flops plainByOutput(const OperatorCall& call) {
    const Shape* weight = shapeAt(call, 1);
    const Shape* output = outputShape(call);
    return weight == nullptr || output == nullptr ? std::nullopt : everyWeightAtEveryPlace(*output, *weight);
}

/// convolution_overrideable and its kin of cuDNN order: (input, weight, ..., padding, stride, dilation).
Flops paddingFirst(const OperatorCall& call) {
    if (outputShape(call) != nullptr || call.inputs.size() < 6) {
        return plainByOutput(call);
    }
    OperatorCall swapped = call;
    std::swap(swapped.inputs[3], swapped.inputs[4]);
    return plain<3>(swapped);
}

Flops transposed(const OperatorCall& call) {
    const Shape* input = shapeAt(call, 0);
    const Shape* weight = shapeAt(call, 1);
    return input == nullptr || weight == nullptr ? std::nullopt : everyWeightAtEveryPlace(*input, *weight);
}

/// convolution(input, weight, bias, stride, padding, dilation, transposed, ...).
Flops general(const OperatorCall& call) {
    const auto* isTransposed = call.inputs.size() > 6 ? std::get_if<bool>(&call.inputs[6]) : nullptr;
    if (isTransposed == nullptr) {
        return std::nullopt;
    }
    return *isTransposed ? transposed(call) : plain<3>(call);
}

/// convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
/// groups, output_mask): the gradients of input and weight cost the forward each.
Flops backward(const OperatorCall& call) {
    const Shape* gradient = shapeAt(call, 0);
    const Shape* input = shapeAt(call, 1);
    const Shape* weight = shapeAt(call, 2);
    const auto* isTransposed = call.inputs.size() > 10 ? std::get_if<bool>(&call.inputs[7]) : nullptr;
    const auto* mask = call.inputs.size() > 10 ? std::get_if<std::vector<bool>>(&call.inputs[10]) : nullptr;
    if (gradient == nullptr || input == nullptr || weight == nullptr || isTransposed == nullptr || mask == nullptr ||
        mask->size() < 2) {
        return std::nullopt;
    }
    const Flops forward = everyWeightAtEveryPlace(*isTransposed ? *input : *gradient, *weight);
    if (!forward) {
        return std::nullopt;
    }
    Count count(*forward);
    count *= ((*mask)[0] ? 1 : 0) + ((*mask)[1] ? 1 : 0);
    return count.value();
}

/// One addition for each element of the output where a bias is there.
Flops bias(const OperatorCall& call) {
    return shapeAt(call, 2) == nullptr ? Flops(0) : elementsOf(outputShape(call));
}

constexpr std::string_view kPlainArguments = "input weight bias stride padding dilation groups";
constexpr std::string_view kTransposedArguments = "input weight bias stride padding output_padding groups dilation";
constexpr std::string_view kGeneralArguments = "input weight bias stride padding dilation transposed output_padding groups";

constexpr std::array kRows = {
    FormulaRow{"aten::conv1d", kPlainArguments, plain<3>, bias},
    FormulaRow{"aten::conv2d", kPlainArguments, plain<3>, bias},
    FormulaRow{"aten::conv3d", kPlainArguments, plain<3>, bias},
    FormulaRow{"aten::conv_transpose1d", kTransposedArguments, transposed, bias},
    FormulaRow{"aten::conv_transpose2d", kTransposedArguments, transposed, bias},
    FormulaRow{"aten::conv_transpose3d", kTransposedArguments, transposed, bias},
    FormulaRow{"aten::convolution", kGeneralArguments, general, bias},
    FormulaRow{"aten::_convolution", kGeneralArguments, general, bias},
    FormulaRow{"aten::convolution_overrideable", kGeneralArguments, general, bias},
    FormulaRow{"aten::_convolution_mode", "input weight bias stride padding dilation groups", plain<3>, bias},
    FormulaRow{"aten::mkldnn_convolution", "self weight bias padding stride dilation groups", paddingFirst, bias},
    FormulaRow{"aten::cudnn_convolution", "self weight", plainByOutput},
    FormulaRow{"aten::cudnn_convolution_relu", "self weight", plainByOutput},
    FormulaRow{"aten::cudnn_convolution_add_relu", "self weight", plainByOutput},
    FormulaRow{"aten::cudnn_convolution_transpose", "self weight", transposed},
    FormulaRow{"aten::miopen_convolution", "self weight", plainByOutput},
    FormulaRow{"aten::miopen_depthwise_convolution", "self weight", plainByOutput},
    FormulaRow{"aten::thnn_conv2d", "self weight", plainByOutput},
    FormulaRow{"aten::_slow_conv2d_forward", "self weight", plainByOutput},
    FormulaRow{"aten::slow_conv3d", "self weight", plainByOutput},
    FormulaRow{"aten::slow_conv3d_forward", "self weight", plainByOutput},
    FormulaRow{"aten::slow_conv_dilated2d", "self weight", plainByOutput},
    FormulaRow{"aten::slow_conv_dilated3d", "self weight", plainByOutput},
    FormulaRow{"aten::slow_conv_transpose2d", "self weight", transposed},
    FormulaRow{"aten::slow_conv_transpose3d", "self weight", transposed},
    FormulaRow{"aten::_conv_depthwise2d", "self weight", plainByOutput},
    FormulaRow{"aten::conv_depthwise3d", "self weight", plainByOutput},
    FormulaRow{"aten::convolution_backward",
               "grad_output input weight bias_sizes stride padding dilation transposed "
               "output_padding groups output_mask",
               backward},
};

}  // namespace

std::span<const FormulaRow> convolutionFormulas() {
    return kRows;
}

}  // namespace modulelens::graph
