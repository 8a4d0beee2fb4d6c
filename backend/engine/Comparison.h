// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/TensorReference.h"
#include "backend/engine/CallBinding.h"
#include "backend/protocol/WorkerMessages.h"

namespace modulelens::engine {

/// The tolerances of torch.testing.assert_close for an element type; 0 and 0 for integers, bool and 8 bit floats.
struct Tolerance {
    double relative = 0;
    double absolute = 0;
};
[[nodiscard]] Tolerance toleranceOf(c10::ScalarType type);

/// Compares `got` with `expected`: "exact" when every element has the same bits (any NaN equals any NaN), "close" within the
/// tolerances, else "fail". Shapes and element types must be the same. Throws c10::Error only when memory runs out.
[[nodiscard]] protocol::LeafResult compareTensors(const at::Tensor& expected, const at::Tensor& got,
                                                  const std::string& pointer);

/// Compares everything that the last run of `binding` gave or wrote to with the capture: outputs, inputs, parameters and
/// buffers. Throws Failure.
[[nodiscard]] protocol::ValidateResult compareWithCapture(CallBinding& binding, const std::vector<c10::IValue>& outputs);

}  // namespace modulelens::engine
