// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/Bundle.h"

namespace modulelens::capture {

/// What Bundle::verify does.
[[nodiscard]] base::Result<void> verifyBundle(Bundle& bundle, const std::stop_token& stop,
                                              const std::function<void(std::uint64_t, std::uint64_t)>& progress);

/// Adds where each tensor of one file lies. Corrupt: keys other than the index lists, or one that is already known.
[[nodiscard]] base::Result<void> addTensorExtents(const BundleTensorFile& file, std::span<const std::byte> bytes,
                                                  const FileExtent& place, std::map<std::string, FileExtent>& extents);

}  // namespace modulelens::capture
