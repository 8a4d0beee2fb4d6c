// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/OperatorCost.h"

#include "backend/graph/operators/Formula.h"

namespace modulelens::graph {

namespace {

Count bytesOf(const CostTensor& tensor) {
    Count bytes(base::elementSizeBytes(tensor.dtype));
    multiplyAll(bytes, tensor.shape);
    return bytes;
}

Count bytesOf(const std::vector<CostArgument>& arguments) {
    Count bytes(0);
    for (const CostArgument& argument : arguments) {
        if (const auto* tensor = std::get_if<CostTensor>(&argument)) {
            bytes += bytesOf(*tensor);
        } else if (const auto* list = std::get_if<std::vector<CostTensor>>(&argument)) {
            for (const CostTensor& item : *list) {
                bytes += bytesOf(item);
            }
        }
    }
    return bytes;
}

/// Indices, and for each element of the output one element of the table that they point into.
Count lookupBytes(const OperatorCall& call) {
    Count bytes = bytesOf(call.outputs);
    bytes += bytesOf(call.outputs);
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
        bytes += bytesOf(std::vector<CostArgument>{call.inputs[i]});
    }
    return bytes;
}

/// Indices, one row of the table for each index, and the output.
Count bagBytes(const OperatorCall& call) {
    Count bytes = bytesOf(call.outputs);
    const auto* table = call.inputs.empty() ? nullptr : std::get_if<CostTensor>(&call.inputs[0]);
    const Shape* indices = shapeAt(call, 1);
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
        bytes += bytesOf(std::vector<CostArgument>{call.inputs[i]});
    }
    if (table != nullptr && indices != nullptr && table->shape.size() == 2) {
        Count rows(base::elementSizeBytes(table->dtype));
        rows *= table->shape[1];
        multiplyAll(rows, *indices);
        bytes += rows;
    }
    return bytes;
}

std::optional<std::int64_t> bytesMoved(const OperatorCall& call, ZeroFamily family) {
    if (family == ZeroFamily::View) {
        return 0;
    }
    if (call.outputs.empty()) {
        return std::nullopt;
    }
    if (family == ZeroFamily::Lookup) {
        return lookupBytes(call).value();
    }
    if (family == ZeroFamily::Bag) {
        return bagBytes(call).value();
    }
    Count bytes = bytesOf(call.inputs);
    bytes += bytesOf(call.outputs);
    return bytes.value();
}

}  // namespace

OperatorCost operatorCost(const OperatorCall& call) {
    OperatorCost cost;
    const auto zero = findZeroFamily(call.name);
    cost.bytesMoved = bytesMoved(call, zero.value_or(ZeroFamily::Stream));
    if (zero) {
        cost.coverage = Coverage::ZeroByDefinition;
        return cost;
    }
    const FormulaRow* row = findFormula(call.name);
    // In-place forms ("aten::addmm_") have the arguments of the plain form.
    if (row == nullptr && call.name.ends_with('_') && !call.name.ends_with("__")) {
        row = findFormula(call.name.substr(0, call.name.size() - 1));
    }
    if (row == nullptr) {
        return cost;
    }
    if (const auto flops = row->flops(call)) {
        cost.coverage = Coverage::Counted;
        cost.flops = *flops;
    }
    return cost;
}

}  // namespace modulelens::graph
