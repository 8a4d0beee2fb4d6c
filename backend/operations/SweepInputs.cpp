// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/SweepInputs.h"

#include "backend/base/Guarded.h"
#include "backend/capture/Bundle.h"
#include "backend/graph/SizeExpression.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace modulelens::operations {

namespace {

using nlohmann::json;

constexpr std::size_t kAlignment = 64;

/// A program input that the caller gives, with its place in the call and the tensor captured there.
struct UserInput {
    const graph::Value* value = nullptr;
    std::string pointer;
    const capture::TensorReference* tensor = nullptr;
};

std::vector<UserInput> userInputs(const graph::Program& program, const capture::CallDocument& call) {
    std::vector<UserInput> inputs;
    std::size_t next = 0;
    for (std::size_t i = 0; i < program.inputs.size() && i < program.graph.inputs.size(); ++i) {
        const graph::InputKind kind = program.inputs[i].kind;
        if ((kind != graph::InputKind::UserInput && kind != graph::InputKind::ConstantInput) ||
            next >= program.inputPointers.size()) {
            continue;
        }
        const std::string& pointer = program.inputPointers[next++];
        const auto* argument = std::get_if<graph::ValueArgument>(&program.graph.inputs[i]);
        if (kind != graph::InputKind::UserInput || argument == nullptr || argument->value < 0) {
            continue;
        }
        UserInput input{&program.graph.values.at(static_cast<std::size_t>(argument->value)), pointer, nullptr};
        const auto captured = std::find_if(call.inputs.begin(), call.inputs.end(),
                                           [&](const capture::LocatedTensor& located) { return located.pointer == pointer; });
        if (captured != call.inputs.end()) {
            input.tensor = &captured->tensor;
        }
        inputs.push_back(std::move(input));
    }
    return inputs;
}

const json* valueAt(const capture::CallDocument& call, const std::string& pointer) {
    const json::json_pointer place(pointer);
    return call.json->contains(place) ? &call.json->at(place) : nullptr;
}

DynamicSize& sizeOf(std::vector<DynamicSize>& sizes, const graph::Program& program, const std::string& symbol) {
    const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const DynamicSize& size) { return size.symbol == symbol; });
    if (found != sizes.end()) {
        return *found;
    }
    DynamicSize size;
    size.symbol = symbol;
    if (const auto range = program.ranges.find(symbol); range != program.ranges.end()) {
        size.minimum = range->second.minimum;
        size.maximum = range->second.maximum;
    }
    return sizes.emplace_back(std::move(size));
}

std::vector<std::int64_t> strideOrder(const capture::TensorReference& tensor) {
    std::vector<std::int64_t> order(tensor.shape.size());
    std::iota(order.begin(), order.end(), 0);
    // Largest stride first; what is expanded or of size 1 keeps its place.
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t left, std::int64_t right) {
        return tensor.stride[static_cast<std::size_t>(left)] > tensor.stride[static_cast<std::size_t>(right)];
    });
    return order;
}

/// Dense strides for `shape` with the dimensions in the captured order, so that a channels-last input stays one.
std::vector<std::int64_t> stridesFor(const capture::TensorReference& tensor, const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    const std::vector<std::int64_t> order = strideOrder(tensor);
    std::int64_t stride = 1;
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
        const auto dimension = static_cast<std::size_t>(*at);
        strides[dimension] = stride;
        stride *= std::max<std::int64_t>(shape[dimension], 1);
    }
    return strides;
}

bool isDense(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (strides[i] != stride && shape[i] > 1) {
            return false;
        }
        stride *= std::max<std::int64_t>(shape[i], 1);
    }
    return true;
}

void tileFrom(const std::byte* source, const std::vector<std::int64_t>& sourceShape, std::byte*& target,
              const std::vector<std::int64_t>& shape, std::size_t itemBytes, std::size_t dimension) {
    if (dimension == shape.size()) {
        std::memcpy(target, source, itemBytes);
        target += itemBytes;
        return;
    }
    std::size_t step = itemBytes;
    bool isRow = true;
    for (std::size_t i = dimension + 1; i < shape.size(); ++i) {
        step *= static_cast<std::size_t>(sourceShape[i]);
        isRow = isRow && sourceShape[i] == shape[i];
    }
    for (std::int64_t i = 0; i < shape[dimension];) {
        // Everything below is taken whole: as many rows at once as the source has.
        const std::int64_t from = i % sourceShape[dimension];
        const std::byte* row = source + static_cast<std::size_t>(from) * step;
        if (isRow) {
            const std::int64_t rows = std::min(shape[dimension] - i, sourceShape[dimension] - from);
            std::memcpy(target, row, static_cast<std::size_t>(rows) * step);
            target += static_cast<std::size_t>(rows) * step;
            i += rows;
        } else {
            tileFrom(row, sourceShape, target, shape, itemBytes, dimension + 1);
            ++i;
        }
    }
}

