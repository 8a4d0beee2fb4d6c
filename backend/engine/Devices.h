// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/WorkerMessages.h"

#include <string>
#include <vector>

namespace modulelens::engine {

/// The CPU and every accelerator that this build of LibTorch can use. Reads /proc/cpuinfo.
[[nodiscard]] std::vector<protocol::DeviceInfo> listDevices();

/// "highest", "high" or "medium": torch.get_float32_matmul_precision() of this process.
[[nodiscard]] std::string float32MatmulPrecision();

}  // namespace modulelens::engine
