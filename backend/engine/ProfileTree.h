// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/Program.h"
#include "backend/profile/Profile.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::engine {

/// Work in the backward pass.
struct BackwardNumbers {
    std::optional<std::int64_t> latencyNs;
    std::optional<std::int64_t> flops;
    std::optional<std::int64_t> bytes;
};

/// What the passes found about one executed node.
struct OperatorNumbers {
    int scope = 0;                            ///< In Program::scopes.
    std::string name;
    std::optional<std::int64_t> latencyNs;
    std::optional<std::int64_t> flops;
    std::optional<std::int64_t> bytes;
    std::optional<std::int64_t> peakBytes;
    std::optional<std::int64_t> highWaterBytes;
    std::optional<std::int64_t> activationBytes;
    std::optional<std::int64_t> trainingPeakBytes;
    BackwardNumbers backward;
};

/// Bytes that belong to a module itself, each storage once.
struct OwnBytes {
    std::string module;
    std::int64_t bytes = 0;
};

/// Work of a training step that no operator of the program explains, as a row below `module`.
struct TrainingRow {
    std::string module;                       ///< "" for the root.
    std::string name;
    bool isOperator = false;                  ///< Else a row of what nothing explains.
    std::optional<std::int64_t> trainingPeakBytes;
    BackwardNumbers backward;
};

struct ProfileInput {
    std::string rootName;
    std::vector<OperatorNumbers> operators;   ///< In order of execution.
    std::vector<TrainingRow> trainingRows;
    std::vector<OwnBytes> parameters;
    std::vector<OwnBytes> buffers;
    std::vector<OwnBytes> gradients;
    std::optional<std::int64_t> plainNs;      ///< Median of the plain runs: the root's latency.
    std::vector<std::int64_t> plainSamples;
    std::vector<std::int64_t> backwardSamples;
    profile::CoverageLists coverage;
    std::map<std::string, std::string> facts;
};

/// The profile tree: the exported module calls with their containers, and below each module its operators. What the
/// operators' times do not explain of the plain run is a row of its own below the root; so are the training rows. Pure.
[[nodiscard]] base::Result<std::shared_ptr<const profile::Profile>> makeProfile(const graph::Program& program,
                                                                                const ProfileInput& input);

/// The middle value, of an even number the mean of the two in the middle. Requires: not empty.
[[nodiscard]] std::int64_t median(std::vector<std::int64_t> values);

}  // namespace modulelens::engine
