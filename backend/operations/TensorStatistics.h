// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/operations/Operations.h"

#include <cstddef>
#include <span>
#include <stop_token>

namespace modulelens::operations {

/// Statistics of stored tensor data: `bytes` are the little-endian elements of `tensor.storedShape`, row-major. Expanded
/// dimensions count as often as they are seen. Works through the data in blocks and looks at `stop` between them.
/// Corrupt: the number of bytes does not fit. Cancelled. A dtype without an order or without a decoder gets a `gap`.
[[nodiscard]] base::Result<TensorStatistics> computeStatistics(const capture::TensorReference& tensor,
                                                               std::span<const std::byte> bytes, std::stop_token stop);

} // namespace modulelens::operations
