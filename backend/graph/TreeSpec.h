// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::graph {

/// Where the leaves of a value tree stand, in the order of a program's inputs or outputs.
using LeafPointers = std::vector<std::string>;

/// Reads the arguments' structure as torch.export writes it (a pytree spec of (args, kwargs) as JSON text). `call` gets
/// "args" and "kwargs" encoded as docs/formats/bundle.md says, with null at every leaf. Corrupt: no such spec. Pure.
[[nodiscard]] base::Result<LeafPointers> readArgumentTree(std::string_view spec, nlohmann::json& call);

/// The same for what a program returns: `output` gets the value tree, pointers begin with "/output".
[[nodiscard]] base::Result<LeafPointers> readOutputTree(std::string_view spec, nlohmann::json& output);

/// "~" and "/" escaped as a JSON Pointer wants them.
[[nodiscard]] std::string pointerToken(std::string_view key);

}  // namespace modulelens::graph