/// Nothing when the product leaves the range of a file.
std::optional<std::int64_t> byteCount(const std::vector<std::int64_t>& shape, capture::ScalarType dtype) {
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    std::int64_t bytes = base::elementSizeBytes(dtype);
    for (const std::int64_t size : shape) {
        if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > kMost) {
            return std::nullopt;
        }
    }
    return bytes;
}

} // namespace

graph::Program openProgram(const capture::CallDocument& call) {
    graph::Program program;
    std::optional<std::int64_t> batch;
    int symbolCount = 0;
    for (const capture::LocatedTensor& located : call.inputs) {
        graph::Value value;
        value.name = located.pointer;
        value.kind = graph::ValueKind::Tensor;
        value.tensor.emplace().dtype = located.tensor.dtype;
        for (std::size_t i = 0; i < located.tensor.shape.size(); ++i) {
            const bool isBatch = i == 0 && batch.value_or(located.tensor.shape[0]) == located.tensor.shape[0];
            if (isBatch && !batch) {
                batch = located.tensor.shape[0];
                ++symbolCount;
            }
            const std::string symbol = "s" + std::to_string(isBatch ? 0 : symbolCount++);
            value.tensor->sizes.push_back({std::nullopt, symbol, located.tensor.shape[i]});
            program.ranges[symbol] = {1, std::nullopt};
        }
        program.graph.inputs.emplace_back(graph::ValueArgument{static_cast<int>(program.graph.values.size())});
        program.graph.values.push_back(std::move(value));
        program.inputs.emplace_back();
        program.inputPointers.push_back(located.pointer);
    }
    return program;
}

std::vector<DynamicSize> dynamicSizes(const graph::Program& program, const capture::CallDocument& call) {
    std::vector<DynamicSize> sizes;
    bool isFirstTensor = true;
    for (const UserInput& input : userInputs(program, call)) {
        if (input.value->tensor && input.tensor != nullptr) {
            const auto& dimensions = input.value->tensor->sizes;
            for (std::size_t i = 0; i < dimensions.size() && i < input.tensor->shape.size(); ++i) {
                const std::optional<std::string> symbol = graph::soleSymbol(dimensions[i].expression);
                if (dimensions[i].literal || !symbol) {
                    continue;
                }
                DynamicSize& size = sizeOf(sizes, program, *symbol);
                size.captured = input.tensor->shape[i];
                size.places.push_back(input.pointer + ':' + std::to_string(i));
                size.isBatch = size.isBatch || (isFirstTensor && i == 0);
            }
            isFirstTensor = false;
        } else if (input.value->integer && !input.value->integer->literal) {
            const std::optional<std::string> symbol = graph::soleSymbol(input.value->integer->expression);
            const json* value = valueAt(call, input.pointer);
            if (symbol && value != nullptr && value->is_number_integer()) {
                DynamicSize& size = sizeOf(sizes, program, *symbol);
                size.captured = value->get<std::int64_t>();
                size.places.push_back(input.pointer);
            }
        }
    }
    return sizes;
}

const DynamicSize* findDynamicSize(const std::vector<DynamicSize>& sizes, const std::string& name) {
    const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const DynamicSize& size) {
        return size.symbol == name || (size.isBatch && name == "batch") ||
               std::find(size.places.begin(), size.places.end(), name) != size.places.end();
    });
    return found == sizes.end() ? nullptr : &*found;
}

std::string rangeText(const DynamicSize& size) {
    const std::string least = std::to_string(size.minimum.value_or(0));
    return size.maximum ? least + " to " + std::to_string(*size.maximum) : least + " and up";
}

bool isInRange(const DynamicSize& size, std::int64_t value) {
    return value >= size.minimum.value_or(value) && value <= size.maximum.value_or(value);
}

std::string dynamicSizesText(const std::vector<DynamicSize>& sizes) {
    std::string text;
    for (const DynamicSize& size : sizes) {
        text += (text.empty() ? "" : ", ") + (size.isBatch ? std::string("batch") : size.symbol) + " (" +
                (size.places.empty() ? std::string() : size.places.front() + ", ") + rangeText(size) + ')';
    }
    return text;
}

