// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/engine/Engine.h"

#include <filesystem>
#include <vector>

namespace modulelens::engine {

/// Runs the passes on a bound call and writes the profile to `file`. A pass that cannot give a number leaves its metric
/// unknown, with the reason. Throws Failure: Cancelled, or what made the plain run fail.
[[nodiscard]] base::Result<protocol::ProfileResult> profileCall(CallBinding& binding, const protocol::ProfileParams& params,
                                                                const std::filesystem::path& file,
                                                                const std::atomic<bool>& stop, const JobContext& job);

/// Every step of `graph` and of the sub-graphs inside it, each before the steps of its own sub-graphs.
[[nodiscard]] std::vector<const Step*> executionOrder(const PlanGraph& graph);

}  // namespace modulelens::engine
