// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/ZipReader.h"

#include <string>
#include <string_view>

namespace modulelens::base {

/// The pickle rules for a torch.export archive, which every reader of programs applies before anything else.
/// Unsupported: a non-empty member below data/sample_inputs/, a member whose name says that it is pickled (*.pkl,
/// *.pickle, *.pt, *.pth, custom_obj_N, opaque_obj_N) and is not empty, or a config (*.json below data/) with a
/// "use_pickle" that is not false. Reads names and configs only.
[[nodiscard]] Result<void> checkArchiveHoldsNoPickle(const ZipReader& archive, const std::string& displayName);

/// Corrupt: `text` nests arrays and objects deeper than `limit`. A scan without recursion, to be made before a JSON
/// parser sees untrusted text. Says nothing about whether the text is valid JSON.
[[nodiscard]] Result<void> checkJsonDepth(std::string_view text, int limit, std::string_view displayName);

/// Corrupt: `name` is not a relative path inside its folder: empty, absolute, with an empty, "." or ".." part, a
/// backslash, a control character, or longer than 1024 bytes.
[[nodiscard]] Result<void> checkRelativeName(std::string_view name, std::string_view displayName);

}  // namespace modulelens::base
