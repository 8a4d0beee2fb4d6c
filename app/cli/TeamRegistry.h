// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "app/cli/Commands.h"
#include "backend/wandb/WandbRegistry.h"

#include <memory>
#include <string>

namespace modulelens::cli {

/// Opens "wandb:ENTITY/REGISTRY" with the sign-in of the environment. Waits for the server are said on standard error.
/// InvalidArgument: another address. Unavailable: no key.
[[nodiscard]] base::Result<std::shared_ptr<wandb::WandbRegistry>> openTeamRegistry(CommandContext& context,
                                                                                   const std::string& address);

/// `registry publish`, `registry fetch`, `registry queue` and `registry cache`.
[[nodiscard]] base::Result<Answer> publishToTeam(CommandContext& context);
[[nodiscard]] base::Result<Answer> fetchFromTeam(CommandContext& context);
[[nodiscard]] base::Result<Answer> showQueue(CommandContext& context);
[[nodiscard]] base::Result<Answer> showCache(CommandContext& context);

} // namespace modulelens::cli
