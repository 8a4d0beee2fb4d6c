// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/WorkerMessages.h"

#include <ATen/core/Tensor.h>
#include <string>
#include <vector>

namespace modulelens::engine {

/// The tolerances of torch.testing.assert_close for an element type; 0 and 0 for integers, bool and 8 bit floats.
struct Tolerance {
    double relative = 0;
    double absolute = 0;
};
[[nodiscard]] Tolerance toleranceOf(c10::ScalarType type);

/// Compares `got` with `expected`: "exact" when every element has the same bits (any NaN equals any NaN), "close" within the
/// tolerances, else "fail". Structure first: a tensor of another kind, element type or shape fails without a look at its
/// values. A NaN or an infinity on one side alone, or an infinity of the other sign, fails. Strides and device are not compared.
/// Throws c10::Error only when memory runs out.
[[nodiscard]] protocol::LeafResult compareTensors(const at::Tensor& expected, const at::Tensor& got,
                                                  const std::string& pointer);

/// A dense copy on the CPU with conjugation and negation carried out; shares memory where nothing has to change.
[[nodiscard]] at::Tensor onHost(const at::Tensor& tensor);
/// True when both dense CPU tensors of one size have the same bytes.
[[nodiscard]] bool hasSameBits(const at::Tensor& left, const at::Tensor& right);
/// The largest difference between two tensors of one shape and type that both have finite there; infinity where one side alone
/// is not finite.
[[nodiscard]] double largestDifference(const at::Tensor& left, const at::Tensor& right);

/// "[2, 3]".
[[nodiscard]] std::string shapeText(const std::vector<std::int64_t>& shape);
/// The shortest text that reads back as `value`.
[[nodiscard]] std::string numberText(double value);

}  // namespace modulelens::engine
