// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Bytes that operators move, and what they compute outside matrix products.
#include "backend/graph/operators/Formula.h"

#include <algorithm>

namespace modulelens::graph {

namespace {

using Bytes = std::optional<std::int64_t>;

Count bytesOf(const CostTensor& tensor) {
    Count bytes(base::elementSizeBytes(tensor.dtype));
    bytes *= storedElements(tensor).value_or(-1);
    bytes *= tensor.examples;
    return bytes;
}

/// How many examples of its first output a call computes.
std::int64_t examplesOf(const OperatorCall& call) {
    const auto* output = call.outputs.empty() ? nullptr : std::get_if<CostTensor>(&call.outputs.front());
    return output == nullptr ? 1 : output->examples;
}

Count bytesOf(const CostArgument& argument) {
    Count bytes(0);
    if (const auto* tensor = std::get_if<CostTensor>(&argument)) {
        bytes += bytesOf(*tensor);
    } else if (const auto* list = std::get_if<std::vector<CostTensor>>(&argument)) {
        for (const CostTensor& item : *list) {
            bytes += bytesOf(item);
        }
    }
    return bytes;
}

/// Of all arguments from `first` on.
Count bytesOf(const std::vector<CostArgument>& arguments, std::size_t first = 0) {
    Count bytes(0);
    for (std::size_t i = first; i < arguments.size(); ++i) {
        bytes += bytesOf(arguments[i]);
    }
    return bytes;
}

const CostTensor* tensorAt(const std::vector<CostArgument>& arguments, std::size_t position) {
    return position < arguments.size() ? std::get_if<CostTensor>(&arguments[position]) : nullptr;
}

std::vector<std::int64_t> stridesOf(const CostTensor& tensor) {
    if (tensor.strides.size() == tensor.shape.size()) {
        return tensor.strides;
    }
    std::vector<std::int64_t> strides(tensor.shape.size(), 1);
    for (std::size_t i = strides.size(); i-- > 1;) {
        strides[i - 1] = strides[i] * std::max<std::int64_t>(tensor.shape[i], 1);
    }
    return strides;
}

/// Whether `shape` can be a view of `tensor`, as ATen decides: each run of dimensions that lie in memory one after the other
/// must be split into whole dimensions of `shape`.
bool isViewable(const CostTensor& tensor, const Shape& shape) {
    const auto elements = elementsOf(&tensor.shape);
    if (!elements || *elements == 0 || tensor.shape.empty()) {
        return true;
    }
    const std::vector<std::int64_t> strides = stridesOf(tensor);
    std::size_t next = shape.size();
    std::int64_t base = strides.back();
    std::int64_t run = 1;
    std::int64_t taken = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
        run *= tensor.shape[i];
        if (i > 0 && (tensor.shape[i - 1] == 1 || strides[i - 1] == run * base)) {
            continue;
        }
        while (next > 0 && (taken < run || shape[next - 1] == 1)) {
            taken *= shape[--next];
        }
        if (taken != run) {
            return false;
        }
        base = i > 0 ? strides[i - 1] : base;
        run = 1;
        taken = 1;
    }
    return next == 0;
}

Bytes oneCopy(const OperatorCall& call) {
    Count bytes = bytesOf(call.inputs);
    bytes += bytesOf(call.outputs);
    return bytes.value();
}

Bytes reshapeBytes(const OperatorCall& call) {
    const CostTensor* input = tensorAt(call.inputs, 0);
    const CostTensor* output = tensorAt(call.outputs, 0);
    if (input == nullptr || output == nullptr) {
        return std::nullopt;
    }
    return isViewable(*input, output->shape) ? 0 : oneCopy(call);
}

Bytes convertBytes(const OperatorCall& call) {
    const CostTensor* input = tensorAt(call.inputs, 0);
    const CostTensor* output = tensorAt(call.outputs, 0);
    if (input == nullptr || output == nullptr) {
        return std::nullopt;
    }
    if (input->dtype == output->dtype && input->shape == output->shape && stridesOf(*input) == stridesOf(*output)) {
        return 0;
    }
    Count bytes = bytesOf(*input);  // Another tensor argument only names the type.
    bytes += bytesOf(*output);
    return bytes.value();
}

/// Indices, and for each element of the output one element of the table that they point into.
Bytes lookupBytes(const OperatorCall& call) {
    Count bytes = bytesOf(call.outputs);
    bytes += bytesOf(call.outputs);
    bytes += bytesOf(call.inputs, 1);
    return bytes.value();
}

/// Indices, one row of the table for each index, and the output.
Bytes bagBytes(const OperatorCall& call) {
    Count bytes = bytesOf(call.outputs);
    bytes += bytesOf(call.inputs, 1);
    const CostTensor* table = tensorAt(call.inputs, 0);
    const Shape* indices = shapeAt(call, 1);
    if (table != nullptr && indices != nullptr && table->shape.size() == 2) {
        Count rows(base::elementSizeBytes(table->dtype));
        rows *= table->shape[1];
        multiplyAll(rows, *indices);
        rows *= examplesOf(call);
        bytes += rows;
    }
    return bytes.value();
}

/// Indices and source are read, what they reach is written, and read before where it is added to.
Bytes scatterBytes(const OperatorCall& call) {
    const CostTensor* source = nullptr;
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
        if (const CostTensor* tensor = tensorAt(call.inputs, i)) {
            source = tensor;
        }
    }
    const bool adds =
        call.name.ends_with("add_") || std::any_of(call.inputs.begin(), call.inputs.end(), [](const CostArgument& argument) {
            const auto* flag = std::get_if<bool>(&argument);
            return flag != nullptr && *flag;
        });
    if (source == nullptr || source->shape.empty()) {
        return std::nullopt;
    }
    Count touched = bytesOf(CostTensor{source->shape, source->dtype, {}, examplesOf(call)});
    Count bytes = bytesOf(call.inputs, 1);
    bytes += touched;
    if (adds) {
        bytes += touched;
    }
    return bytes.value();
}

