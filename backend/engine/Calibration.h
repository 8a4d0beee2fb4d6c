// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Engine.h"
#include "backend/protocol/CalibrateMessages.h"

#include <c10/core/Device.h>

namespace modulelens::engine {

/// Measures what `device` reaches at most with the current thread count, by LibTorch's own operators: memory bandwidth by
/// summing, copying and adding long arrays, FLOPs by square matrix products. Each number is the best of several runs, since a
/// peak is asked for. Throws Failure: Cancelled; c10::Error when memory runs out.
[[nodiscard]] protocol::CalibrateResult calibrateDevice(c10::Device device, std::int64_t budgetMs,
                                                        const std::atomic<bool>& stop, const JobContext& job);

}  // namespace modulelens::engine
