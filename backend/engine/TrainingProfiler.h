// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/engine/Engine.h"
#include "backend/engine/ProfileTree.h"
#include "backend/engine/TrainingRun.h"
#include "backend/protocol/WorkerMessages.h"

#include <vector>

namespace modulelens::engine {

/// A training step in numbers: the totals, and what the tree shows of it.
struct TrainingProfile {
    protocol::TrainingResult result;
    std::vector<BackwardNumbers> steps;              ///< By step id; empty when the pass could not run.
    std::vector<std::optional<std::int64_t>> trainingPeak;   ///< Likewise.
    std::vector<TrainingRow> rows;
    std::vector<OwnBytes> gradients;
};

/// Runs the passes over backward, and over the optimizer when `params` names one. What cannot be differentiated leaves its numbers
/// unknown, with the reason. Throws Failure (Cancelled).
[[nodiscard]] TrainingProfile profileTraining(CallBinding& binding, const protocol::ProfileParams& params,
                                              const std::atomic<bool>& stop, const JobContext& job);

/// Bytes of the gradients that the last run left, each storage once, by the module that owns the parameter; inputs belong to the root.
[[nodiscard]] std::vector<OwnBytes> gradientBytes(const TrainingRun& run, std::int64_t& total);

/// What the rows of a training step beyond the plan's steps are called.
[[nodiscard]] TrainingRow describeRow(const TrainingRows& rows, int row, const Optimizer* optimizer);

}  // namespace modulelens::engine
