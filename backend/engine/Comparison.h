// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/TensorReference.h"
#include "backend/engine/CallBinding.h"
#include "backend/engine/TensorComparison.h"
#include "backend/protocol/WorkerMessages.h"

#include <string>
#include <vector>

namespace modulelens::engine {

/// Compares everything that the last run of `binding` gave or wrote to with the capture: outputs, inputs, parameters and
/// buffers. Structure first: type, element type, shape, device, strides. Throws Failure.
[[nodiscard]] protocol::ValidateResult compareWithCapture(CallBinding& binding, const std::vector<c10::IValue>& outputs);

/// Derives verdict, exactness, largest difference and reason of `result` from its leaves.
void summarizeLeaves(protocol::ValidateResult& result);

/// A tensor that a comparison looks at, and where it stands in the call.
struct ComparedTensor {
    std::string pointer;
    at::Tensor tensor;
};
/// What the last run gave and wrote to, of all that the capture has: outputs, inputs, parameters and buffers. They share memory
/// with the run's own tensors.
[[nodiscard]] std::vector<ComparedTensor> comparedTensors(CallBinding& binding, const std::vector<c10::IValue>& outputs);
/// The captured value of an output; nothing when it was not captured.
[[nodiscard]] std::optional<at::Tensor> capturedOutput(const CallBinding& binding, const capture::CallDocument& call,
                                                       const std::string& pointer);

}  // namespace modulelens::engine
