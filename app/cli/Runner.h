// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "app/cli/Commands.h"

#include <memory>
#include <string>

namespace modulelens::cli {

/// Settings, context and use cases of a command that runs something. The worker gets ready while the registry is read.
struct Runner {
    std::string address;                   ///< The first positional, or empty.
    operations::RunSettings settings;
    operations::OperationContext context;
    std::shared_ptr<registry::Registry> registry;
    std::unique_ptr<operations::Operations> operations;
};

/// Reads the options of `context` and opens its registry. Errors are those of the options and of openRegistry.
[[nodiscard]] base::Result<Runner> makeRunner(CommandContext& context);

} // namespace modulelens::cli
