// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Operations.h"

#include <cstdint>
#include <string>

namespace modulelens::operations {

class WorkerJobs;

/// Whether a verdict goes into the version's history. Edited source says nothing of the version itself.
enum class Storing : std::uint8_t { No, Yes };

/// Runs on the captured inputs in `jobs` and compares with the captured outputs: Operations::validate.
[[nodiscard]] base::Result<ValidationReport> runValidation(registry::Registry& registry, WorkerJobs& jobs,
                                                           const std::string& addressOrId, const RunSettings& settings,
                                                           const OperationContext& context, Storing storing);

} // namespace modulelens::operations
