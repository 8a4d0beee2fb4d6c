// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/profile/Statistics.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

/// The measuring loop: which side runs when, and when it is enough. It knows no module, no device and no clock of its own,
/// so that a worker times runs with it and a client times turns of two workers.
namespace modulelens::profile {

/// One timed run.
struct Timing {
    std::int64_t hostNs = 0;
    std::optional<std::int64_t> deviceNs;
};

/// Runs a side once through exactly the code that is timed.
using TimedRun = std::function<base::Result<Timing>()>;

struct MeasurementPlan {
    int repetitions = 50;                      ///< Samples of each side.
    std::int64_t budgetNs = 3'000'000'000;  ///< Ends the samples early, never below three; the warm-up may take half of it.
    std::optional<int> warmupRuns;  ///< Absent: until the times are steady.
    std::uint64_t seed = 0;  ///< Decides the order in each round.
};

/// Where the loop gets the time from, and what it tells.
struct MeasurementHooks {
    std::function<std::int64_t()> clockNs;  ///< Steady; decides about the budget alone.
    /// Stage, steps done, steps in all. May be empty.
    std::function<void(std::string_view, std::int64_t, std::int64_t)> progress;
};

struct MeasuredSide {
    std::vector<std::int64_t> hostNs;  ///< In the order of measuring.
    std::vector<std::int64_t> deviceNs;  ///< As long as hostNs, or empty when the device has no clock.
    std::vector<std::int64_t> order;  ///< Place of each sample among all timed runs, from 0.
    std::int64_t firstCallNs = 0;
    int warmupRuns = 0;  ///< The first call included.
    bool isWarmupCapped = false;  ///< The times were not steady when the warm-up had to end.
};

struct Measurement {
    std::vector<MeasuredSide> sides;
    /// Two sides: the first one measured once more in each round, for the band of the session. Else empty.
    MeasuredSide again;
};

/// Measures one or two sides. Of two, each round runs first, second and first again in an order drawn from the seed, so that
/// whatever changes meanwhile meets all of them. The first error of a run ends it. Requires: one or two sides, a clock.
[[nodiscard]] base::Result<Measurement> measure(const std::vector<TimedRun>& sides, const MeasurementPlan& plan,
                                                const MeasurementHooks& hooks);

}  // namespace modulelens::profile
