// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/TrainingRun.h"
#include "backend/profile/Profile.h"

#include <cstdint>
#include <optional>
#include <vector>

/// Passes over the backward half of a training step. Each is a run of its own; vectors go by TrainingRows.
namespace modulelens::engine {

/// Time inside the autograd nodes of one run, by the row that they belong to. What is between them, the autograd engine itself, is in no
/// row: the wall time of the pass minus the sum.
struct BackwardTimes {
    std::vector<std::int64_t> ns;
    TrainingTimes wall;
};
[[nodiscard]] BackwardTimes timeBackward(TrainingRun& run, const std::atomic<bool>& stop);

/// Time that the autograd engine of one run spent in adding up gradients of values with several readers.
[[nodiscard]] std::int64_t timeSummation(TrainingRun& run, const std::atomic<bool>& stop);

/// FLOPs and bytes of the operators that backward really called.
struct BackwardCosts {
    std::vector<std::optional<std::int64_t>> flops;   ///< Absent: nothing known ran under the row.
    std::vector<std::optional<std::int64_t>> bytes;
    std::int64_t totalFlops = 0;
    profile::CoverageLists coverage;
};
[[nodiscard]] BackwardCosts countBackward(TrainingRun& run, const std::atomic<bool>& stop);

}  // namespace modulelens::engine