void tile(std::span<const std::byte> source, const std::vector<std::int64_t>& sourceShape, std::span<std::byte> target,
          const std::vector<std::int64_t>& shape, std::size_t itemBytes) {
    if (!target.empty()) {
        std::byte* at = target.data();
        tileFrom(source.data(), sourceShape, at, shape, itemBytes, 0);
    }
}

base::Result<std::vector<ScaledInput>> scaledInputs(const graph::Program& program, const capture::CallDocument& call,
                                                    const std::vector<DynamicSize>& sizes,
                                                    const std::map<std::string, std::int64_t>& symbols) {
    std::map<std::string, std::int64_t> values;
    for (const DynamicSize& size : sizes) {
        const auto given = symbols.find(size.symbol);
        values[size.symbol] = given == symbols.end() ? size.captured : given->second;
        const std::int64_t value = values[size.symbol];
        if (given != symbols.end() && !isInRange(size, value)) {
            return base::Error{base::ErrorCode::InvalidArgument,
                               (size.isBatch ? std::string("batch") : size.symbol) + " = " + std::to_string(value) +
                                   " lies outside the range " + rangeText(size) + " that the program was exported for",
                               "Export the module with a wider range, or leave this value out."};
        }
    }
    std::vector<ScaledInput> inputs;
    for (const UserInput& input : userInputs(program, call)) {
        const auto resolved = [&](const graph::SymbolicInteger& size) {
            return size.literal ? size.literal : graph::evaluateSize(size.expression, values);
        };
        const base::Error unknown{base::ErrorCode::InvalidArgument,
                                  "a size of the input at " + input.pointer + " does not follow from the sizes that are given",
                                  "Sweep another dimension."};
        if (input.value->tensor && input.tensor != nullptr) {
            ScaledInput scaled{input.pointer, {}, std::nullopt};
            for (const graph::SymbolicInteger& size : input.value->tensor->sizes) {
                const std::optional<std::int64_t> value = resolved(size);
                if (!value || *value < 0) {
                    return unknown;
                }
                scaled.shape.push_back(*value);
            }
            inputs.push_back(std::move(scaled));
        } else if (input.value->integer && !input.value->integer->literal) {
            const std::optional<std::int64_t> value = resolved(*input.value->integer);
            if (!value) {
                return unknown;
            }
            inputs.push_back({input.pointer, {}, value});
        }
    }
    return inputs;
}

std::int64_t bytesOf(const std::vector<ScaledInput>& inputs, const capture::CallDocument& call) {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    std::int64_t bytes = 0;
    for (const ScaledInput& input : inputs) {
        const auto located = std::find_if(call.inputs.begin(), call.inputs.end(), [&](const capture::LocatedTensor& tensor) {
            return tensor.pointer == input.pointer;
        });
        if (!input.number && located != call.inputs.end()) {
            bytes = std::min(kMost, bytes + byteCount(input.shape, located->tensor.dtype).value_or(kMost));
        }
    }
    return bytes;
}

namespace {

/// Makes the inputs of one call and writes them to one file.
class Scaler {
public:
    Scaler(const protocol::CallParams& captured, const capture::CallDocument& call, std::filesystem::path file)
        : m_captured(captured), m_call(call), m_path(std::move(file)) {
        m_scaled.call = captured.call;
        m_scaled.tensors = captured.tensors;
    }

    base::Result<ScaledCall> run(const std::vector<ScaledInput>& inputs) {
        bool isFirst = true;
        for (const ScaledInput& input : inputs) {
            if (input.number) {
                m_scaled.call[json::json_pointer(input.pointer)] = *input.number;
                continue;
            }
            if (isFirst && !input.shape.empty()) {
                m_scaled.items = input.shape.front();
            }
            isFirst = false;
            const capture::TensorReference* tensor = tensorAt(input.pointer);
            if (tensor == nullptr || tensor->shape == input.shape) {
                continue;
            }
            if (base::Result<void> made = make(*tensor, input); !made) {
                return made.error().within("the input at " + input.pointer);
            }
        }
        if (m_file) {
            if (base::Result<void> closed = m_file->close(); !closed) {
                return closed.error();
            }
        }
        m_scaled.how = m_isCut && m_isTiled ? "cut_and_tiled" : m_isCut ? "cut" : m_isTiled ? "tiled" : "captured";
        return std::move(m_scaled);
    }

private:
    [[nodiscard]] const capture::TensorReference* tensorAt(const std::string& pointer) const {
        const auto located = std::find_if(m_call.inputs.begin(), m_call.inputs.end(),
                                          [&](const capture::LocatedTensor& tensor) { return tensor.pointer == pointer; });
        return located == m_call.inputs.end() ? nullptr : &located->tensor;
    }