bool isEvaluating(const OperatorCall& call) {
    const auto* trains = call.inputs.size() > 2 ? std::get_if<bool>(&call.inputs[2]) : nullptr;
    return trains != nullptr && !*trains;
}

}  // namespace

std::optional<std::int64_t> storedElements(const CostTensor& tensor) {
    const auto all = elementsOf(&tensor.shape);
    if (!all || *all == 0 || tensor.strides.size() != tensor.shape.size()) {
        return all;
    }
    Count distinct(1);
    Count span(1);
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        const std::int64_t stride = tensor.strides[i] < 0 ? 0 : tensor.strides[i];
        distinct *= stride == 0 ? 1 : tensor.shape[i];
        Count reach(tensor.shape[i] - 1);
        reach *= stride;
        span += reach;
    }
    const auto covered = span.value();
    const auto wanted = distinct.value();
    return covered && wanted ? std::optional(std::min(*covered, *wanted)) : wanted;
}

std::optional<std::int64_t> bytesMoved(const OperatorCall& call, Traffic traffic) {
    if (traffic == Traffic::None) {
        return 0;
    }
    if (call.outputs.empty()) {
        return std::nullopt;
    }
    switch (traffic) {
        case Traffic::Reshape:
            return reshapeBytes(call);
        case Traffic::Convert:
            return convertBytes(call);
        case Traffic::Dropout:
            return isEvaluating(call) ? 0 : oneCopy(call);
        case Traffic::Lookup:
            return lookupBytes(call);
        case Traffic::Bag:
            return bagBytes(call);
        case Traffic::ScatterInPlace:
            return scatterBytes(call);
        case Traffic::Overwrite: {
            Count bytes = bytesOf(call.inputs, 1);
            bytes += bytesOf(call.outputs);
            return bytes.value();
        }
        case Traffic::None:
        case Traffic::Stream:
            break;
    }
    return oneCopy(call);
}

std::optional<std::int64_t> otherWork(const OperatorCall& call, Work work) {
    const auto times = [](std::optional<std::int64_t> elements, std::int64_t factor) -> std::optional<std::int64_t> {
        if (!elements) {
            return std::nullopt;
        }
        Count count(*elements);
        count *= factor;
        return count.value();
    };
    const auto* list = call.outputs.empty() ? nullptr : std::get_if<std::vector<CostTensor>>(&call.outputs.front());
    const Shape* output = list != nullptr && !list->empty() ? &list->front().shape : outputShape(call);
    switch (work) {
        case Work::None:
            return 0;
        case Work::PerOutput:
            return elementsOf(output);
        case Work::PerInput:
            return elementsOf(shapeAt(call, 0));
        case Work::Softmax:
            return times(elementsOf(shapeAt(call, 0)), 5);
        case Work::Normalisation:
            return times(elementsOf(shapeAt(call, 0)), 7);
        case Work::RmsNormalisation:
            return times(elementsOf(shapeAt(call, 0)), 4);
        case Work::BatchNormalisation: {
            const auto* trains = call.inputs.size() > 5 ? std::get_if<bool>(&call.inputs[5]) : nullptr;
            return times(elementsOf(shapeAt(call, 0)), trains != nullptr && !*trains ? 2 : 7);
        }
        case Work::Window: {
            const Shape* input = shapeAt(call, 0);
            const auto window = integersAt(call, 1);
            if (!window || output == nullptr || input == nullptr) {
                return elementsOf(input);
            }
            Count count(1);
            multiplyAll(count, *output);
            multiplyAll(count, *window);
            // One number stands for all dimensions of the window.
            const std::size_t spatial = call.name.find("3d") != std::string_view::npos   ? 3
                                        : call.name.find("2d") != std::string_view::npos ? 2
                                                                                         : 1;
            for (std::size_t i = window->size(); window->size() == 1 && i < spatial; ++i) {
                count *= window->front();
            }
            return count.value();
        }
        case Work::Bag: {
            const Shape* table = shapeAt(call, 0);
            const auto rows = elementsOf(shapeAt(call, 1));
            const auto sums = elementsOf(output);
            if (!rows || !sums || table == nullptr || table->size() != 2) {
                return std::nullopt;
            }
            const auto read = times(rows, (*table)[1]);
            return read ? std::optional(std::max<std::int64_t>(*read - *sums, 0)) : std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace modulelens::graph
