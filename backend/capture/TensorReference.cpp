// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/TensorReference.h"

#include "backend/capture/JsonView.h"
#include "backend/capture/TensorReading.h"

namespace modulelens::capture {

namespace {

constexpr std::int64_t kMaximumBytes = std::int64_t{1} << 60;
constexpr std::size_t kMaximumRank = 64;

std::int64_t product(const std::vector<std::int64_t>& sizes) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) {
        count *= size;
    }
    return count;
}

std::vector<std::int64_t> contiguousStrides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i > 1; --i) {
        strides[i - 2] = strides[i - 1] * std::max<std::int64_t>(shape[i - 1], 1);
    }
    return strides;
}

std::vector<std::int64_t> readShape(const JsonView& view, std::int64_t elementBytes) {
    std::vector<std::int64_t> shape = view.integers();
    if (shape.size() > kMaximumRank) {
        view.fail("has more than 64 dimensions");
    }
    // Zero sizes are left out of the product: the strides beside a zero must not overflow either.
    std::int64_t bytes = elementBytes;
    for (const std::int64_t size : shape) {
        if (size < 0) {
            view.fail("holds a negative size");
        }
        if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes) || bytes > kMaximumBytes) {
            view.fail("is larger than 2^60 bytes");
        }
    }
    return shape;
}

/// Requires: shape and stride of one length. Fails when the farthest element lies beyond the limit.
void checkReach(const JsonView& view, const TensorReference& tensor) {
    std::int64_t reach = tensor.offset;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        std::int64_t step = 0;
        if (tensor.stride[i] < 0 ||
            __builtin_mul_overflow(std::max<std::int64_t>(tensor.shape[i] - 1, 0), tensor.stride[i], &step) ||
            __builtin_add_overflow(reach, step, &reach) || reach > kMaximumBytes) {
            view.fail("has a stride that leaves its storage");
        }
    }
}

void checkStoredShape(const JsonView& view, const TensorReference& tensor) {
    if (tensor.storedShape.size() != tensor.shape.size()) {
        view.fail("has a stored_shape of another rank");
    }
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        const bool isExpanded = tensor.storedShape[i] == 1 && tensor.stride[i] == 0;
        if (tensor.storedShape[i] != tensor.shape[i] && !isExpanded) {
            view.fail("has a stored_shape that does not expand to its shape");
        }
    }
}

}  // namespace

std::int64_t TensorReference::elementCount() const {
    return product(shape);
}

std::int64_t TensorReference::viewBytes() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        count *= stride[i] == 0 ? std::min<std::int64_t>(shape[i], 1) : shape[i];
    }
    return count * elementSizeBytes(dtype);
}

std::int64_t TensorReference::storedBytes() const {
    return product(storedShape) * elementSizeBytes(dtype);
}

TensorReference readTensorReference(const JsonView& view) {
    TensorReference tensor;
    const JsonView dtype = view.at("dtype");
    const auto type = scalarTypeFromName(dtype.string());
    if (!type) {
        dtype.fail("is the unknown element type '" + dtype.string().substr(0, 40) + "'");
    }
    tensor.dtype = *type;
    const std::int64_t elementBytes = elementSizeBytes(tensor.dtype);
    tensor.shape = readShape(view.at("shape"), elementBytes);
    const auto stride = view.find("stride");
    tensor.stride = stride ? stride->integers() : contiguousStrides(tensor.shape);
    if (tensor.stride.size() != tensor.shape.size()) {
        view.fail("has as many strides as another shape would need");
    }
    const auto stored = view.find("stored_shape");
    tensor.storedShape = stored ? readShape(*stored, elementBytes) : tensor.shape;
    if (const auto offset = view.find("offset")) {
        tensor.offset = offset->nonNegative();
    }
    if (const auto bytes = view.find("storage_bytes")) {
        tensor.storageBytes = bytes->nonNegative();
    }
    checkReach(view, tensor);
    checkStoredShape(view, tensor);
    if (const auto digest = view.find("ref")) {
        tensor.digest = digest->digest();
    }
    tensor.gap = view.stringOr("gap", tensor.digest.empty() ? "not kept" : "");
    tensor.object = view.optionalInteger("obj");
    tensor.storage = view.optionalInteger("storage");
    tensor.device = view.stringOr("device", "cpu");
    tensor.isParameter = view.booleanOr("parameter", false);
    tensor.requiresGrad = view.booleanOr("requires_grad", false);
    tensor.isConjugate = view.booleanOr("conj", false);
    tensor.isNegative = view.booleanOr("neg", false);
    return tensor;
}

