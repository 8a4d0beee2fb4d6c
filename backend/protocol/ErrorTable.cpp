// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/ErrorTable.h"

#include <algorithm>
#include <array>

namespace modulelens::protocol {

namespace {

using base::ErrorCode;

constexpr std::array kTable = {
    ErrorRow{ErrorCode::Cancelled, 130, -32800, ""},
    ErrorRow{ErrorCode::InvalidArgument, 2, -32602, ""},
    ErrorRow{ErrorCode::NotFound, 3, -32001, ""},
    ErrorRow{ErrorCode::AlreadyExists, 2, -32002, ""},
    ErrorRow{ErrorCode::PermissionDenied, 10, -32003, "Check who owns the file or folder and its permissions."},
    ErrorRow{ErrorCode::Corrupt, 9, -32004, "Capture or copy the data again."},
    ErrorRow{ErrorCode::Unsupported, 9, -32005, ""},
    ErrorRow{ErrorCode::Unavailable, 13, -32006, "Check the network connection and the sign-in, then try again."},
    ErrorRow{ErrorCode::Timeout, 8, -32007, "Allow more time with --timeout."},
    ErrorRow{ErrorCode::WorkerCrashed, 11, -32008, "Try again; the worker is started anew."},
    ErrorRow{ErrorCode::OutOfMemory, 11, -32009, "Close other programs, or choose a smaller module or another device."},
    ErrorRow{ErrorCode::StorageFull, 10, -32010, "Free some space, then try again."},
    ErrorRow{ErrorCode::ConsentNeeded, 12, -32011, "Read the source, then allow it to run."},
    ErrorRow{ErrorCode::EnvironmentMissing, 7, -32012, ""},
    ErrorRow{ErrorCode::Internal, 1, -32603, "This is a fault of ModuleLens; please report it with the message."},
};

const ErrorRow& row(ErrorCode code) {
    const auto found =
        std::find_if(kTable.begin(), kTable.end(), [code](const ErrorRow& candidate) { return candidate.code == code; });
    return found == kTable.end() ? kTable.back() : *found;
}

} // namespace

std::span<const ErrorRow> errorTable() {
    return kTable;
}

int exitCode(ErrorCode code) {
    return row(code).exitCode;
}

int jsonRpcCode(ErrorCode code) {
    return row(code).jsonRpcCode;
}

std::string_view defaultAdvice(ErrorCode code) {
    return row(code).advice;
}

ErrorCode errorCodeFromJsonRpc(int code) {
    switch (code) {
        case -32700: // Parse error
        case -32600: // Invalid request
            return ErrorCode::Corrupt;
        case -32601: // Method not found
            return ErrorCode::Unsupported;
        default:
            break;
    }
    const auto found =
        std::find_if(kTable.begin(), kTable.end(), [code](const ErrorRow& candidate) { return candidate.jsonRpcCode == code; });
    return found == kTable.end() ? ErrorCode::Internal : found->code;
}

} // namespace modulelens::protocol
