// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"

#include <span>
#include <string_view>

namespace modulelens::protocol {

/// One row of the table from error code to process exit code (DESIGN §10), JSON-RPC error code and default advice.
/// Exit codes: 0 ok, 1 internal, 2 usage or already exists, 3 not found, 4 validation mismatch, 7 environment, 8 timeout,
/// 9 corrupt or unsupported input, 10 storage, 11 worker died or out of memory, 12 consent needed, 13 network or sign-in,
/// 14 regression, 130 cancelled.
struct ErrorRow {
    base::ErrorCode code;
    int exitCode;
    int jsonRpcCode;
    std::string_view advice;    ///< What to do when the error itself does not say; may be empty.
};

/// Every ErrorCode once.
[[nodiscard]] std::span<const ErrorRow> errorTable();

[[nodiscard]] int exitCode(base::ErrorCode code);
[[nodiscard]] int jsonRpcCode(base::ErrorCode code);
[[nodiscard]] std::string_view defaultAdvice(base::ErrorCode code);
/// Internal for a number that the table does not hold. The codes that JSON-RPC itself reserves are understood as well.
[[nodiscard]] base::ErrorCode errorCodeFromJsonRpc(int code);

/// Exit code of a comparison that did not end in `pass`; the question was answered, so there is no error.
inline constexpr int kExitMismatch = 4;

} // namespace modulelens::protocol