TensorReference readStateTensor(const JsonView& view) {
    const std::string kind = view.stringOr("$t", "tensor");
    if (kind == "tensor") {
        return readTensorReference(view);
    }
    TensorReference tensor;
    if (const auto dtype = view.find("dtype"); dtype && dtype->json().is_string()) {
        tensor.dtype = scalarTypeFromName(dtype->string()).value_or(ScalarType::Float32);
    }
    if (const auto shape = view.find("shape")) {
        tensor.shape = readShape(*shape, elementSizeBytes(tensor.dtype));
    }
    tensor.stride = contiguousStrides(tensor.shape);
    tensor.storedShape = tensor.shape;
    tensor.gap = kind == "gap" ? view.stringOr("reason", "not kept") : kind + " tensor";
    tensor.object = view.optionalInteger("obj");
    tensor.storage = view.optionalInteger("storage");
    return tensor;
}

std::string pointerToken(std::string_view key) {
    std::string token = "/";
    for (const char c : key) {
        if (c == '~') {
            token += "~0";
        } else if (c == '/') {
            token += "~1";
        } else {
            token.push_back(c);
        }
    }
    return token;
}

void collectTensors(const JsonView& view, const std::string& pointer, std::vector<LocatedTensor>& found) {
    const nlohmann::json& json = view.json();
    if (json.is_array()) {
        for (std::size_t i = 0; i < json.size(); ++i) {
            collectTensors(view.element(i), pointer + "/" + std::to_string(i), found);
        }
        return;
    }
    if (!json.is_object()) {
        return;
    }
    const auto kind = json.find("$t");
    if (kind != json.end() && *kind == "tensor") {
        found.push_back({pointer, readTensorReference(view)});
        return;
    }
    if (kind != json.end() && (*kind == "sparse" || *kind == "quantized" || *kind == "numpy" || *kind == "nested")) {
        return;
    }
    view.forEachMember(
        [&](const std::string& key, const JsonView& member) { collectTensors(member, pointer + pointerToken(key), found); });
}

namespace {

bool isBareReference(const nlohmann::json& json) {
    return json.is_object() && !json.contains("$t") && json.contains("ref") && json.contains("dtype") && json.contains("shape");
}

/// The parts of a sharded tensor that this rank kept.
void collectParts(const JsonView& parts, std::vector<TensorReference>& found) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (isBareReference(parts.element(i).json())) {
            found.push_back(readTensorReference(parts.element(i)));
        }
    }
}

}  // namespace

void collectAllReferences(const JsonView& view, std::vector<TensorReference>& found) {
    const nlohmann::json& json = view.json();
    if (json.is_array()) {
        for (std::size_t i = 0; i < json.size(); ++i) {
            collectAllReferences(view.element(i), found);
        }
        return;
    }
    if (!json.is_object()) {
        return;
    }
    const auto kind = json.find("$t");
    if (kind != json.end() && *kind == "tensor") {
        found.push_back(readTensorReference(view));
        return;
    }
    if (kind != json.end() && *kind == "shard") {
        collectParts(view.at("local"), found);
        return;
    }
    const bool holdsBare =
        kind != json.end() && (*kind == "sparse" || *kind == "quantized" || *kind == "numpy" || *kind == "nested");
    view.forEachMember([&](const std::string& key, const JsonView& member) {
        if (holdsBare && isBareReference(member.json())) {
            found.push_back(readTensorReference(member));
        } else if (holdsBare && key == "parts") {
            member.forEachMember([&](const std::string&, const JsonView& part) { found.push_back(readTensorReference(part)); });
        } else {
            collectAllReferences(member, found);
        }
    });
}

base::Result<TensorReference> tensorReferenceFromJson(const nlohmann::json& json, const std::string& where) {
    return readDocument(where, [&] { return readTensorReference(JsonView(json, where)); });
}

bool isTensorReference(const nlohmann::json& json) {
    const auto kind = json.is_object() ? json.find("$t") : json.end();
    return json.is_object() && kind != json.end() && *kind == "tensor";
}

}  // namespace modulelens::capture
