// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QTemporaryDir>
#include <memory>

#include "backend/registry/Registry.h"

namespace modulelens::test {

/// A registry in a temporary folder that holds the golden bundle: "golden::", "golden::linear", "golden::activation".
struct GoldenRegistry {
    QTemporaryDir folder;
    std::shared_ptr<registry::LocalRegistry> registry;

    /// Null registry when the import fails; `error` says why.
    GoldenRegistry();
    std::string error;
};

} // namespace modulelens::test
