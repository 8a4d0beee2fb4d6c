// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Interruption.h"

#include "backend/engine/OperatorStop.h"

#include <chrono>
#include <string>
#include <utility>

namespace modulelens::engine {

Interruption::Interruption(std::stop_token stop, std::optional<std::int64_t> timeoutMs)
    : m_timeoutMs(timeoutMs), m_callback(std::in_place, std::move(stop), SetFlag{&m_flag}) {
    if (timeoutMs) {
        m_timer = std::jthread([this](const std::stop_token& finished) { waitForLimit(finished, *m_timeoutMs); });
    }
}

Interruption::~Interruption() {
    // Whoever sets the flag has done so, or never will.
    m_callback.reset();
    if (m_timer.joinable()) {
        m_timer.request_stop();
        m_timer.join();
    }
    OperatorStop::withdraw();
}

void Interruption::SetFlag::operator()() const noexcept {
    flag->store(true, std::memory_order_relaxed);
    OperatorStop::request();
}

void Interruption::waitForLimit(const std::stop_token& finished, std::int64_t timeoutMs) {
    std::unique_lock lock(m_mutex);
    m_wake.wait_for(lock, finished, std::chrono::milliseconds(timeoutMs), [] { return false; });
    if (!finished.stop_requested()) {
        m_isTimedOut.store(true);
        SetFlag{&m_flag}();
    }
}

base::Error Interruption::explain(base::Error error) const {
    if (error.code != base::ErrorCode::Cancelled || !m_isTimedOut.load()) {
        return error;
    }
    return {base::ErrorCode::Timeout, "the run was stopped at its limit of " + std::to_string(*m_timeoutMs) + " ms",
            "Allow more time with --timeout."};
}

}  // namespace modulelens::engine
