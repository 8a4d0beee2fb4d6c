// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Leaves.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace modulelens::engine {

namespace {

constexpr std::int64_t kAlignment = 64;
// A stride may spread little data over much memory; beyond this the tensor is made dense instead.
constexpr std::int64_t kAlwaysAllowedSpan = std::int64_t{64} << 20;
constexpr std::int64_t kAllowedSpread = 16;

/// Bytes that a reference covers in its captured storage.
struct Span {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

std::optional<Span> spanOf(const capture::TensorReference& reference) {
    const std::int64_t itemSize = base::elementSizeBytes(reference.dtype);
    std::int64_t last = reference.offset;
    for (std::size_t i = 0; i < reference.shape.size(); ++i) {
        const std::int64_t steps = reference.shape[i] - 1;
        std::int64_t reach = 0;
        if (steps < 0) {
            return Span{reference.offset * itemSize, reference.offset * itemSize};
        }
        if (__builtin_mul_overflow(steps, reference.stride.at(i), &reach) || __builtin_add_overflow(last, reach, &last)) {
            return std::nullopt;
        }
    }
    Span span;
    if (__builtin_mul_overflow(reference.offset, itemSize, &span.begin) ||
        __builtin_mul_overflow(last + 1, itemSize, &span.end)) {
        return std::nullopt;
    }
    return span;
}

std::vector<std::int64_t> denseStrides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) {
        strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
    }
    return strides;
}

// True when the stored bytes, row-major, are also the tensor's memory.
bool isStoredAsIs(const capture::TensorReference& reference) {
    const std::vector<std::int64_t> dense = denseStrides(reference.storedShape);
    for (std::size_t i = 0; i < reference.storedShape.size(); ++i) {
        if (reference.storedShape[i] > 1 && reference.stride.at(i) != dense[i]) {
            return false;
        }
    }
    return true;
}

bool isSameView(const capture::TensorReference& left, const capture::TensorReference& right) {
    return left.dtype == right.dtype && left.offset == right.offset && left.shape == right.shape && left.stride == right.stride;
}

bool canRequireGrad(c10::ScalarType type) {
    return c10::isFloatingType(type) || c10::isComplexType(type);
}

at::Tensor viewOfStorage(const at::Tensor& storage, const capture::TensorReference& reference, std::int64_t offset,
                         const std::vector<std::int64_t>& strides) {
    at::Tensor tensor = at::empty({0}, at::TensorOptions().dtype(torchType(reference.dtype)).device(storage.device()));
    tensor.set_(storage.storage(), offset, reference.shape, strides);
    return tensor;
}

// Every element of `tensor`'s memory once: expanded dimensions have one.
at::Tensor distinctElements(const at::Tensor& tensor) {
    std::vector<std::int64_t> sizes = tensor.sizes().vec();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (tensor.strides()[i] == 0 && sizes[i] > 1) {
            sizes[i] = 1;
        }
    }
    return tensor.as_strided(sizes, tensor.strides(), tensor.storage_offset());
}

}  // namespace

at::Tensor viewOfStored(const capture::TensorReference& reference, const std::byte* bytes) {
    static std::byte empty{};
    void* data = reference.storedBytes() == 0 ? &empty : const_cast<std::byte*>(bytes);
    return at::from_blob(data, reference.storedShape, at::TensorOptions().dtype(torchType(reference.dtype)));
}

void assign(const at::Tensor& target, const capture::TensorReference& reference, const std::byte* stored) {
    const at::NoGradGuard noGrad;
    distinctElements(target.detach()).copy_(viewOfStored(reference, stored));
}

bool holdsStored(const at::Tensor& tensor, const capture::TensorReference& reference, const std::byte* stored) {
    const at::NoGradGuard noGrad;
    const at::Tensor dense = distinctElements(tensor.detach()).to(at::kCPU).contiguous();
    const at::Tensor expected = viewOfStored(reference, stored).expand_as(dense).contiguous();
    return dense.nbytes() == 0 || std::memcmp(dense.const_data_ptr(), expected.const_data_ptr(), dense.nbytes()) == 0;
}

/// References that share one captured storage.
struct Leaves::Group {
    std::vector<Leaf*> members;                     ///< One for each view.
    Span span;
};

Leaf& Leaves::addLeaf(const std::string& name, const capture::TensorReference& reference, StoredData data) {
    m_leaves.push_back(Leaf{name, reference, std::move(data), {}, 0, false});
    m_byName[name] = &m_leaves.back();
    return m_leaves.back();
}

