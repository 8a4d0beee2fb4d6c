// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ValueEncoding.h"

#include "backend/capture/Bundle.h"
#include "backend/engine/TorchTypes.h"

#include <ATen/core/Dict.h>
#include <cmath>
#include <nlohmann/json.hpp>

namespace modulelens::engine {

namespace {

using nlohmann::json;

constexpr int kDeepest = 100;

json number(double value) {
    if (std::isfinite(value)) {
        return value;
    }
    return {{"$t", "float"}, {"v", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

json gap(const c10::IValue& value) {
    return {{"$t", "gap"}, {"type", value.tagKind()}, {"reason", "values of this type are not kept"}, {"repr", ""}};
}

/// Dimensions that a tensor only repeats, as one element.
std::vector<std::int64_t> storedShape(const at::Tensor& tensor) {
    std::vector<std::int64_t> shape = tensor.sizes().vec();
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (tensor.strides()[i] == 0 && shape[i] > 1) {
            shape[i] = 1;
        }
    }
    return shape;
}

json encodeValue(ValueEncoder& encoder, const c10::IValue& value, int depth);

template <class Values>
json encodeAll(ValueEncoder& encoder, const Values& values, int depth) {
    json list = json::array();
    for (const c10::IValue& value : values) {
        list.push_back(encodeValue(encoder, value, depth));
    }
    return list;
}

json encodeDictionary(ValueEncoder& encoder, const c10::IValue& value, int depth) {
    const auto dictionary = value.toGenericDict();
    bool isPlain = true;
    for (const auto& entry : dictionary) {
        isPlain = isPlain && entry.key().isString() && !entry.key().toStringRef().starts_with('$');
    }
    json object = json::object();
    json items = json::array();
    for (const auto& entry : dictionary) {
        json item = encodeValue(encoder, entry.value(), depth);
        if (isPlain) {
            object[entry.key().toStringRef()] = std::move(item);
        } else {
            items.push_back(json::array({encodeValue(encoder, entry.key(), depth), std::move(item)}));
        }
    }
    if (isPlain) {
        return object;
    }
    return {{"$t", "dict"}, {"v", std::move(items)}};
}

json encodeValue(ValueEncoder& encoder, const c10::IValue& value, int depth) {
    if (depth > kDeepest) {
        throw Failure({base::ErrorCode::Unsupported, "the value nests too deeply", ""});
    }
    if (value.isNone()) {
        return nullptr;
    }
    if (value.isTensor()) {
        return value.toTensor().defined() ? encoder.encodeTensor(value.toTensor()) : json();
    }
    if (value.isBool()) {
        return value.toBool();
    }
    if (value.isInt()) {
        return value.toInt();
    }
    if (value.isDouble()) {
        return number(value.toDouble());
    }
    if (value.isString()) {
        return value.toStringRef();
    }
    if (value.isComplexDouble()) {
        return {{"$t", "complex"}, {"v", {value.toComplexDouble().real(), value.toComplexDouble().imag()}}};
    }
    if (value.isDevice()) {
        return {{"$t", "device"}, {"v", value.toDevice().str()}};
    }
    if (value.isTuple()) {
        return {{"$t", "tuple"}, {"v", encodeAll(encoder, value.toTupleRef().elements().vec(), depth + 1)}};
    }
    if (value.isList()) {
        return encodeAll(encoder, value.toListRef().vec(), depth + 1);
    }
    if (value.isGenericDict()) {
        return encodeDictionary(encoder, value, depth + 1);
    }
    return gap(value);
}

}  // namespace

json ValueEncoder::encode(const c10::IValue& value) {
    return encodeValue(*this, value, 0);
}

json ValueEncoder::encodeTensor(const at::Tensor& tensor) {
    if (tensor.layout() != at::kStrided || tensor.is_quantized()) {
        return {{"$t", "gap"}, {"type", "Tensor"}, {"reason", "only plain dense tensors are kept"}, {"repr", ""}};
    }
    json result = reference(tensor);
    result["$t"] = "tensor";
    const auto identity = std::to_string(reinterpret_cast<std::uintptr_t>(tensor.unsafeGetTensorImpl()));
    result["obj"] = m_objects.emplace(identity, static_cast<std::int64_t>(m_objects.size())).first->second;
    if (tensor.requires_grad()) {
        result["requires_grad"] = true;
    }
    return result;
}

json ValueEncoder::encodeState(const at::Tensor& tensor, bool isParameter) {
    if (tensor.layout() != at::kStrided || tensor.is_quantized()) {
        throw Failure({base::ErrorCode::Unsupported, "it is no plain dense tensor", ""});
    }
    json result = reference(tensor);
    const json view = {result["storage"], result["offset"], result["shape"], result.value("stride", json()), result["dtype"]};
    result["obj"] = m_objects.emplace(view.dump(), static_cast<std::int64_t>(m_objects.size())).first->second;
    result["kind"] = isParameter ? "parameter" : "buffer";
    if (isParameter) {
        result["parameter"] = true;
        result["requires_grad"] = tensor.requires_grad();
    } else {
        result["persistent"] = true;
    }
    return result;
}

json ValueEncoder::reference(const at::Tensor& tensor) {
    const at::Tensor plain = tensor.detach();
    const std::string dtype(base::scalarTypeName(captureType(plain.scalar_type())));
    const std::vector<std::int64_t> shape = storedShape(plain);
    const at::Tensor dense =
        plain.as_strided(shape, plain.strides(), plain.storage_offset()).to(at::kCPU).resolve_conj().resolve_neg().contiguous();
    m_kept.push_back(dense);
    m_kept.push_back(tensor);
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(dense.const_data_ptr()), dense.nbytes());
    const std::string digest = capture::tensorDigest(captureType(plain.scalar_type()), shape, bytes);
    const std::string stored = capture::safetensorsDtype(dtype);
    const bool isRaw = stored == "U8" && dtype != "uint8";
    m_inputs.try_emplace(
        digest,
        capture::SafetensorsInput{digest, stored,
                                  isRaw ? std::vector<std::int64_t>{static_cast<std::int64_t>(dense.nbytes())} : shape, bytes});
    json result = {{"dtype", dtype}, {"shape", plain.sizes().vec()}, {"ref", digest}};
    if (!plain.is_contiguous()) {
        result["stride"] = plain.strides().vec();
    }
    if (shape != plain.sizes().vec()) {
        result["stored_shape"] = shape;
    }
    if (isRaw) {
        result["stored_dtype"] = "uint8";
    }
    if (!plain.device().is_cpu()) {
        result["device"] = plain.device().str();
    }
    const void* storage = plain.storage().unsafeGetStorageImpl();
    result["storage"] = m_storages.emplace(storage, static_cast<std::int64_t>(m_storages.size())).first->second;
    result["offset"] = plain.storage_offset();
    return result;
}

base::Result<void> ValueEncoder::write(const std::filesystem::path& path) const {
    std::vector<capture::SafetensorsInput> tensors;
    tensors.reserve(m_inputs.size());
    for (const auto& [digest, input] : m_inputs) {
        tensors.push_back(input);
    }
    auto written = capture::writeSafetensors(base::realFileSystem(), path, tensors, {});
    if (!written) {
        (void)base::realFileSystem().remove(path);
        return written.error();
    }
    return {};
}

}  // namespace modulelens::engine
