// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/operations/VersionInput.h"
#include "backend/registry/Registry.h"

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// In which order validated modules ran when they were captured, so that the first that drifts can be named.
namespace modulelens::operations {

/// The versions that were captured in the same run as `addressOrId`, at or below its module in the call tree, in the order in
/// which their calls ended: what a module calls stands before it. Blocks on the registry. NotFound: no such version, or its
/// run is not in the registry.
[[nodiscard]] base::Result<std::vector<registry::VersionSummary>> versionsOfRun(registry::Registry& registry,
                                                                                const std::string& addressOrId);

/// Indices of `versions` in the order in which their calls ended. Runs stand in the order in which `versions` first names
/// them; a version whose place is unknown keeps its place behind the others of the list. Blocks on the registry.
[[nodiscard]] base::Result<std::vector<std::size_t>> executionOrder(registry::Registry& registry,
                                                                    const std::vector<registry::VersionSummary>& versions);

/// Other captured calls of the version with the inputs, state, generator and modes of the call in `input`, which tell how
/// far the module differs from itself. Adds the data that they name to `params`.
[[nodiscard]] base::Result<void> addSameCalls(registry::Registry& registry, const VersionInput& input,
                                              protocol::ValidateParams& params);

} // namespace modulelens::operations
