// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Crc32.h"

#include <array>
#include <bit>
#include <cstring>

namespace modulelens::base {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kSlices = 8;

/// Entry [k][b]: what byte b does to the sum k bytes later.
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

constexpr Tables makeTables() {
    Tables tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value & 1U) != 0 ? 0xedb88320U ^ (value >> 1U) : value >> 1U;
        }
        tables[0][i] = value;
    }
    for (std::size_t slice = 1; slice < kSlices; ++slice) {
        for (std::size_t i = 0; i < 256; ++i) {
            const std::uint32_t before = tables[slice - 1][i];
            tables[slice][i] = tables[0][before & 0xffU] ^ (before >> 8U);
        }
    }
    return tables;
}

constexpr Tables kTables = makeTables();

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
    std::uint32_t crc = 0xffffffffU;
    while (bytes.size() >= kSlices) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof word);
        word ^= crc;
        crc = 0;
        for (std::size_t i = 0; i < kSlices; ++i) {
            crc ^= kTables[kSlices - 1 - i][(word >> (8 * i)) & 0xffU];
        }
        bytes = bytes.subspan(kSlices);
    }
    for (const std::byte byte : bytes) {
        crc = kTables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU] ^ (crc >> 8U);
    }
    return crc ^ 0xffffffffU;
}

}  // namespace modulelens::base
