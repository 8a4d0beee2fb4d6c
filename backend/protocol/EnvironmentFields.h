// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/MessageFields.h"

/// Wire names of the measuring environment, which several results hold. For the .cpp files of messages only.
namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<MeasuringEnvironment> message) {
    visit.required("host", message.host);
    visit.required("device", message.device);
    visit.optional("device_name", message.deviceName);
    visit.optional("device_uuid", message.deviceUuid);
    visit.optional("driver", message.driver);
    visit.optional("clock_locked", message.clockLocked);
    visit.optional("clock_hz_before", message.clockHzBefore);
    visit.optional("clock_hz_after", message.clockHzAfter);
    visit.optional("governor", message.governor);
    visit.optional("throttle_reasons", message.throttleReasons);
    visit.optional("power_limit_watts", message.powerLimitWatts);
    visit.optional("cpus", message.cpus);
    visit.optional("load_average", message.loadAverage);
    visit.optional("other_cpus", message.otherCpus);
    visit.optional("other_device_processes", message.otherDeviceProcesses);
    visit.optional("memory_available_bytes", message.memoryAvailableBytes);
    visit.optional("last_level_cache_bytes", message.lastLevelCacheBytes);
    visit.required("threads", message.threads);
    visit.required("interop_threads", message.interopThreads);
    visit.required("torch_version", message.torchVersion);
    visit.required("float32_matmul_precision", message.float32MatmulPrecision);
    visit.optional("reduced_precision_reduction", message.reducedPrecisionReduction);
    visit.optional("deterministic_algorithms", message.deterministicAlgorithms);
}

}  // namespace modulelens::protocol
