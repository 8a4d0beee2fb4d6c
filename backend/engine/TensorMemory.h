// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

namespace modulelens::engine {

/// Makes freed CPU memory of tensors cheap to have again: small blocks are kept by size, large ones stay with the process.
/// For the whole process, for good; calling it again does nothing. Tensors that exist already keep their memory.
void installTensorMemory();

/// Gives the kept blocks back. Thread-safe.
void releaseTensorMemory();

}  // namespace modulelens::engine
