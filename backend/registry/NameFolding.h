// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::registry {

/// One decoded character of a UTF-8 text.
struct CodePoint {
    char32_t value = 0;
    std::size_t sizeBytes = 1;   ///< At least 1, also when not valid.
    bool valid = false;
};

/// Decodes the character at `offset`. Requires: offset < text.size().
[[nodiscard]] CodePoint decodeUtf8(std::string_view text, std::size_t offset);

/// The text in lower case, for comparison: ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic letters. Other bytes,
/// broken UTF-8 included, stay as they are.
[[nodiscard]] std::string foldCase(std::string_view text);

/// Key whose byte order puts names as people expect: case ignored, "layers.2" before "layers.10".
[[nodiscard]] std::string naturalSortKey(std::string_view text);

/// The candidate nearest to `wanted` by edit distance, else one that begins with it, case ignored; nothing when none is
/// similar.
[[nodiscard]] std::optional<std::string> nearestName(std::string_view wanted, const std::vector<std::string>& candidates);

}  // namespace modulelens::registry
