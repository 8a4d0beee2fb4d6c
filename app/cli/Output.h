// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace modulelens::cli {

/// What a command answers: data for --json, text for a person, and how it ends.
struct Answer {
    nlohmann::ordered_json data;
    std::string text;
    std::vector<std::string> warnings;
    int exitCode = 0;
};

/// Text that a terminal shows as it stands: control characters become "\\xNN". A line break stays when `keepLines`.
[[nodiscard]] std::string printable(const std::string& text, bool keepLines);

/// Rows as aligned columns, two spaces apart; cells are made printable, and the middle of a very long one
/// is left out. Numbers are right-aligned when `rightAligned` has their column.
[[nodiscard]] std::string formatTable(const std::vector<std::vector<std::string>>& table,
                                      const std::vector<std::size_t>& rightAligned);

/// The envelope (docs/cli.md) as one line of JSON. Invalid UTF-8 is replaced, non-finite numbers are null.
[[nodiscard]] std::string envelope(const std::string& command, const Answer& answer);
[[nodiscard]] std::string envelope(const std::string& command, const base::Error& error,
                                   const std::vector<std::string>& warnings);

} // namespace modulelens::cli
