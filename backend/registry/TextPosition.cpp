// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/TextPosition.h"

#include "backend/registry/NameFolding.h"

#include <algorithm>

namespace modulelens::registry {

base::Error errorAt(std::string_view text, std::size_t offset, const std::string& problem, std::string fix) {
    offset = std::min(offset, text.size());
    std::size_t characters = 0;
    std::string shown;
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint point = decodeUtf8(text, i);
        if (i < offset) {
            ++characters;
        }
        if (!point.valid || point.value < 0x20 || point.value == 0x7F) {
            shown += point.valid ? ' ' : '?';
        } else {
            shown.append(text.substr(i, point.sizeBytes));
        }
        i += point.sizeBytes;
    }
    base::Error error;
    error.code = base::ErrorCode::InvalidArgument;
    error.message = problem + " at character " + std::to_string(characters + 1) + ":\n    " + shown + "\n    " +
                    std::string(characters, ' ') + "^";
    error.fix = std::move(fix);
    return error;
}

std::size_t findInvalidUtf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint point = decodeUtf8(text, i);
        if (!point.valid) {
            return i;
        }
        i += point.sizeBytes;
    }
    return std::string_view::npos;
}

}  // namespace modulelens::registry
