// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace modulelens::base {

/// What went wrong, as far as a caller or a person would act differently.
/// Exit codes and JSON-RPC codes are derived from these in backend/protocol/ErrorTable.h.
enum class ErrorCode {
    Cancelled,           ///< The user or a caller asked to stop.
    InvalidArgument,     ///< The request is malformed; repeating it cannot help.
    NotFound,            ///< The named thing does not exist.
    AlreadyExists,       ///< A thing of that name exists and may not be replaced.
    PermissionDenied,    ///< The operating system refused access.
    Corrupt,             ///< Data is damaged, cut or does not match its digest.
    Unsupported,         ///< Data or a request is well formed, but this build cannot handle it.
    Unavailable,         ///< A network service cannot be reached or refuses the sign-in.
    Timeout,             ///< A time limit was reached.
    WorkerCrashed,       ///< The worker process died or answered garbage.
    OutOfMemory,         ///< Host or device memory is exhausted.
    StorageFull,         ///< No space is left where data must be written.
    ConsentNeeded,       ///< Code would run that the user has not allowed yet.
    EnvironmentMissing,  ///< A program, library or device that the request needs is not there.
    Internal,            ///< A fault of ModuleLens itself.
};

/// The stable lower-case spelling of `code`, such as "not_found"; used in JSON.
[[nodiscard]] std::string_view errorCodeName(ErrorCode code);

/// An error as a value. `message` is one sentence that says what failed and where; `fix` is one
/// sentence that says what to do about it, or empty when there is nothing to add.
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string message;
    std::string fix;

    /// The same error with `where` put before the message ("importing a.mlens: ...").
    [[nodiscard]] Error within(std::string_view where) const;
    /// Message and fix as one text for a person; the fix is a line of its own below a message of several lines.
    [[nodiscard]] std::string text() const;
};

}  // namespace modulelens::base
