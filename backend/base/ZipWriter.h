// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::base {

/// One member of an archive to be written; its bytes must outlive the writing.
struct ZipContent {
    std::string name;
    std::span<const std::byte> bytes;
};

/// A zip in memory whose members are all stored, each one's data at a multiple of 64 bytes. The bytes depend on names and
/// content alone. InvalidArgument: more than 65,535 members or 4 GB in all. Pure.
[[nodiscard]] Result<std::string> makeZip(const std::vector<ZipContent>& members);

/// The bytes of `text`.
[[nodiscard]] inline std::span<const std::byte> bytesOf(std::string_view text) {
    return std::as_bytes(std::span(text));
}

}  // namespace modulelens::base
