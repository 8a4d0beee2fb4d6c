// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/engine/Engine.h"
#include "backend/protocol/BenchmarkMessages.h"

namespace modulelens::engine {

/// InvalidArgument: no such mode, a mode that `device` does not have, or numbers out of range.
[[nodiscard]] base::Result<void> checkBenchmark(const protocol::BenchmarkParams& params, c10::Device device);

/// Times one bound call, or two in turn; `second` is null for one side and may be `first` itself. Requires: checkBenchmark.
/// Throws Failure: Cancelled, or what made a run fail, naming the side's program.
[[nodiscard]] protocol::BenchmarkResult benchmarkCalls(CallBinding& first, CallBinding* second,
                                                       const protocol::BenchmarkParams& params, const std::atomic<bool>& stop,
                                                       const JobContext& job);

}  // namespace modulelens::engine
