// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/operations/VersionInput.h"
#include "backend/protocol/SourceMessages.h"

#include <filesystem>
#include <string>
#include <vector>

/// What the source engine is given, and how its worker is started.
namespace modulelens::operations {

/// Everything that a Python worker needs to rebuild the module of `input`: nodes, sources, state, and its program when it has one
/// that needs no consent. Blocks on the registry. Corrupt: a node is missing or damaged.
[[nodiscard]] base::Result<protocol::SourceLoadParams> sourceLoadParams(registry::Registry& registry, const VersionInput& input,
                                                                        const std::string& device);

/// The file with its sha256, as the source engine takes it. NotFound, InvalidArgument (no file). Blocks on disk.
[[nodiscard]] base::Result<protocol::EditedSource> readEditedSource(const std::filesystem::path& file,
                                                                    const std::string& className);

/// PYTHON -m modulelens worker, with --python-path for each folder. `python` empty: MODULELENS_PYTHON, else the active
/// environment's (VIRTUAL_ENV, CONDA_PREFIX), else python3.
[[nodiscard]] std::vector<std::string> pythonWorkerCommand(const std::string& python,
                                                           const std::vector<std::string>& pythonPath);

} // namespace modulelens::operations
