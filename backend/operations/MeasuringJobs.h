// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Benchmarking.h"
#include "backend/operations/JobQueue.h"
#include "backend/operations/Sweep.h"
#include "backend/operations/Verifying.h"

#include <functional>
#include <string>

/// Jobs of the queue that measure more than a profile does.
namespace modulelens::operations {

/// Times one version; statistics and flags are lines of the job's log. As with the jobs of JobQueue.h, `operations` must
/// outlive the queue, and `done` (may be empty) receives the result on the queue's thread.
[[nodiscard]] JobRequest benchmarkJob(Operations& operations, const std::string& addressOrId, const BenchmarkSettings& settings,
                                      std::function<void(const base::Result<BenchmarkReport>&)> done);

/// Times one version at several sizes; every point is a line of the job's log.
[[nodiscard]] JobRequest sweepJob(Operations& operations, const std::string& addressOrId, const SweepSettings& settings,
                                  std::function<void(const base::Result<SweepReport>&)> done);

/// Verifies an edit of a version (Verifying.h); the log has the difference of the source. `settings.run.isTrusted` holds for
/// the first run alone, not for a rerun.
[[nodiscard]] JobRequest verifyJob(Operations& operations, const std::string& addressOrId, const VerifySettings& settings,
                                   std::function<void(const base::Result<VerifyReport>&)> done);

/// "batch = 8: 1.24 ms, 6452 items/s, peak 3.1 MB", or why the point has no numbers.
[[nodiscard]] std::string sweepPointSentence(const SweepReport& report, const SweepPoint& point);

} // namespace modulelens::operations
