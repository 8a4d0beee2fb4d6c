// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"

#include <string_view>

namespace modulelens::protocol {

/// The one table from error code to process exit code (DESIGN §10), JSON-RPC error code and default advice.
/// Exit codes: 0 ok, 1 internal, 2 usage or already exists, 3 not found, 4 validation mismatch, 7 environment, 8 timeout,
/// 9 corrupt or unsupported input, 10 storage, 11 worker died or out of memory, 12 consent needed, 13 network or sign-in,
/// 14 regression, 130 cancelled.
[[nodiscard]] int exitCode(base::ErrorCode code);
[[nodiscard]] int jsonRpcCode(base::ErrorCode code);
/// Internal for a number that the table does not hold.
[[nodiscard]] base::ErrorCode errorCodeFromJsonRpc(int code);

}  // namespace modulelens::protocol
