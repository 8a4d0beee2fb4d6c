// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// What a run asks of the device's allocator, event by event. Inputs, weights and what was there before do not count.
namespace modulelens::engine {

enum class MemoryPhase : std::uint8_t { Forward, Loss, Backward, Optimizer };

/// One allocation or release.
struct MemoryEvent {
    std::int64_t timeNs = 0;                  ///< Since the run began.
    std::int64_t bytes = 0;                   ///< Negative: released.
    std::int64_t alive = 0;                   ///< Bytes alive after it.
    int row = 0;                              ///< Who did it: a step id, or a row of TrainingRows.
    int block = 0;                            ///< The same number in an allocation and its release.
    MemoryPhase phase = MemoryPhase::Forward;
};

struct MemoryHistory {
    std::vector<MemoryEvent> events;
    std::int64_t peakBytes = 0;
    std::size_t peakEvent = 0;                ///< The event that reached it; meaningless without events.
    std::vector<std::int64_t> atPeak;         ///< By row: bytes allocated by it and alive at the peak; sums to the peak.
    std::vector<std::int64_t> highWater;      ///< By row: the most that was alive while it ran.
    std::optional<std::int64_t> reservedPeakBytes;   ///< Of an allocator that keeps a reserve.
    std::optional<std::int64_t> deviceUsedBytes;     ///< What the driver says is used after the run, by all processes.

    /// The most that was alive up to the end of backward, so without the optimizer.
    [[nodiscard]] std::int64_t peakBeforeOptimizer() const;
};

}  // namespace modulelens::engine
