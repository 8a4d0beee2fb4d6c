// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <string_view>
#include <type_traits>

namespace modulelens::base {

/// Turns the exception being handled into an Error: std::bad_alloc is OutOfMemory, a filesystem error is mapped by its
/// errno (see errorFromErrno), anything else is Internal. Requires: called inside a catch block.
[[nodiscard]] Error errorFromCurrentException(std::string_view where) noexcept;

/// Runs `body`, which may throw and returns Result<T> (or T), and returns its result; an exception becomes an Error
/// whose message begins with `where`. This is the one place where exceptions of libraries are met.
template <class Body>
[[nodiscard]] auto guarded(std::string_view where, Body&& body) noexcept {
    using Returned = std::invoke_result_t<Body>;
    if constexpr (requires(Returned r) { r.hasValue(); }) {
        try {
            return Returned(std::forward<Body>(body)());
        } catch (...) {
            return Returned(errorFromCurrentException(where));
        }
    } else if constexpr (std::is_void_v<Returned>) {
        try {
            std::forward<Body>(body)();
            return Result<void>();
        } catch (...) {
            return Result<void>(errorFromCurrentException(where));
        }
    } else {
        try {
            return Result<Returned>(std::forward<Body>(body)());
        } catch (...) {
            return Result<Returned>(errorFromCurrentException(where));
        }
    }
}

}  // namespace modulelens::base
