// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/ProgramArchive.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::graph {

/// A weight of a .pt2 that torch.export.save wrote.
struct ForeignWeight {
    TensorMeta meta;
    std::uint64_t offset = 0;            ///< Of the raw bytes of its storage, from the start of the file.
    std::uint64_t sizeBytes = 0;
    std::string member;                  ///< Two names with one member share its storage.
    bool isParameter = true;
};

/// A plain .pt2: weights inside, no sidecar of ours.
struct ForeignArchive {
    std::shared_ptr<const Program> program;   ///< With pointers and classes.
    std::shared_ptr<const nlohmann::json> call;     ///< "args" and "kwargs" of a call, with null at every input.
    std::shared_ptr<const nlohmann::json> output;   ///< What a call returns, with null at every output.
    std::map<std::string, ForeignWeight> weights;   ///< By FQN.
    std::optional<base::ZipMember> sampleInputs;    ///< A pickle; absent when there is none.
    std::string stripped;                ///< The same program as docs/formats/bundle.md keeps it: no weights, no pickles.
};

/// Reads a .pt2 of torch.export.save. Never reads a pickle. Corrupt: cut or malformed. Unsupported: pickled weights or
/// constants, no weights inside, more than one program, another schema major version.
[[nodiscard]] base::Result<ForeignArchive> readForeignArchive(const std::shared_ptr<const base::MappedFile>& file,
                                                              const std::string& displayName);

}  // namespace modulelens::graph
