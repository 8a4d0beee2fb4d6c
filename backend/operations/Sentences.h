// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Operations.h"

#include <cstdint>
#include <map>
#include <string>

/// Sentences and numbers for a person, made in one place for the explorer and the command line.
namespace modulelens::operations {

/// "Bit-exact: 3 of 3 outputs.", "Within tolerance: ...", "Differs: 1 of 3 outputs, ...", "No program: ...".
[[nodiscard]] std::string verdictSentence(const ValidationReport& report);
/// "1.24 ms, backward 2.61 ms, 12.3 MFLOPs, peak 3.1 MB."
[[nodiscard]] std::string profileSentence(const ProfileReport& report);
/// "Runs again from its program: 3 outputs in 1.24 ms."
[[nodiscard]] std::string rebuildSentence(const RebuildReport& report);
/// "2 versions added, 1 already there."
[[nodiscard]] std::string importSentence(const registry::ImportReport& report);

/// "1.24 ms": three significant digits, units ns, us, ms, s.
[[nodiscard]] std::string durationText(std::int64_t nanoseconds);
/// "1.24 MB": powers of 1000, as in the window.
[[nodiscard]] std::string bytesText(std::int64_t bytes);
/// "1.24 GFLOPs": powers of 1000.
[[nodiscard]] std::string flopsText(std::int64_t flops);
/// "key=value, other=1"; "-" for none.
[[nodiscard]] std::string attributesText(const std::map<std::string, registry::AttributeValue>& attributes);
/// "1 version", "2 versions".
[[nodiscard]] std::string countText(std::int64_t count, const std::string& singular, const std::string& plural);

} // namespace modulelens::operations
