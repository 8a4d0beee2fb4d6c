// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace modulelens::registry {

/// A span of UTC time in microseconds since 1970; `until` is the first microsecond after it.
struct TimeSpan {
    std::int64_t from = 0;
    std::int64_t until = 0;
};

/// The span that a written date stands for: "2026", "2026-11", "2026-11-30", "2026-11-30T16:01", "...:45", "...:45.123456",
/// with an optional "Z". Nothing when the text is no such date.
[[nodiscard]] std::optional<TimeSpan> parseTimeSpan(std::string_view text);

/// "2026-11-30T16:01:45.123456Z".
[[nodiscard]] std::string formatUtc(std::int64_t microseconds);

[[nodiscard]] std::int64_t currentUtcMicroseconds();

}  // namespace modulelens::registry
