// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace modulelens::registry {

/// InvalidArgument whose message says `problem`, the place as a character count from 1, and below it the text with a caret
/// under that character. `offset` is in bytes and may equal the length (the end of the text).
[[nodiscard]] base::Error errorAt(std::string_view text, std::size_t offset, const std::string& problem, std::string fix);

/// Offset of the first byte that is not part of a well-formed UTF-8 sequence, or npos.
[[nodiscard]] std::size_t findInvalidUtf8(std::string_view text);

}  // namespace modulelens::registry
