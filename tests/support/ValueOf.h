// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <stdexcept>
#include <utility>

namespace modulelens::test {

/// The value of `result`. Throws std::runtime_error with the error's sentence, which ends the test.
template <class T>
T valueOf(base::Result<T> result) {
    if (!result) {
        throw std::runtime_error(result.error().text());
    }
    return std::move(result).value();
}

}  // namespace modulelens::test
