// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Plan.h"

#include <vector>

/// torch.vmap as export writes it: a level is pushed, inputs get a batch dimension of it, results lose theirs, the level is popped.
namespace modulelens::engine {

/// Runs one of these calls on its operands; nothing for those without a result. Throws Failure (Corrupt) for a level or a
/// dimension that is not there.
[[nodiscard]] std::vector<c10::IValue> runFunctionTransform(StepKind kind, const std::vector<c10::IValue>& operands);

/// Pops the levels that a run left behind when it failed half-way. Confined to its thread.
class TransformScope {
public:
    TransformScope();
    ~TransformScope();
    TransformScope(const TransformScope&) = delete;
    TransformScope& operator=(const TransformScope&) = delete;

private:
    std::size_t m_depth;
};

}  // namespace modulelens::engine
