// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Products of matrices and vectors: 2 * batch * rows * inner * columns.
#include "backend/graph/operators/Formula.h"

#include <algorithm>
#include <array>

namespace modulelens::graph {

namespace {

using Flops = std::optional<std::int64_t>;
using Sizes = std::span<const std::int64_t>;

/// [..., m, k] @ [..., k, n] with broadcast batches; a vector counts as one row or one column.
Flops product(Sizes a, Sizes b) {
    if (a.empty() || b.empty()) {
        return std::nullopt;
    }
    const std::int64_t inner = a.back();
    const std::int64_t rows = a.size() > 1 ? a[a.size() - 2] : 1;
    const std::int64_t columns = b.size() > 1 ? b.back() : 1;
    const std::int64_t otherInner = b.size() > 1 ? b[b.size() - 2] : b.back();
    const auto batch = broadcast(a.first(a.size() - std::min<std::size_t>(a.size(), 2)),
                                 b.first(b.size() - std::min<std::size_t>(b.size(), 2)));
    if (inner != otherInner || !batch) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, *batch);
    count *= rows;
    count *= inner;
    count *= columns;
    return count.value();
}

template <std::size_t Left, std::size_t Right>
Flops productOf(const OperatorCall& call) {
    const Shape* a = shapeAt(call, Left);
    const Shape* b = shapeAt(call, Right);
    return a == nullptr || b == nullptr ? std::nullopt : product(*a, *b);
}

/// x [..., in], weight [out, in] or [in].
Flops linear(const OperatorCall& call) {
    const Shape* x = shapeAt(call, 0);
    const Shape* weight = shapeAt(call, 1);
    if (x == nullptr || weight == nullptr || x->empty() || weight->empty() || x->back() != weight->back()) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, *x);
    multiplyAll(count, Sizes(*weight).first(weight->size() - 1));
    return count.value();
}

/// The last dimensions are contracted; with a scalar there is nothing to contract.
Flops inner(const OperatorCall& call) {
    const Shape* a = shapeAt(call, 0);
    const Shape* b = shapeAt(call, 1);
    if (a == nullptr || b == nullptr) {
        return std::nullopt;
    }
    if (a->empty() || b->empty()) {
        return 0;
    }
    if (a->back() != b->back()) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, *a);
    multiplyAll(count, Sizes(*b).first(b->size() - 1));
    return count.value();
}

/// tensordot(self, other, dims_self, dims_other).
Flops tensordot(const OperatorCall& call) {
    const Shape* a = shapeAt(call, 0);
    const Shape* b = shapeAt(call, 1);
    const auto dimsA = integersAt(call, 2);
    const auto dimsB = integersAt(call, 3);
    if (a == nullptr || b == nullptr || !dimsA || !dimsB || dimsA->size() != dimsB->size()) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, *a);
    std::vector<bool> isContracted(b->size(), false);
    for (std::size_t i = 0; i < dimsB->size(); ++i) {
        const auto rankA = static_cast<std::int64_t>(a->size());
        const auto rankB = static_cast<std::int64_t>(b->size());
        const std::int64_t dimA = (*dimsA)[i] + ((*dimsA)[i] < 0 ? rankA : 0);
        const std::int64_t dimB = (*dimsB)[i] + ((*dimsB)[i] < 0 ? rankB : 0);
        if (dimA < 0 || dimA >= rankA || dimB < 0 || dimB >= rankB || isContracted[static_cast<std::size_t>(dimB)] ||
            (*a)[static_cast<std::size_t>(dimA)] != (*b)[static_cast<std::size_t>(dimB)]) {
            return std::nullopt;
        }
        isContracted[static_cast<std::size_t>(dimB)] = true;
    }
    for (std::size_t i = 0; i < b->size(); ++i) {
        count *= isContracted[i] ? 1 : (*b)[i];
    }
    return count.value();
}

