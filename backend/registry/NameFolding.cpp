// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/NameFolding.h"

#include <algorithm>
#include <numeric>

namespace modulelens::registry {

namespace {

constexpr std::size_t kMaxComparedBytes = 512;

char32_t lowerCase(char32_t c) {
    const bool basic = (c >= U'A' && c <= U'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7);
    const bool greek = c >= 0x391 && c <= 0x3A9 && c != 0x3A2;
    const bool cyrillic = c >= 0x410 && c <= 0x42F;
    if (basic || greek || cyrillic) {
        return c + 32;
    }
    if (c >= 0x400 && c <= 0x40F) {
        return c + 80;
    }
    // Latin Extended-A: pairs of upper and lower case, upper even in most of the block and odd in two runs.
    const bool upperEven = (c >= 0x100 && c <= 0x137 && c != 0x130) || (c >= 0x14A && c <= 0x177);
    const bool upperOdd = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
    if ((upperEven && c % 2 == 0) || (upperOdd && c % 2 == 1)) {
        return c + 1;
    }
    return c;
}

/// Every letter that lowerCase() changes, and what it becomes, takes one or two bytes.
void appendUtf8(std::string& out, char32_t c) {
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else {
        out += static_cast<char>(0xC0 | (c >> 6));
        out += static_cast<char>(0x80 | (c & 0x3F));
    }
}

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

CodePoint decodeUtf8(std::string_view text, std::size_t offset) {
    const auto byteAt = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byteAt(offset);
    if (first < 0x80) {
        return {first, 1, true};
    }
    std::size_t size = 0;
    char32_t smallest = 0;
    char32_t value = 0;
    if ((first & 0xE0) == 0xC0) {
        size = 2;
        smallest = 0x80;
        value = first & 0x1F;
    } else if ((first & 0xF0) == 0xE0) {
        size = 3;
        smallest = 0x800;
        value = first & 0x0F;
    } else if ((first & 0xF8) == 0xF0) {
        size = 4;
        smallest = 0x10000;
        value = first & 0x07;
    } else {
        return {};
    }
    if (offset + size > text.size()) {
        return {};
    }
    for (std::size_t i = 1; i < size; ++i) {
        const unsigned char next = byteAt(offset + i);
        if ((next & 0xC0) != 0x80) {
            return {};
        }
        value = (value << 6) | (next & 0x3F);
    }
    if (value < smallest || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        return {};
    }
    return {value, size, true};
}

std::string foldCase(std::string_view text) {
    std::string folded;
    folded.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint point = decodeUtf8(text, i);
        const char32_t lower = point.valid ? lowerCase(point.value) : point.value;
        if (point.valid && lower != point.value) {
            appendUtf8(folded, lower);
        } else {
            folded.append(text.substr(i, point.sizeBytes));
        }
        i += point.sizeBytes;
    }
    return folded;
}

std::string naturalSortKey(std::string_view text) {
    const std::string folded = foldCase(text);
    std::string key;
    for (std::size_t i = 0; i < folded.size();) {
        if (!isDigit(folded[i])) {
            key += folded[i];
            ++i;
            continue;
        }
        std::size_t end = i;
        while (end < folded.size() && isDigit(folded[end])) {
            ++end;
        }
        std::size_t begin = i;
        while (begin + 1 < end && folded[begin] == '0') {
            ++begin;
        }
        // A number sorts by how many digits it has, then by the digits. The count is a digit character first, so that
        // numbers keep their place among letters.
        const std::size_t digits = std::min<std::size_t>(end - begin, 99);
        key += static_cast<char>('0' + digits / 10);
        key += static_cast<char>('0' + digits % 10);
        key.append(folded, begin, end - begin);
        i = end;
    }
    return key;
}

std::optional<std::string> nearestName(std::string_view wanted, const std::vector<std::string>& candidates) {
    const std::string folded = foldCase(wanted.substr(0, kMaxComparedBytes));
    std::optional<std::string> best;
    std::size_t bestDistance = std::max<std::size_t>(2, folded.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        const std::string other = foldCase(std::string_view(candidate).substr(0, kMaxComparedBytes));
        const std::size_t longer = std::max(other.size(), folded.size());
        const std::size_t shorter = std::min(other.size(), folded.size());
        // A name that begins with what was written is near however long it is, but no nearer than a misspelling.
        if (!folded.empty() && other.starts_with(folded) && !best) {
            best = candidate;
        }
        if (longer - shorter >= bestDistance) {
            continue;
        }
        const std::size_t distance = editDistance(folded, other);
        if (distance < bestDistance) {
            bestDistance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace modulelens::registry
