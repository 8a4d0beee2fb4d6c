// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/operations/ForeignFile.h"
#include "backend/operations/Operations.h"
#include "backend/operations/Permissions.h"
#include "backend/operations/WorkerJobs.h"
#include "backend/registry/Registry.h"

#include <filesystem>

namespace modulelens::operations {

/// Why an input of an imported program has no value. Whoever runs the version meets them as errors (checkInputsAreThere).
inline constexpr const char* kConsentGap = "a pickle that was not read, since there was no consent";
inline constexpr const char* kNoInputGap = "the file holds no sample inputs, and none were given";
/// Why its outputs have none.
inline constexpr const char* kNoOutputGap = "nothing was captured: the file was imported without a run";

/// Imports a file that no tracer wrote as a model with its top module. What needs no pickle and no code is read here, the rest
/// by the worker after consent. On any error the registry is as it was. Blocks.
/// ConsentNeeded: the whole file is code. Corrupt, Unsupported, InvalidArgument (inputs), StorageFull, and what a worker gives.
[[nodiscard]] base::Result<registry::ImportReport> importForeignFile(registry::LocalRegistry& registry, WorkerJobs& worker,
                                                                     Permissions& permissions, ImportKind kind,
                                                                     const std::filesystem::path& path,
                                                                     const ImportSettings& settings,
                                                                     const OperationContext& context);

/// ConsentNeeded or InvalidArgument: an input of the call was left out for one of the reasons above; `address` names the
/// version in the message.
[[nodiscard]] base::Result<void> checkInputsAreThere(const capture::CallDocument& call, const std::string& address);

/// True when an input is left out because neither the file nor the person gave any.
[[nodiscard]] bool isWithoutInputs(const capture::CallDocument& call);

/// True when the call's outputs were never there: the version was imported without a run.
[[nodiscard]] bool isWithoutOutputs(const capture::CallDocument& call);

} // namespace modulelens::operations
