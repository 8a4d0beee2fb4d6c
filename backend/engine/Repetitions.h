// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Engine.h"
#include "backend/engine/Modes.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace modulelens::engine {

inline constexpr int kFewestRepetitions = 3;

/// A number of repetitions, cut short when the time is up, but never below a few. Immutable after construction.
class Budget {
public:
    Budget(int repetitions, std::int64_t budgetMs)
        : m_repetitions(std::max(repetitions, 1)),
          m_end(Clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(budgetMs, 0))) {}

    [[nodiscard]] bool allows(int done) const {
        return done < m_repetitions && (done < kFewestRepetitions || Clock::now() < m_end);
    }

private:
    using Clock = std::chrono::steady_clock;
    int m_repetitions;
    Clock::time_point m_end;
};

/// For the handler that caught `failure`: throws it again when no further pass makes sense, rather than to name it as the reason
/// why a number is unknown.
inline void rethrowIfFatal(const Failure& failure, c10::Device device) {
    const base::ErrorCode code = failure.error().code;
    if (code == base::ErrorCode::Cancelled || code == base::ErrorCode::OutOfMemory || isLost(device)) {
        throw;
    }
}

inline void report(const JobContext& job, std::string_view stage, std::int64_t done, std::int64_t total) {
    if (job.progress) {
        job.progress(stage, done, total);
    }
}

}  // namespace modulelens::engine