    base::Result<void> make(const capture::TensorReference& tensor, const ScaledInput& input) {
        const auto extent = std::find_if(m_captured.tensors.begin(), m_captured.tensors.end(),
                                         [&](const protocol::Extent& place) { return place.digest == tensor.digest; });
        if (tensor.digest.empty() || extent == m_captured.tensors.end()) {
            return base::Error{base::ErrorCode::NotFound, "it was not captured, so none of another size can be made of it", {}};
        }
        const std::optional<std::int64_t> bytes = byteCount(input.shape, tensor.dtype);
        if (!bytes || input.shape.size() != tensor.storedShape.size()) {
            return base::Error{base::ErrorCode::InvalidArgument, "it cannot have that size", {}};
        }
        for (std::size_t i = 0; i < input.shape.size(); ++i) {
            m_isCut = m_isCut || input.shape[i] < tensor.shape[i];
            m_isTiled = m_isTiled || input.shape[i] > tensor.shape[i];
            if (tensor.storedShape[i] == 0 && input.shape[i] > 0) {
                return base::Error{base::ErrorCode::InvalidArgument, "it was captured empty", "Capture it with elements."};
            }
        }
        auto mapped = base::realFileSystem().map(extent->file);
        if (!mapped) {
            return mapped.error();
        }
        const auto slice = base::sliceOf(*std::move(mapped), extent->offset, extent->length);
        if (!slice) {
            return slice.error();
        }
        if (static_cast<std::int64_t>((*slice)->bytes().size()) != tensor.storedBytes()) {
            return base::Error{base::ErrorCode::Corrupt, "its stored data has another length than its shape says", {}};
        }
        std::vector<std::byte> data(static_cast<std::size_t>(*bytes));
        tile((*slice)->bytes(), tensor.storedShape, data, input.shape,
             static_cast<std::size_t>(base::elementSizeBytes(tensor.dtype)));
        m_scaled.inputBytes += *bytes;
        refer(tensor, input, data);
        return append(data);
    }

    /// Puts a reference to the new data where the captured one stands.
    void refer(const capture::TensorReference& tensor, const ScaledInput& input, std::span<const std::byte> data) {
        json& reference = m_scaled.call[json::json_pointer(input.pointer)];
        m_digest = capture::tensorDigest(tensor.dtype, input.shape, data);
        reference["ref"] = m_digest;
        reference["shape"] = input.shape;
        const std::vector<std::int64_t> strides = stridesFor(tensor, input.shape);
        for (const char* key : {"stride", "stored_shape", "storage", "offset"}) {
            reference.erase(key);
        }
        if (!isDense(input.shape, strides)) {
            reference["stride"] = strides;
        }
    }

    base::Result<void> append(const std::vector<std::byte>& data) {
        const auto isKnown = [&](const protocol::Extent& place) { return place.digest == m_digest; };
        if (std::any_of(m_scaled.tensors.begin(), m_scaled.tensors.end(), isKnown)) {
            return {};
        }
        if (!m_file) {
            auto created = base::realFileSystem().create(m_path);
            if (!created) {
                return created.error();
            }
            m_file = *std::move(created);
        }
        const std::size_t padding = (kAlignment - m_size % kAlignment) % kAlignment;
        if (base::Result<void> padded = m_file->append(std::vector<std::byte>(padding)); !padded) {
            return padded;
        }
        m_size += padding;
        m_scaled.tensors.push_back({m_digest, m_path.string(), m_size, data.size()});
        m_size += data.size();
        return m_file->append(data);
    }

    const protocol::CallParams& m_captured;
    const capture::CallDocument& m_call;
    std::filesystem::path m_path;
    std::unique_ptr<base::WritableFile> m_file;
    std::size_t m_size = 0;
    std::string m_digest;
    bool m_isCut = false;
    bool m_isTiled = false;
    ScaledCall m_scaled;
};

} // namespace

base::Result<ScaledCall> scaleCall(const protocol::CallParams& captured, const capture::CallDocument& call,
                                   const std::vector<ScaledInput>& inputs, const std::filesystem::path& file) {
    return base::guarded("making inputs", [&] { return Scaler(captured, call, file).run(inputs); });
}

} // namespace modulelens::operations
