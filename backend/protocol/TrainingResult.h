// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::protocol {

/// What a profile says of the backward pass and of the optimizer. An absent number is unknown, never 0.
struct TrainingResult {
    std::string loss;                               ///< What was differentiated: "sum of the outputs".
    std::optional<std::int64_t> forwardNs;          ///< Median with autograd on.
    std::optional<std::int64_t> backwardNs;         ///< Median of plain backward passes.
    std::optional<std::int64_t> optimizerNs;
    std::optional<std::int64_t> stepNs;             ///< Median of the whole steps.
    std::vector<std::int64_t> stepSamplesNs;        ///< In order.
    std::vector<std::int64_t> backwardSamplesNs;
    std::optional<std::int64_t> nodeSumNs;          ///< Inside autograd nodes, of the timed passes.
    std::optional<std::int64_t> summationNs;        ///< Adding up gradients of values with several readers.
    std::optional<std::int64_t> flops;              ///< Of the backward pass that really ran.
    std::optional<std::int64_t> peakBytes;          ///< Forward and backward, gradients undefined at the start.
    std::optional<std::int64_t> stepPeakBytes;      ///< With the optimizer's first step.
    std::optional<std::int64_t> gradientBytes;
    std::string optimizer;                          ///< As asked for, or empty.
    std::optional<std::int64_t> optimizerStateBytes;
    std::string optimizerStateFormula;
    std::vector<std::string> counted;               ///< FLOP coverage of the backward pass.
    std::vector<std::string> zero;
    std::vector<std::string> unknown;
    std::map<std::string, std::string> reasons;     ///< "backward", "flops", "optimizer" to why it is unknown.
};

}  // namespace modulelens::protocol
