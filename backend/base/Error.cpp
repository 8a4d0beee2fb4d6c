// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Error.h"

namespace modulelens::base {

std::string_view errorCodeName(ErrorCode code) {
    switch (code) {
        case ErrorCode::Cancelled:
            return "cancelled";
        case ErrorCode::InvalidArgument:
            return "invalid_argument";
        case ErrorCode::NotFound:
            return "not_found";
        case ErrorCode::AlreadyExists:
            return "already_exists";
        case ErrorCode::PermissionDenied:
            return "permission_denied";
        case ErrorCode::Corrupt:
            return "corrupt";
        case ErrorCode::Unsupported:
            return "unsupported";
        case ErrorCode::Unavailable:
            return "unavailable";
        case ErrorCode::Timeout:
            return "timeout";
        case ErrorCode::WorkerCrashed:
            return "worker_crashed";
        case ErrorCode::OutOfMemory:
            return "out_of_memory";
        case ErrorCode::StorageFull:
            return "storage_full";
        case ErrorCode::ConsentNeeded:
            return "consent_needed";
        case ErrorCode::EnvironmentMissing:
            return "environment_missing";
        case ErrorCode::Internal:
            return "internal";
    }
    return "internal";
}

Error Error::within(std::string_view where) const {
    Error outer = *this;
    outer.message.insert(0, ": ");
    outer.message.insert(0, where);
    return outer;
}

std::string Error::text() const {
    if (fix.empty()) {
        return message;
    }
    if (message.find('\n') != std::string::npos) {
        return message + "\n" + fix;
    }
    const bool hasStop = !message.empty() && (message.back() == '.' || message.back() == '!' || message.back() == '?');
    return message + (hasStop ? " " : ". ") + fix;
}

}  // namespace modulelens::base
