// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Loops.h"

#include "backend/engine/Executor.h"

#include <ATen/Functions.h>
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace modulelens::engine {

namespace {

using Values = std::vector<c10::IValue>;
using Tensors = std::vector<at::Tensor>;

[[noreturn]] void fail(const Step& step, const char* what) {
    throw Failure({base::ErrorCode::Corrupt, step.name + " " + what, ""});
}

Values joined(Values first, const Values& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// A column of results as one tensor; nothing where the graph returns nothing.
c10::IValue stacked(const Step& step, const Values& column) {
    if (std::all_of(column.begin(), column.end(), [](const c10::IValue& value) { return value.isNone(); })) {
        return {};
    }
    Tensors tensors;
    tensors.reserve(column.size());
    for (const c10::IValue& value : column) {
        if (!value.isTensor()) {
            fail(step, "returns what cannot be stacked");
        }
        tensors.push_back(value.toTensor());
    }
    return at::stack(tensors);
}

// What a loop without an iteration returns is a copy, so that writing to it leaves the input alone.
Values copiesOf(const Values& values, bool isStacked) {
    Values copies;
    copies.reserve(values.size());
    for (const c10::IValue& value : values) {
        if (value.isTensor()) {
            copies.emplace_back((isStacked ? value.toTensor().unsqueeze(0) : value.toTensor()).clone());
        } else {
            copies.push_back(value);
        }
    }
    return copies;
}

Values sequencesOf(const Step& step, const ArgumentSource& source, std::vector<c10::IValue>& frame) {
    Values sequences;
    appendFlat(source, frame, sequences);
    if (sequences.empty()) {
        fail(step, "has nothing to go over");
    }
    for (const c10::IValue& sequence : sequences) {
        if (!sequence.isTensor() || sequence.toTensor().dim() == 0 ||
            sequence.toTensor().size(0) != sequences[0].toTensor().size(0)) {
            fail(step, "goes over what has no common first dimension");
        }
    }
    if (sequences[0].toTensor().size(0) == 0) {
        throw Failure({base::ErrorCode::InvalidArgument, step.name + " goes over a dimension of size 0",
                       "Give it at least one element: PyTorch does not define the result either."});
    }
    return sequences;
}

/// Combines the elements of two equally long groups of tensors.
using Combine = std::function<Tensors(const Tensors&, const Tensors&)>;

Tensors sliced(const Tensors& tensors, std::int64_t start, std::int64_t end, std::int64_t step) {
    Tensors slices;
    slices.reserve(tensors.size());
    for (const at::Tensor& tensor : tensors) {
        slices.push_back(at::slice(tensor, 0, start, end, step));
    }
    return slices;
}

/// a[0], b[0], a[1], b[1], …; `first` may have one row more.
at::Tensor interleaved(const at::Tensor& first, at::Tensor second) {
    const bool isLonger = first.size(0) == second.size(0) + 1;
    if (isLonger) {
        std::vector<std::int64_t> padding(static_cast<std::size_t>(second.dim()) * 2, 0);
        padding.back() = 1;
        second = at::constant_pad_nd(second, padding);
    }
    const at::Tensor both = at::stack({first, second}, 1).flatten(0, 1);
    return isLonger ? at::slice(both, 0, 0, first.size(0) + second.size(0) - 1) : both;
}

Tensors scanPairs(const Tensors& elements, const Combine& combine) {
    constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
    const std::int64_t count = elements[0].size(0);
    if (count < 2) {
        return elements;
    }
    const Tensors odd = scanPairs(combine(sliced(elements, 0, -1, 2), sliced(elements, 1, kEnd, 2)), combine);
    const Tensors even = combine(count % 2 == 0 ? sliced(odd, 0, -1, 1) : odd, sliced(elements, 2, kEnd, 2));
    Tensors results;
    results.reserve(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const at::Tensor first = at::slice(elements[i], 0, 0, 1);
        results.push_back(interleaved(even[i].numel() > 0 ? at::cat({first, even[i]}) : first, odd[i]));
    }
    return results;
}

}  // namespace

void runWhile(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner) {
    // Operands: condition graph, body graph, carried values, further values.
    const bool isStacked = step.kind == StepKind::WhileLoopStackOutput;
    Values carried;
    appendFlat(step.arguments[2], frame, carried);
    const Values further = flatOperands(step, 3, frame);
    const auto goesOn = [&] {
        const Values condition = runner.runSubGraph(*step.arguments[0].graph, joined(carried, further));
        return !condition.empty() && isTrue(condition[0]);
    };
    if (!goesOn()) {
        storeFlat(step, copiesOf(carried, isStacked), frame);
        return;
    }
    const std::size_t count = carried.size();
    std::vector<Values> columns(isStacked ? count : 0);
    do {
        carried = runner.runSubGraph(*step.arguments[1].graph, joined(std::move(carried), further));
        if (carried.size() < count) {
            fail(step, "returns fewer values than it carries");
        }
        for (std::size_t i = 0; i < columns.size(); ++i) {
            columns[i].push_back(carried[i]);
        }
    } while (goesOn());
    if (isStacked) {
        carried.clear();
        for (const Values& column : columns) {
            carried.push_back(stacked(step, column));
        }
    }
    storeFlat(step, std::move(carried), frame);
}

void runMapOrScan(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner) {
    // Operands of map: graph, sequences, further values; of scan: graph, carried values, sequences, further values.
    const bool isScan = step.kind == StepKind::Scan;
    Values carried;
    if (isScan) {
        appendFlat(step.arguments[1], frame, carried);
    }
    const Values sequences = sequencesOf(step, step.arguments[isScan ? 2 : 1], frame);
    const Values further = flatOperands(step, isScan ? 3 : 2, frame);
    const std::size_t carriedCount = carried.size();
    std::vector<Values> columns;
    for (std::int64_t i = 0; i < sequences[0].toTensor().size(0); ++i) {
        Values operands = carried;
        for (const c10::IValue& sequence : sequences) {
            operands.emplace_back(sequence.toTensor().select(0, i));
        }
        Values results = runner.runSubGraph(*step.arguments[0].graph, joined(std::move(operands), further));
        if (results.size() < carriedCount + columns.size()) {
            fail(step, "returns fewer values than it carries");
        }
        columns.resize(results.size() - carriedCount);
        for (std::size_t k = 0; k < columns.size(); ++k) {
            columns[k].push_back(std::move(results[carriedCount + k]));
        }
        results.resize(carriedCount);
        carried = std::move(results);
    }
    for (const Values& column : columns) {
        // Of scan, what is no tensor is dropped; map has none.
        const bool isKept =
            !isScan || std::all_of(column.begin(), column.end(), [](const auto& each) { return each.isTensor(); });
        carried.push_back(isKept ? stacked(step, column) : c10::IValue());
    }
    storeFlat(step, std::move(carried), frame);
}

void runAssociativeScan(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner) {
    // Operands: graph of two elements, sequences, further values.
    Tensors elements;
    for (const c10::IValue& sequence : sequencesOf(step, step.arguments[1], frame)) {
        elements.push_back(sequence.toTensor());
    }
    const Values further = flatOperands(step, 2, frame);
    const Combine combine = [&](const Tensors& left, const Tensors& right) {
        Values operands(left.begin(), left.end());
        operands.insert(operands.end(), right.begin(), right.end());
        const Values results = runner.runSubGraph(*step.arguments[0].graph, joined(std::move(operands), further));
        Tensors combined;
        for (const c10::IValue& result : results) {
            if (!result.isTensor() || result.toTensor().dim() == 0) {
                fail(step, "combines two elements to what is no element");
            }
            combined.push_back(result.toTensor());
        }
        if (combined.size() != left.size()) {
            fail(step, "combines two elements to another number of values");
        }
        return combined;
    };
    const Tensors results = scanPairs(elements, combine);
    storeFlat(step, Values(results.begin(), results.end()), frame);
}

}  // namespace modulelens::engine
