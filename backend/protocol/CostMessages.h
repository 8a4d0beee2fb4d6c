// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// FLOPs and bytes in the result of the method profile (docs/formats/worker-protocol.md).
namespace modulelens::protocol {

/// All calls of one operator.
struct OperatorTotal {
    std::string name;                        ///< "aten::addmm".
    std::string coverage;                    ///< "counted", "zero", "unknown".
    std::int64_t calls = 0;
    std::int64_t flops = 0;
    std::optional<std::int64_t> bytes;
    std::optional<std::int64_t> otherFlops;  ///< Bias, norm, activation, ...
    std::optional<std::int64_t> latencyNs;
};

/// An operator that two ways of counting count differently.
struct FlopDifference {
    std::string name;
    std::optional<std::int64_t> observed;    ///< Absent where it does not occur or is unknown.
    std::optional<std::int64_t> other;
    std::string reason;
};

struct CostSummary {
    std::optional<std::int64_t> bytes;
    bool isLowerBound = false;               ///< Some operator is unknown: every FLOP total is a lower bound.
    std::string causalConvention;            ///< "dense": a causal mask saves nothing. Empty: FLOPs were not counted.
    std::optional<std::int64_t> causalExactFlops;   ///< The total with what a causal mask hides left out.
    std::optional<std::int64_t> allOperationsFlops; ///< The total with bias, norm, activation and the like.
    std::optional<std::int64_t> staticFlops;        ///< From the graph alone, before anything ran.
    std::vector<FlopDifference> staticDifference;   ///< Where the graph alone counts otherwise than the run.
    std::vector<OperatorTotal> operators;           ///< By name.
    std::optional<std::int64_t> torchFlops;         ///< What torch's own counter said at the capture.
    std::string torchVersion;                       ///< That torch's.
    std::vector<FlopDifference> torchDifference;    ///< By family of operators.
};

}  // namespace modulelens::protocol
