// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// What libFuzzer calls with each input, and ReplayMain.cpp with each file of a corpus. Returns 0. A crash, a sanitizer's
/// report, a leak, a time over the limit or memory over the limit is a finding.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t sizeBytes);

namespace modulelens::fuzz {

inline std::string_view textOf(const std::uint8_t* data, std::size_t sizeBytes) {
    return {reinterpret_cast<const char*>(data), sizeBytes};
}

/// Ends the process: `condition` says what must hold of every input that is accepted.
inline void require(bool condition) {
    if (!condition) {
        __builtin_trap();
    }
}

}  // namespace modulelens::fuzz
