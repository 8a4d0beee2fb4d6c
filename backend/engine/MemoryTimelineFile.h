// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/engine/MemoryHistory.h"

#include <filesystem>
#include <string>
#include <vector>

namespace modulelens::engine {

/// Who allocates: an operator of a module call, or a row of the training step.
struct TimelineRow {
    std::string module;                       ///< Relative to the program, "" for itself.
    int call = 0;
    std::string name;
};

/// Writes histories as docs/formats/memory-timeline.md says. `rows` go by MemoryEvent::row; `training` may be null. Blocks on disk.
[[nodiscard]] base::Result<void> writeMemoryTimeline(const std::filesystem::path& file, const std::vector<TimelineRow>& rows,
                                                     const MemoryHistory& forward, const MemoryHistory* training);

}  // namespace modulelens::engine
