// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/ZipReader.h"
#include "backend/graph/Program.h"

#include <memory>
#include <string>

namespace modulelens::graph {

/// A tensor that the archive itself holds (constants), as its config describes it.
struct ArchivedTensor {
    TensorMeta meta;
    std::uint64_t offset = 0;           ///< Of the raw little-endian storage bytes, from the start of `file`.
    std::uint64_t sizeBytes = 0;
};

/// A .pt2 archive of torch.export: its graph, and where its constants lie.
struct ProgramArchive {
    std::shared_ptr<const Program> program;
    std::map<std::string, ArchivedTensor> constants;   ///< By name; lifted constants and kept non-persistent buffers.
    std::map<std::string, TensorMeta> weights;         ///< Meta stand-ins by FQN (requires_grad counts).
};

/// Reads an archive. `file` is a mapped .pt2, or a slice (base::sliceOf) of a file that holds one.
/// Corrupt: cut or malformed (the message names the member and key). Unsupported: another schema major version, big
/// endian, a non-empty pickled member, `use_pickle: true`. Never reads a pickle. Parsing is bounds-checked throughout.
[[nodiscard]] base::Result<ProgramArchive> readProgramArchive(const std::shared_ptr<const base::MappedFile>& file,
                                                              const std::string& displayName);

/// Parses models/model.json alone. `classes` and pointers of Program stay empty.
[[nodiscard]] base::Result<std::shared_ptr<const Program>> parseProgram(std::string_view modelJson,
                                                                        const std::string& displayName);

/// Only the pickle rules of readProgramArchive, for verification at import.
[[nodiscard]] base::Result<void> checkArchiveIsSafe(const std::shared_ptr<const base::MappedFile>& file,
                                                    const std::string& displayName);

}  // namespace modulelens::graph
