// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Device.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace modulelens::engine {

/// Times spans of work on an accelerator's current stream by its own events. The CPU has no clock of its own.
/// Confined to its thread.
class DeviceClock {
public:
    explicit DeviceClock(c10::Device device);
    ~DeviceClock();
    DeviceClock(const DeviceClock&) = delete;
    DeviceClock& operator=(const DeviceClock&) = delete;

    [[nodiscard]] bool isPresent() const { return m_events != nullptr; }
    /// Why there is none.
    [[nodiscard]] const std::string& reason() const { return m_reason; }

    /// Mark the begin and the end of a span in the stream. Nothing without a clock. Throw c10::Error.
    void start();
    void stop();
    /// Nanoseconds of the last span. Requires: the device was waited for after stop().
    [[nodiscard]] std::optional<std::int64_t> elapsedNs();

private:
    struct Events;
    c10::Device m_device;
    std::unique_ptr<Events> m_events;
    std::string m_reason;
};

/// Nanoseconds that reading the host's clock takes.
[[nodiscard]] std::int64_t timerCostNs();
/// Nanoseconds of calling an operator that does nothing, through the dispatcher as the executor does.
[[nodiscard]] std::int64_t nullOperatorCostNs(c10::Device device);

}  // namespace modulelens::engine