/// x1 [..., i], x2 [..., j], weight [o, i, j]: x1 with the weight over i, then with x2 over j, as bilinear in ATen/native/Linear.cpp.
Flops bilinear(const OperatorCall& call) {
    const Shape* x = shapeAt(call, 0);
    const Shape* weight = shapeAt(call, 2);
    if (x == nullptr || weight == nullptr || x->empty() || weight->size() != 3) {
        return std::nullopt;
    }
    Count first(2);
    Count second(2);
    for (Count* count : {&first, &second}) {
        multiplyAll(*count, Sizes(*x).first(x->size() - 1));
        *count *= (*weight)[0];
        *count *= (*weight)[2];
    }
    first *= (*weight)[1];
    first += second;
    return first.value();
}

/// The shape of an operand with a 1 at each of the places that it lacks; nullopt when there is no such place.
std::optional<Shape> expandedShape(const Shape& shape, std::vector<std::int64_t> places) {
    Shape full = shape;
    std::sort(places.begin(), places.end());
    for (const std::int64_t place : places) {
        if (place < 0 || place > static_cast<std::int64_t>(full.size())) {
            return std::nullopt;
        }
        full.insert(full.begin() + place, 1);
    }
    return full;
}

/// _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, ...): i1 with i2 over the summed places that i3 lacks, then with
/// i3, as _trilinear in ATen/native/Linear.cpp. The loop over unroll_dim only cuts the same products.
Flops trilinear(const OperatorCall& call) {
    constexpr std::size_t kOperands = 3;
    std::array<Shape, kOperands> shapes;
    for (std::size_t i = 0; i < kOperands; ++i) {
        const Shape* shape = shapeAt(call, i);
        const auto expanded = integersAt(call, kOperands + i);
        auto full = shape == nullptr || !expanded ? std::nullopt : expandedShape(*shape, *expanded);
        if (!full) {
            return std::nullopt;
        }
        shapes[i] = std::move(*full);
    }
    const auto summed = integersAt(call, 2 * kOperands);
    const auto missing = integersAt(call, 2 * kOperands - 1);
    const auto both = broadcast(shapes[0], shapes[1]);
    const auto all = both ? broadcast(*both, shapes[2]) : std::nullopt;
    if (!summed || !all || all->size() != both->size()) {
        return std::nullopt;
    }
    const auto isIn = [](const std::vector<std::int64_t>& places, std::size_t place) {
        return std::find(places.begin(), places.end(), static_cast<std::int64_t>(place)) != places.end();
    };
    Count first(2);
    Count second(2);
    multiplyAll(first, *both);
    for (std::size_t i = 0; i < all->size(); ++i) {
        second *= isIn(*summed, i) && isIn(*missing, i) ? 1 : (*all)[i];
    }
    first += second;
    return first.value();
}

/// Rows grouped over the experts, or a batch of matrices; see torch._grouped_mm.
Flops groupedProduct(const OperatorCall& call) {
    const Shape* a = shapeAt(call, 0);
    const Shape* b = shapeAt(call, 1);
    if (a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, *a);
    count *= b->back();
    return count.value();
}

/// One addition for each element of the output where a bias is there.
template <std::size_t Bias>
Flops biasOfLinear(const OperatorCall& call) {
    const Shape* x = shapeAt(call, 0);
    const Shape* weight = shapeAt(call, 1);
    if (shapeAt(call, Bias) == nullptr) {
        return 0;
    }
    Count count(1);
    multiplyAll(count, Sizes(*x).first(x->size() - 1));
    multiplyAll(count, Sizes(*weight).first(weight->size() - 1));
    return count.value();
}

/// The addend meets every element of the product, and an activation as well.
template <std::int64_t Times>
Flops addend(const OperatorCall& call) {
    const Shape* a = shapeAt(call, 1);
    const Shape* b = shapeAt(call, 2);
    if (call.name == "aten::addbmm") {
        if (a == nullptr || b == nullptr || a->size() != 3 || b->size() != 3) {
            return std::nullopt;
        }
        Count count((*a)[0]);
        count *= (*a)[1];
        count *= b->back();
        return count.value();
    }
    const Flops product = productOf<1, 2>(call);
    const std::int64_t inner = a == nullptr || a->empty() ? 0 : a->back();
    return product && inner > 0 ? std::optional(*product / (2 * inner) * Times) : std::nullopt;
}

