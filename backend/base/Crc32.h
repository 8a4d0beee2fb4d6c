// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace modulelens::base {

/// The checksum of zip archives (polynomial 0xedb88320).
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace modulelens::base
