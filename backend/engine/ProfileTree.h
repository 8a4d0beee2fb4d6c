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
};

/// Parameter bytes that belong to a module itself, each storage once.
struct OwnParameters {
    std::string module;
    std::int64_t bytes = 0;
};

struct ProfileInput {
    std::string rootName;
    std::vector<OperatorNumbers> operators;   ///< In order of execution.
    std::vector<OwnParameters> parameters;
    std::optional<std::int64_t> plainNs;      ///< Median of the plain runs: the root's latency.
    std::vector<std::int64_t> plainSamples;
    profile::CoverageLists coverage;
    std::map<std::string, std::string> facts;
};

/// The profile tree: the exported module calls with their containers, and below each module its operators. What the
/// operators' times do not explain of the plain run is a row of its own below the root. Pure.
[[nodiscard]] base::Result<std::shared_ptr<const profile::Profile>> makeProfile(const graph::Program& program,
                                                                                const ProfileInput& input);

/// The middle value, of an even number the mean of the two in the middle. Requires: not empty.
[[nodiscard]] std::int64_t median(std::vector<std::int64_t> values);

}  // namespace modulelens::engine
