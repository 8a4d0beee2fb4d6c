// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/engine/Engine.h"
#include "backend/protocol/MemoryMessages.h"

#include <filesystem>

namespace modulelens::engine {

/// Where the two files of a memory report are written; neither exists.
struct MemoryFiles {
    std::filesystem::path profile;
    std::filesystem::path timeline;
};

/// The memory passes over a bound call. A number that cannot be had is absent, with the reason. Unsupported: nothing was allocated, so
/// there is no history. Throws Failure: Cancelled, or what made the plain run fail.
[[nodiscard]] base::Result<protocol::MemoryResult> memoryCall(CallBinding& binding, const protocol::MemoryParams& params,
                                                              const MemoryFiles& files, const std::atomic<bool>& stop,
                                                              const JobContext& job);

}  // namespace modulelens::engine
