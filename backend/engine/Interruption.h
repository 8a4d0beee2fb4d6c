// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace modulelens::engine {

/// Turns a stop token and a time limit into the one flag that the executor looks at between two operators, and tells
/// OperatorStop. Thread-safe.
class Interruption {
public:
    Interruption(std::stop_token stop, std::optional<std::int64_t> timeoutMs);
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    [[nodiscard]] const std::atomic<bool>& flag() const { return m_flag; }
    /// A Cancelled error that the time limit caused, as Timeout; any other error as it is.
    [[nodiscard]] base::Error explain(base::Error error) const;

private:
    struct SetFlag {
        std::atomic<bool>* flag;
        void operator()() const noexcept;
    };

    void waitForLimit(const std::stop_token& finished, std::int64_t timeoutMs);

    std::atomic<bool> m_flag{false};
    std::atomic<bool> m_isTimedOut{false};
    std::optional<std::int64_t> m_timeoutMs;
    std::optional<std::stop_callback<SetFlag>> m_callback;
    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    std::jthread m_timer;
};

}  // namespace modulelens::engine
