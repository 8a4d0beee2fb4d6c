// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/WorkerMessages.h"

#include <vector>

namespace modulelens::engine {

/// The CPU and every accelerator that this build of LibTorch can use. Reads /proc/cpuinfo.
[[nodiscard]] std::vector<protocol::DeviceInfo> listDevices();

}  // namespace modulelens::engine
