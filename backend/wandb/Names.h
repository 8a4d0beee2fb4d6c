// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <string>
#include <string_view>

namespace modulelens::wandb {

/// The place of a registry: "wandb:ENTITY/REGISTRY".
struct RegistryAddress {
    std::string entity;         ///< A team or an organisation.
    std::string registry;       ///< Without the prefix of its project.

    [[nodiscard]] std::string text() const { return "wandb:" + entity + '/' + registry; }
};

/// True for what is meant as such an address: it begins with "wandb:".
[[nodiscard]] bool isRegistryAddress(std::string_view text);
/// InvalidArgument: another form, or names that W&B does not take.
[[nodiscard]] base::Result<RegistryAddress> parseRegistryAddress(std::string_view text);
/// The project that a registry is.
[[nodiscard]] std::string registryProject(std::string_view registry);

/// InvalidArgument unless W&B takes `name` for a tag of a version: letters, digits, "-", "_" and single words apart, at most 128.
[[nodiscard]] base::Result<void> checkTag(std::string_view name);
/// InvalidArgument unless `name` may be an alias: 1 to 128 characters without "/" and ":", neither "latest" nor "v<N>".
[[nodiscard]] base::Result<void> checkAlias(std::string_view name);
/// InvalidArgument unless `name` may be a collection: 1 to 128 of letters, digits, ".", "_", "-".
[[nodiscard]] base::Result<void> checkCollection(std::string_view name);

}  // namespace modulelens::wandb
