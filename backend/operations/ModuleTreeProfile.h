// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/VersionDocument.h"
#include "backend/profile/Profile.h"
#include "backend/registry/Registry.h"

#include <memory>

namespace modulelens::operations {

/// The hierarchy of a version whose program cannot be read here: its modules by the tree of their nodes, with parameter bytes.
/// Which of them are called, and how often, is not known before it ran. Blocks on the registry.
[[nodiscard]] base::Result<std::shared_ptr<const profile::Profile>> buildModuleTreeProfile(
    registry::Registry& registry, const capture::VersionDocument& version);

} // namespace modulelens::operations
