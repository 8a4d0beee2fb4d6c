// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/VersionDocument.h"
#include "backend/engine/ProfileTree.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace modulelens::engine {

/// Bytes of the state that belong to each module itself: storage by the extent of the views on it, each byte once, at the first name
/// that reaches it in the program's order of parameters.
struct StateBytes {
    std::vector<OwnBytes> parameters;
    std::vector<OwnBytes> buffers;            ///< What parameters do not hold already.
    std::int64_t parameterBytes = 0;
    std::int64_t bufferBytes = 0;
};
[[nodiscard]] StateBytes stateBytes(const graph::Program& program, const std::map<std::string, capture::StateTensor>& tensors);

}  // namespace modulelens::engine
