// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// An accelerator that stands in for a GPU: "privateuseone:0" of every process that loads the library fake_device (a test
/// that links it, a worker started with it in LD_PRELOAD). Its memory is the host's, its operators run on the CPU, its
/// events are readings of the host's clock, its allocator counts and has a limit. Its graphs record operators and refuse, as
/// CUDA's do, the default stream and whatever the host would have to wait for. All functions are thread-safe.
///
/// A worker is told by the environment: MODULELENS_FAKE_DEVICE=CAPACITY_BYTES[,LAUNCHES_UNTIL_LOST[,EVENT_PERCENT]].
namespace modulelens::test::fakedevice {

struct Counts {
    std::int64_t launches = 0;                ///< Operators that ran on the device.
    std::int64_t copiesIn = 0;                ///< From the host to the device.
    std::int64_t copiesOut = 0;
    std::int64_t events = 0;                  ///< Recorded.
    std::int64_t recorded = 0;                ///< Operators that a graph took instead.
    std::int64_t replays = 0;                 ///< Of graphs.
    std::int64_t allocatedBytes = 0;
    std::int64_t allocatedPeakBytes = 0;
    std::int64_t reservedBytes = 0;
    std::int64_t reservedPeakBytes = 0;
};

[[gnu::visibility("default")]] Counts counts();
/// More than this fails as out of memory.
[[gnu::visibility("default")]] void setCapacity(std::int64_t bytes);
/// Events measure this part of what passed: the rest escapes them, as work on a stream of its own does.
[[gnu::visibility("default")]] void setEventPercent(int percent);
/// After so many more launches every call to the device fails, as after an illegal access on a GPU; -1: never.
[[gnu::visibility("default")]] void loseAfter(std::int64_t launches);

}  // namespace modulelens::test::fakedevice
