// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Query.h"
#include "backend/wandb/Service.h"
#include "backend/wandb/VersionArtifact.h"

namespace modulelens::wandb {

/// True when every term of `query` holds for `version` (docs/query.md).
[[nodiscard]] bool matches(const registry::Query& query, const ListedVersion& version);

/// Conditions for the server that leave out nothing that the query finds: exact names, tags, aliases, addresses. What the server
/// finds is matched again here, since its filters are similar to ours, not the same.
[[nodiscard]] RowFilter serverFilter(const registry::Query& query);

}  // namespace modulelens::wandb
