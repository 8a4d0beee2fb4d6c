// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/FunctionTransforms.h"

#include <ATen/Functions.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>

namespace modulelens::engine {

namespace {

namespace functorch = at::functorch;

// functorch keeps levels in a bit set without looking.
constexpr std::size_t kMostLevels = 32;

[[noreturn]] void fail(const char* what) {
    throw Failure({base::ErrorCode::Corrupt, what, ""});
}

std::int64_t currentLevel() {
    const std::optional<functorch::DynamicLayer> layer = functorch::maybeCurrentDynamicLayer();
    if (!layer || layer->key() != functorch::TransformType::Vmap) {
        fail("a batch dimension is used outside torch.vmap");
    }
    return layer->layerId();
}

functorch::RandomnessType randomnessOf(const std::string& name) {
    return name == "different" ? functorch::RandomnessType::Different
           : name == "same"    ? functorch::RandomnessType::Same
                               : functorch::RandomnessType::Error;
}

at::Tensor addBatchDimension(const at::Tensor& tensor, std::int64_t dimension, std::int64_t level) {
    if (level != currentLevel() || dimension < 0 || dimension >= tensor.dim()) {
        fail("torch.vmap goes over a dimension that its input does not have");
    }
    return functorch::addBatchDim(tensor, dimension, level);
}

// As functorch's Python side does it, which LibTorch does not have.
at::Tensor removeBatchDimension(const at::Tensor& tensor, std::int64_t level, std::int64_t batch, std::int64_t dimension) {
    if (level != currentLevel() || dimension < 0 || dimension > tensor.dim()) {
        fail("torch.vmap puts its dimension where its result has none");
    }
    const auto* batched = functorch::maybeGetBatchedImpl(tensor);
    if (batched == nullptr || batched->level() < level) {
        std::vector<std::int64_t> sizes = tensor.sizes().vec();
        sizes.insert(sizes.begin() + dimension, batch);
        return tensor.expand(sizes);
    }
    return batched->value().movedim(batched->bdim(), dimension);
}

}  // namespace

std::vector<c10::IValue> runFunctionTransform(StepKind kind, const std::vector<c10::IValue>& operands) {
    switch (kind) {
        case StepKind::PushVmap:
            if (functorch::getDynamicLayerStack().size() >= kMostLevels) {
                fail("torch.vmap is nested too deeply");
            }
            functorch::initAndPushDynamicLayer(functorch::TransformType::Vmap, c10::SymInt(operands.at(0).toInt()),
                                               randomnessOf(operands.at(1).toStringRef()));
            return {};
        case StepKind::AddBatchDimension:
            return {addBatchDimension(operands.at(0).toTensor(), operands.at(1).toInt(), operands.at(2).toInt())};
        case StepKind::RemoveBatchDimension:
            return {removeBatchDimension(operands.at(0).toTensor(), operands.at(1).toInt(), operands.at(2).toInt(),
                                         operands.at(3).toInt())};
        default:
            (void)currentLevel();
            (void)functorch::popDynamicLayerAndDeleteMetadata();
            return {};
    }
}

TransformScope::TransformScope() : m_depth(functorch::getDynamicLayerStack().size()) {}

TransformScope::~TransformScope() {
    while (functorch::getDynamicLayerStack().size() > m_depth) {
        (void)functorch::popDynamicLayerAndDeleteMetadata();
    }
}

}  // namespace modulelens::engine