Flops nothing(const OperatorCall&) {
    return 0;
}

/// linear_backward(self, grad_output, weight, output_mask): the gradients of input and weight cost the forward each.
Flops linearBackward(const OperatorCall& call) {
    const auto* mask = call.inputs.size() > 3 ? std::get_if<std::vector<bool>>(&call.inputs[3]) : nullptr;
    const Shape* x = shapeAt(call, 0);
    const Shape* weight = shapeAt(call, 2);
    if (mask == nullptr || mask->size() < 2 || x == nullptr || weight == nullptr || weight->size() != 2) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, *x);
    count *= (*weight)[0];
    count *= ((*mask)[0] ? 1 : 0) + ((*mask)[1] ? 1 : 0);
    return count.value();
}

/// Homogeneous places times the matrix of each sample: theta [batch, 2, 3] or [batch, 3, 4], output [batch, …, 2 or 3].
std::optional<std::int64_t> affineGrid(const OperatorCall& call) {
    const Shape* theta = shapeAt(call, 0);
    const Shape* output = outputShape(call);
    if (theta == nullptr || output == nullptr || theta->empty()) {
        return std::nullopt;
    }
    Count count(2);
    multiplyAll(count, *output);
    count *= theta->back();
    return count.value();
}

constexpr std::array kRows = {
    FormulaRow{"aten::linear", "input weight bias", linear, biasOfLinear<2>},
    FormulaRow{"aten::mkldnn_linear", "self weight bias", linear, biasOfLinear<2>},
    FormulaRow{"aten::linear_backward", "self grad_output weight output_mask", linearBackward, nothing},
    FormulaRow{"aten::matmul", "self other", productOf<0, 1>, nothing},
    FormulaRow{"aten::linalg_matmul", "self other", productOf<0, 1>, nothing},
    FormulaRow{"aten::mm", "self mat2", productOf<0, 1>, nothing},
    FormulaRow{"aten::bmm", "self mat2", productOf<0, 1>, nothing},
    FormulaRow{"aten::mv", "self vec", productOf<0, 1>, nothing},
    FormulaRow{"aten::dot", "self tensor", productOf<0, 1>, nothing},
    FormulaRow{"aten::vdot", "self other", productOf<0, 1>, nothing},
    FormulaRow{"aten::addmm", "self mat1 mat2", productOf<1, 2>, addend<1>},
    FormulaRow{"aten::addmv", "self mat vec", productOf<1, 2>, addend<1>},
    FormulaRow{"aten::baddbmm", "self batch1 batch2", productOf<1, 2>, addend<1>},
    FormulaRow{"aten::addbmm", "self batch1 batch2", productOf<1, 2>, addend<1>},
    FormulaRow{"aten::_addmm_activation", "self mat1 mat2", productOf<1, 2>, addend<2>},
    FormulaRow{"aten::_int_mm", "self mat2", productOf<0, 1>, nothing},
    FormulaRow{"aten::_scaled_mm", "self mat2", productOf<0, 1>, nothing},
    FormulaRow{"aten::_grouped_mm", "self mat2", groupedProduct, nothing},
    FormulaRow{"aten::_scaled_grouped_mm", "self mat2", groupedProduct, nothing},
    FormulaRow{"aten::affine_grid_generator", "theta size", affineGrid, nothing},
    FormulaRow{"aten::inner", "self other", inner, nothing},
    FormulaRow{"aten::tensordot", "self other dims_self dims_other", tensordot, nothing},
    FormulaRow{"aten::bilinear", "input1 input2 weight bias", bilinear},
    FormulaRow{"aten::_trilinear", "i1 i2 i3 expand1 expand2 expand3 sumdim", trilinear, nothing},
};

}  // namespace

std::span<const FormulaRow> matmulFormulas() {
    return kRows;
}

}  // namespace modulelens::graph
