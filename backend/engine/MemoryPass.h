// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/MemoryHistory.h"
#include "backend/engine/TrainingRun.h"

namespace modulelens::engine {

/// Of one run as captured. Throws Failure: Unsupported when the device's allocator reports nothing.
[[nodiscard]] MemoryHistory trackMemory(CallBinding& binding, const std::atomic<bool>& stop);
/// Of one training step, gradients undefined at its start. Throws as trackMemory and TrainingRun::run do.
[[nodiscard]] MemoryHistory trackTraining(TrainingRun& run, const std::atomic<bool>& stop);

}  // namespace modulelens::engine
