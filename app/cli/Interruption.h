// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

namespace modulelens::cli {

/// Turns Ctrl-C, SIGTERM and the time limit into a stop request; a second signal ends the process at once.
/// One for the process. Thread-safe.
class Interruption {
public:
    explicit Interruption(std::optional<std::chrono::milliseconds> timeout);
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    [[nodiscard]] std::stop_token token() const { return m_stop.get_token(); }
    /// The error with Cancelled turned into Timeout when the time limit was what stopped the work.
    [[nodiscard]] base::Error explained(base::Error error) const;

private:
    void watch(std::optional<std::chrono::milliseconds> timeout);

    std::stop_source m_stop;
    std::atomic<bool> m_timedOut = false;
    std::thread m_watcher;
};

} // namespace modulelens::cli
