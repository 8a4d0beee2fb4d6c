// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/engine/Engine.h"
#include "backend/protocol/WorkerMessages.h"

#include <atomic>

namespace modulelens::engine {

/// Runs `binding` and compares with the capture; repeats the run with fresh memory and compares the runs; runs the same
/// computation in float64 when something differs or it is asked for. Requires: the captured call returned. Throws Failure.
[[nodiscard]] protocol::ValidateResult validateCall(CallBinding& binding, const protocol::ValidateParams& params,
                                                    const std::atomic<bool>& stop, const JobContext& job);

}  // namespace modulelens::engine
