// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Recurrent layers: at every step of every sample each weight matrix (input, hidden and projection, all gates, layers and
// directions) is applied once. Gates are elementwise and count 0.
#include "backend/graph/operators/Formula.h"

#include <array>

namespace modulelens::graph {

namespace {

using Flops = std::optional<std::int64_t>;

/// Steps times samples: all but the last dimension of the input, packed ([steps of all samples, width]) or not.
std::optional<Count> rowsOf(const Shape* input) {
    if (input == nullptr || input->empty()) {
        return std::nullopt;
    }
    Count rows(1);
    multiplyAll(rows, std::span(*input).first(input->size() - 1));
    return rows;
}

Flops timesMatrices(const Shape* input, const std::vector<CostTensor>& weights, std::int64_t factor) {
    auto rows = rowsOf(input);
    if (!rows) {
        return std::nullopt;
    }
    Count elements(0);
    for (const CostTensor& weight : weights) {
        if (weight.shape.size() == 2) {  // Biases have one dimension.
            Count one(1);
            multiplyAll(one, weight.shape);
            elements += one;
        }
    }
    const auto all = elements.value();
    if (!all) {
        return std::nullopt;
    }
    *rows *= *all;
    *rows *= factor;
    return rows->value();
}

/// lstm(input, hx[], params[], ...), or packed lstm(data, batch_sizes, hx[], params[], ...);
/// gru, rnn_tanh and rnn_relu with one tensor as hx.
Flops layers(const OperatorCall& call) {
    const bool isLstm = call.name == "aten::lstm";
    const bool isPacked = isLstm ? shapeAt(call, 1) != nullptr : tensorsAt(call, 2) == nullptr;
    const auto* parameters = tensorsAt(call, isPacked ? 3 : 2);
    return parameters == nullptr ? std::nullopt : timesMatrices(shapeAt(call, 0), *parameters, 2);
}

/// cell(input, hx, w_ih, w_hh, ...).
Flops cell(const OperatorCall& call) {
    const Shape* inputWeight = shapeAt(call, 2);
    const Shape* hiddenWeight = shapeAt(call, 3);
    if (inputWeight == nullptr || hiddenWeight == nullptr) {
        return std::nullopt;
    }
    return timesMatrices(shapeAt(call, 0), {{*inputWeight, {}}, {*hiddenWeight, {}}}, 2);
}

/// mkldnn_rnn_layer(input, w_ih, w_hh, b_ih, b_hh, ...): one layer, one direction. Its backward costs twice as much.
template <std::int64_t Factor>
Flops oneLayer(const OperatorCall& call) {
    const Shape* inputWeight = shapeAt(call, 1);
    const Shape* hiddenWeight = shapeAt(call, 2);
    if (inputWeight == nullptr || hiddenWeight == nullptr) {
        return std::nullopt;
    }
    return timesMatrices(shapeAt(call, 0), {{*inputWeight, {}}, {*hiddenWeight, {}}}, Factor);
}

/// _cudnn_rnn(input, weight[], ...) and its backward.
template <std::int64_t Factor>
Flops flatWeights(const OperatorCall& call) {
    const auto* weights = tensorsAt(call, 1);
    return weights == nullptr ? std::nullopt : timesMatrices(shapeAt(call, 0), *weights, Factor);
}

/// Biases, joins, activations and updates of all gates; for each step, sample, layer and direction:
/// gates * (biases + 1 join + 1 activation) * hidden + what follows the gates.
std::optional<std::int64_t> gates(const OperatorCall& call) {
    const bool isLstm = call.name == "aten::lstm";
    const bool isGru = call.name == "aten::gru";
    const std::int64_t gateCount = isLstm ? 4 : isGru ? 3 : 1;
    const std::int64_t tail = isLstm || isGru ? 5 : 0;
    const bool isPacked = isLstm ? shapeAt(call, 1) != nullptr : tensorsAt(call, 2) == nullptr;
    const auto* parameters = tensorsAt(call, isPacked ? 3 : 2);
    auto rows = rowsOf(shapeAt(call, 0));
    if (parameters == nullptr || !rows) {
        return std::nullopt;
    }
    // Of each layer and direction: input matrix, hidden matrix, and two biases or none; a projection has fewer columns.
    Count work(0);
    for (std::size_t i = 0; i + 1 < parameters->size();) {
        const Shape& input = (*parameters)[i].shape;
        const bool hasBias = i + 2 < parameters->size() && (*parameters)[i + 2].shape.size() == 1;
        const std::size_t own = hasBias ? 4 : 2;
        if (input.size() != 2 || input[0] % gateCount != 0) {
            return std::nullopt;
        }
        Count layer(input[0] / gateCount);
        layer *= gateCount * ((hasBias ? 2 : 0) + 2) + tail;
        work += layer;
        i += own;
        const bool isProjection = i < parameters->size() && (*parameters)[i].shape.size() == 2 &&
                                  (*parameters)[i].shape[1] == input[0] / gateCount &&
                                  (*parameters)[i].shape[0] < (*parameters)[i].shape[1] && isLstm;
        i += isProjection ? 1 : 0;
    }
    *rows *= work.value().value_or(-1);
    return rows->value();
}

constexpr std::array kRows = {
    FormulaRow{"aten::lstm", "", layers, gates},
    FormulaRow{"aten::gru", "", layers, gates},
    FormulaRow{"aten::rnn_tanh", "", layers, gates},
    FormulaRow{"aten::rnn_relu", "", layers, gates},
    FormulaRow{"aten::lstm_cell", "input hx w_ih w_hh", cell},
    FormulaRow{"aten::gru_cell", "input hx w_ih w_hh", cell},
    FormulaRow{"aten::rnn_tanh_cell", "input hx w_ih w_hh", cell},
    FormulaRow{"aten::rnn_relu_cell", "input hx w_ih w_hh", cell},
    FormulaRow{"aten::mkldnn_rnn_layer", "input weight0 weight1", oneLayer<2>},
    FormulaRow{"aten::mkldnn_rnn_layer_backward", "input weight1 weight2", oneLayer<4>},
    FormulaRow{"aten::_cudnn_rnn", "input weight", flatWeights<2>},
    FormulaRow{"aten::_cudnn_rnn_backward", "input weight", flatWeights<4>},
};

}  // namespace

std::span<const FormulaRow> recurrentFormulas() {
    return kRows;
}

}  // namespace modulelens::graph
