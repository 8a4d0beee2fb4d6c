// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Connection.h"
#include "backend/registry/ImportPlan.h"
#include "backend/registry/ObjectStore.h"
#include "backend/registry/Registry.h"

#include <optional>
#include <string>
#include <vector>

namespace modulelens::registry {

// Rows of a bundle. All functions throw SQLite::Exception.

/// Digests of a plan that the registry does not hold yet.
struct MissingContent {
    std::vector<std::string> objects;
    std::vector<std::string> tensors;
};
[[nodiscard]] base::Result<MissingContent> findMissing(Connection& connection, const ImportPlan& plan);

struct BundleRowsReport {
    std::vector<VersionSummary> newVersions;
    int versionsKnown = 0;
    int runsNew = 0;
    std::vector<std::string> objectsKnown;   ///< Objects of the plan that were there already.
};

/// Inserts everything that a plan says. `pack` holds the tensors that were missing. Requires: a write transaction is open.
[[nodiscard]] BundleRowsReport insertBundle(Connection& connection, const ImportPlan& plan,
                                            const std::optional<StagedPack>& pack);

}  // namespace modulelens::registry
