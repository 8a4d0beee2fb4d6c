// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/Bundle.h"

#include <string>
#include <string_view>

namespace modulelens::capture {

/// Parses bundle.json and checks all that it says of itself: names that stay inside the folder, digests, no name twice,
/// collections, run numbers. `document` is what messages call it. Corrupt, Unsupported.
[[nodiscard]] base::Result<BundleIndex> parseBundleIndex(std::string_view text, const std::string& document);

/// Every file that the index names, in the order of docs/formats/bundle.md.
[[nodiscard]] std::vector<BundleFile> filesOf(const BundleIndex& index);

}  // namespace modulelens::capture
