// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/ForeignTensors.h"

#include "backend/capture/Bundle.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace modulelens::operations {

namespace {

using nlohmann::json;

struct Layout {
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> stride;
    std::vector<std::int64_t> storedShape;      ///< Dimensions that are only repeated have one element.
    std::int64_t elements = 1;                  ///< Of the stored shape.
    bool isRowMajor = true;
};

base::Error corrupt(const std::string& name) {
    return {base::ErrorCode::Corrupt, "the weight '" + name + "' reaches beyond its data",
            "The file is damaged; save it again with torch.export.save."};
}

std::optional<Layout> layoutOf(const graph::TensorMeta& meta) {
    Layout layout;
    if (meta.sizes.size() != meta.strides.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
        if (!meta.sizes[i].literal || !meta.strides[i].literal) {
            return std::nullopt;
        }
        const std::int64_t size = *meta.sizes[i].literal;
        const std::int64_t stride = *meta.strides[i].literal;
        layout.shape.push_back(size);
        layout.stride.push_back(stride);
        layout.storedShape.push_back(stride == 0 && size > 1 ? 1 : size);
        if (__builtin_mul_overflow(layout.elements, layout.storedShape.back(), &layout.elements)) {
            return std::nullopt;
        }
    }
    std::int64_t dense = 1;
    for (std::size_t i = layout.shape.size(); i-- > 0;) {
        layout.isRowMajor = layout.isRowMajor && (layout.shape[i] == 1 || layout.stride[i] == dense);
        dense *= std::max<std::int64_t>(layout.shape[i], 1);
    }
    return layout;
}

/// One past the last byte that the view reaches in its storage; nothing when that overflows.
std::optional<std::uint64_t> reachOf(const Layout& layout, std::int64_t offset, std::int64_t itemBytes) {
    std::int64_t last = offset;
    for (std::size_t i = 0; i < layout.shape.size(); ++i) {
        std::int64_t step = 0;
        if (layout.shape[i] == 0) {
            return 0;
        }
        if (__builtin_mul_overflow(layout.shape[i] - 1, layout.stride[i], &step) || __builtin_add_overflow(last, step, &last)) {
            return std::nullopt;
        }
    }
    std::int64_t bytes = 0;
    if (offset < 0 || __builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, itemBytes, &bytes)) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(bytes);
}

/// The elements of a view in row-major order. Requires: the view lies inside `storage`.
std::vector<std::byte> gather(std::span<const std::byte> storage, const Layout& layout, std::int64_t offset,
                              std::size_t itemBytes) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(layout.elements) * itemBytes);
    std::vector<std::int64_t> index(layout.shape.size(), 0);
    for (std::size_t at = 0; at < bytes.size(); at += itemBytes) {
        std::int64_t place = offset;
        for (std::size_t i = 0; i < index.size(); ++i) {
            place += index[i] * layout.stride[i];
        }
        std::memcpy(bytes.data() + at, storage.data() + static_cast<std::size_t>(place) * itemBytes, itemBytes);
        for (std::size_t i = index.size(); i-- > 0;) {
            if (++index[i] < layout.storedShape[i]) {
                break;
            }
            index[i] = 0;
        }
    }
    return bytes;
}

} // namespace

json ForeignTensors::add(base::ScalarType dtype, const std::vector<std::int64_t>& shape, std::span<const std::byte> bytes) {
    const std::string name(base::scalarTypeName(dtype));
    const std::string stored = capture::safetensorsDtype(name);
    const bool isRaw = stored == "U8" && name != "uint8";
    const std::string digest = capture::tensorDigest(dtype, shape, bytes);
    m_tensors.try_emplace(
        digest, capture::SafetensorsInput{
                    digest, stored, isRaw ? std::vector<std::int64_t>{static_cast<std::int64_t>(bytes.size())} : shape, bytes});
    json reference = {{"dtype", name}, {"shape", shape}, {"ref", digest}};
    if (isRaw) {
        reference["stored_dtype"] = "uint8";
    }
    return reference;
}

base::Result<json> ForeignTensors::addWeight(const std::string& name, const graph::ForeignWeight& weight,
                                             const std::shared_ptr<const base::MappedFile>& file) {
    const graph::TensorMeta& meta = weight.meta;
    const std::int64_t itemBytes = base::elementSizeBytes(meta.dtype);
    const std::optional<Layout> layout = layoutOf(meta);
    const std::optional<std::uint64_t> reach = layout ? reachOf(*layout, meta.storageOffset, itemBytes) : std::nullopt;
    const std::span<const std::byte> all = file->bytes();
    if (!reach || *reach > weight.sizeBytes || weight.offset > all.size() || weight.sizeBytes > all.size() - weight.offset) {
        return corrupt(name);
    }
    const auto storage = all.subspan(weight.offset, weight.sizeBytes);
    std::span<const std::byte> bytes;
    if (layout->isRowMajor || layout->elements == 0) {
        const std::int64_t count = layout->elements * itemBytes;
        bytes = count == 0 ? bytes
                           : storage.subspan(static_cast<std::size_t>(meta.storageOffset * itemBytes),
                                             static_cast<std::size_t>(count));
    } else {
        m_owned.push_back(gather(storage, *layout, meta.storageOffset, static_cast<std::size_t>(itemBytes)));
        bytes = m_owned.back();
    }
    json reference = add(meta.dtype, layout->storedShape, bytes);
    reference["shape"] = layout->shape;
    if (!layout->isRowMajor) {
        reference["stride"] = layout->stride;
    }
    if (layout->storedShape != layout->shape) {
        reference["stored_shape"] = layout->storedShape;
    }
    if (meta.device != "cpu") {
        reference["device"] = meta.device;
    }
    reference["storage"] = m_storages.emplace(weight.member, static_cast<std::int64_t>(m_storages.size())).first->second;
    reference["offset"] = meta.storageOffset;
    const json view = {weight.member, meta.storageOffset, layout->shape, layout->stride, reference["dtype"]};
    reference["obj"] = m_objects.emplace(view.dump(), static_cast<std::int64_t>(m_objects.size())).first->second;
    reference["kind"] = weight.isParameter ? "parameter" : "buffer";
    if (weight.isParameter) {
        reference["parameter"] = true;
        reference["requires_grad"] = meta.requiresGrad;
    } else {
        reference["persistent"] = true;
    }
    return reference;
}

json ForeignTensors::addInput(SampleInput input, std::int64_t number) {
    m_owned.push_back(std::move(input.bytes));
    json reference = add(input.dtype, input.shape, m_owned.back());
    reference.update({{"$t", "tensor"}, {"obj", number}, {"storage", number}, {"offset", 0}});
    return reference;
}

base::Result<void> ForeignTensors::addFile(const std::filesystem::path& path) {
    auto file = base::realFileSystem().map(path);
    if (!file) {
        return file.error();
    }
    const auto header = capture::readSafetensorsHeader((*file)->bytes(), path.filename().string());
    if (!header) {
        return header.error();
    }
    for (const auto& [digest, entry] : header->entries) {
        m_tensors.try_emplace(digest, capture::SafetensorsInput{digest, entry.dtype, entry.shape,
                                                                (*file)->bytes().subspan(entry.offset, entry.sizeBytes)});
    }
    m_files.push_back(*std::move(file));
    return {};
}

} // namespace modulelens::operations
