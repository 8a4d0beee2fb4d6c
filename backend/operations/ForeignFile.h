// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <filesystem>

namespace modulelens::operations {

/// What an imported path holds.
enum class ImportKind {
    Bundle,        ///< A bundle, a .mlens, or a folder of bundles.
    Exported,      ///< .pt2 of torch.export.save.
    TorchScript,   ///< Archive of torch.jit.save.
    AotInductor,   ///< .pt2 with a compiled library.
};

/// Looks at the content, not at the name; reads no pickle and no code. Unsupported: a file that holds no model that can be
/// run, such as a checkpoint. Corrupt: cut. NotFound. Blocks on disk.
[[nodiscard]] base::Result<ImportKind> identifyImport(const std::filesystem::path& path);

} // namespace modulelens::operations
