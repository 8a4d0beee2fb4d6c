// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/PercentEncoding.h"

namespace modulelens::base {

std::string percentEncoded(std::string_view text, std::string_view plain) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string result;
    result.reserve(text.size());
    for (const char c : text) {
        const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                             c == '.' || c == '_' || c == '~' || plain.find(c) != std::string_view::npos;
        if (isPlain) {
            result += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            result += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
        }
    }
    return result;
}

}  // namespace modulelens::base
