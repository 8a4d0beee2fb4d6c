// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Parts of the method validate (docs/formats/worker-protocol.md).
namespace modulelens::protocol {

/// Errors of one leaf against the same computation in float64.
struct OracleLeaf {
    std::string verdict;                     ///< "pass", "fail", or empty when there is none.
    std::string reason;                      ///< Why there is none.
    std::optional<double> errorOurs;         ///< Largest difference of this run's values from the oracle's.
    std::optional<double> errorCaptured;     ///< Largest difference of the captured values from the oracle's.
    std::optional<double> bound;             ///< What errorOurs may be: factor * errorCaptured + eps * largest value.
};

/// Numbers of one compared leaf beyond the largest differences.
struct LeafStatistics {
    std::string failedCheck;                 ///< "structure", "non_finite", "values", "write"; empty when none failed.
    std::optional<std::int64_t> maxUlp;      ///< Largest distance in representable numbers; floating types only.
    std::optional<double> cosine;            ///< Of all finite elements as vectors; absent when one is zero.
    std::optional<double> normRelativeError; ///< Norm of the difference by the norm of the expected values.
    std::vector<std::int64_t> firstBadIndex;  ///< First element outside the tolerance, in memory order of a contiguous tensor.
    std::int64_t nanExpected = 0;
    std::int64_t nanGot = 0;
    std::int64_t nanMismatched = 0;  ///< Places where one side alone is NaN.
    std::int64_t infiniteExpected = 0;
    std::int64_t infiniteGot = 0;
    std::int64_t infiniteMismatched = 0;  ///< Places where one side is infinite and the other not the same infinity.
    std::optional<double> spread;  ///< Largest difference between the repeated runs; absent when not repeated.
    std::optional<double> referenceSpread;  ///< The same between captured calls of one input; absent when there is one call.
    std::optional<OracleLeaf> oracle;
};

/// What repeating the run showed.
struct RepeatResult {
    int runs = 1;  ///< The compared run included.
    bool isNondeterministic = false;  ///< Some run gave other bits.
    bool isStochastic = false;  ///< The run drew random numbers whose generator state was not captured.
    std::optional<double> spread;  ///< Largest over the leaves.
    int referenceRuns = 1;  ///< Captured calls with the same inputs.
    std::optional<double> referenceSpread;
};

/// The same computation in float64.
struct OracleResult {
    std::string verdict;  ///< "pass" or "fail" over the leaves that have one, else empty.
    std::string reason;  ///< Why there is none.
    std::string dtype = "float64";
    double factor = 2;  ///< How many times the captured error ours may be.
};

}  // namespace modulelens::protocol