base::Result<void> Leaves::build(const std::map<std::string, capture::TensorReference>& references,
                                 const std::vector<std::string>& wanted, const TensorStore& store, const DeviceMap& devices,
                                 const std::stop_token& stop) {
    return torchGuarded("making tensors", [&]() -> base::Result<void> {
        std::map<std::int64_t, Leaf*> objects;
        std::map<std::int64_t, Group> shared;
        std::vector<Group> groups;
        for (const std::string& name : wanted) {
            const auto reference = references.find(name);
            if (m_byName.count(name) != 0) {
                continue;
            }
            if (reference == references.end()) {
                return base::Error{base::ErrorCode::NotFound, "the tensor '" + name + "' is not in the capture", ""};
            }
            const capture::TensorReference& tensor = reference->second;
            if (tensor.object && objects.count(*tensor.object) != 0) {
                m_byName[name] = objects[*tensor.object];
                continue;
            }
            base::Result<StoredData> data = store.find(tensor);
            if (!data) {
                return data.error().within("tensor '" + name + "'");
            }
            Leaf& leaf = addLeaf(name, tensor, *std::move(data));
            if (tensor.object) {
                objects[*tensor.object] = &leaf;
            }
            if (tensor.storage) {
                shared[*tensor.storage].members.push_back(&leaf);
            } else {
                groups.push_back({{&leaf}, {}});
            }
        }
        for (auto& [number, group] : shared) {
            groups.push_back(std::move(group));
        }
        for (const Group& group : groups) {
            if (stop.stop_requested()) {
                return base::Error{base::ErrorCode::Cancelled, "it was cancelled", ""};
            }
            buildGroup(group, devices);
        }
        for (Leaf& leaf : m_leaves) {
            if (leaf.reference.requiresGrad && canRequireGrad(leaf.tensor.scalar_type())) {
                leaf.tensor.set_requires_grad(true);
            }
            leaf.version = static_cast<std::uint32_t>(leaf.tensor._version());
        }
        return {};
    });
}

void Leaves::buildGroup(const Group& group, const DeviceMap& devices) {
    Span span{std::numeric_limits<std::int64_t>::max(), 0};
    std::int64_t storedBytes = 0;
    bool isBuildable = true;
    for (const Leaf* leaf : group.members) {
        const std::optional<Span> own = spanOf(leaf->reference);
        isBuildable = isBuildable && own.has_value();
        if (own) {
            span.begin = std::min(span.begin, own->begin);
            span.end = std::max(span.end, own->end);
        }
        storedBytes += leaf->reference.storedBytes();
    }
    const auto device = [&](const Leaf& leaf) { return devices(c10::Device(leaf.reference.device).type()); };
    const std::int64_t base = span.begin / kAlignment * kAlignment;
    isBuildable = isBuildable && span.end - base <= std::max(kAlwaysAllowedSpan, storedBytes * kAllowedSpread);
    if (!isBuildable) {
        for (Leaf* leaf : group.members) {
            m_warnings.push_back("tensor '" + leaf->name + "' is dense here, since its captured strides reach too far");
            leaf->tensor = viewOfStored(leaf->reference, leaf->data.pristine)
                               .expand(leaf->reference.shape)
                               .to(device(*leaf))
                               .clone(at::MemoryFormat::Contiguous);
        }
        return;
    }
    Leaf& first = *group.members.front();
    const bool isOneView = std::all_of(group.members.begin(), group.members.end(),
                                       [&](const Leaf* leaf) { return isSameView(leaf->reference, first.reference); });
    const bool isMappable = isOneView && isStoredAsIs(first.reference) && span.begin == base && first.data.sizeBytes > 0 &&
                            reinterpret_cast<std::uintptr_t>(first.data.writable) % kAlignment == 0 &&
                            first.data.mapping->claim(first.data.writable);
    at::Tensor storage;
    if (isMappable) {
        const auto release = [mapping = first.data.mapping](void* place) { mapping->release(static_cast<std::byte*>(place)); };
        storage = at::from_blob(first.data.writable, {static_cast<std::int64_t>(first.data.sizeBytes)}, release,
                                at::TensorOptions().dtype(at::kByte));
    } else {
        storage = at::empty({std::max<std::int64_t>(span.end - base, 0)}, at::TensorOptions().dtype(at::kByte));
    }
    storage = storage.to(device(first));
    for (Leaf* leaf : group.members) {
        const std::int64_t itemSize = base::elementSizeBytes(leaf->reference.dtype);
        leaf->tensor =
            viewOfStorage(storage, leaf->reference, leaf->reference.offset - base / itemSize, leaf->reference.stride);
        if (!isMappable) {
            assign(leaf->tensor, leaf->reference, leaf->data.pristine);
        }
    }
}

Leaf* Leaves::find(const std::string& name) const {
    const auto found = m_byName.find(name);
    return found == m_byName.end() ? nullptr : found->second;
}

void Leaves::detectMutations(bool checkBytes) {
    for (Leaf& leaf : m_leaves) {
        if (leaf.isMutated) {
            continue;
        }
        const bool isTouched = static_cast<std::uint32_t>(leaf.tensor._version()) != leaf.version;
        if (isTouched || (checkBytes && !leaf.reference.isParameter)) {
            leaf.isMutated = !holdsStored(leaf.tensor, leaf.reference, leaf.data.pristine);
        }
    }
}

void Leaves::restoreMutated() {
    for (Leaf& leaf : m_leaves) {
        if (leaf.isMutated) {
            assign(leaf.tensor, leaf.reference, leaf.data.pristine);
        }
        leaf.version = static_cast<std::uint32_t>(leaf.tensor._version());
    }
}

}  // namespace modulelens::engine
