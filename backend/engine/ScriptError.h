// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"

#include <string>

namespace modulelens::engine {

/// One sentence of what TorchScript's interpreter threw: the operator's own words and the innermost line of source. A failed
/// allocation is OutOfMemory; all else InvalidArgument, since an archive that was read whole fails on what it is given. `text`
/// of any other form is its first line.
[[nodiscard]] base::Error scriptError(const std::string& text);

}  // namespace modulelens::engine
