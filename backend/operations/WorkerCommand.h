// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace modulelens::operations {

/// Program and arguments that start a worker: MODULELENS_WORKER split as a shell would, else modulelens-worker beside the
/// running program, else the one on PATH, else the bare name (which then fails to start with a good message).
[[nodiscard]] std::vector<std::string> defaultWorkerCommand();

/// A command line split as a shell would.
[[nodiscard]] std::vector<std::string> splitWorkerCommand(const std::string& command);

/// A program that came with this one: beside it, else on PATH; empty when there is none.
[[nodiscard]] std::string findCompanionProgram(const std::string& name);

} // namespace modulelens::operations
