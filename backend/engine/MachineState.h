// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/BenchmarkMessages.h"

#include <c10/core/Device.h>
#include <cstdint>
#include <optional>
#include <string>

namespace modulelens::engine {

/// Size of the processor's last-level cache in bytes; absent when the system does not say.
[[nodiscard]] std::optional<std::int64_t> lastLevelCacheBytes();

/// Bytes that the system can give without swapping; absent when it does not say.
[[nodiscard]] std::optional<std::int64_t> availableMemoryBytes();

/// Processors that other processes kept busy, on average, since it was made. Confined to its thread.
class OtherLoad {
public:
    OtherLoad();
    /// Absent when the system does not say. Of less than 20 ms, what is ready to run now stands for the whole span.
    [[nodiscard]] std::optional<double> busyCpus() const;

private:
    std::optional<double> m_busySeconds;
    double m_ownSeconds;
    double m_wallSeconds;
};

/// Everything about this process, machine and `device` that a measurement is stored with, as it is now; `otherCpus` and
/// `clockHzAfter` are left to the end of the measurement. Reads /proc and /sys.
[[nodiscard]] protocol::MeasuringEnvironment measuringEnvironment(c10::Device device);

/// Name of this machine; empty when the system does not say.
[[nodiscard]] std::string hostName();

/// Clock of the processor now; absent when the system does not say.
[[nodiscard]] std::optional<std::int64_t> processorClockHz();

}  // namespace modulelens::engine
