// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace modulelens::base {

/// Incremental sha256 (OpenSSL). Confined to its thread.
class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    void update(std::span<const std::byte> bytes);
    void update(std::string_view text);
    /// Lower-case hex, 64 digits. Requires: called once.
    [[nodiscard]] std::string finish();

private:
    struct State;
    std::unique_ptr<State> m_state;
};

/// Lower-case hex sha256 of `bytes`.
[[nodiscard]] std::string sha256Hex(std::span<const std::byte> bytes);
[[nodiscard]] std::string sha256Hex(std::string_view text);

/// Lower-case hex MD5 of `text`: collection ids only, never integrity.
[[nodiscard]] std::string md5Hex(std::string_view text);

/// True for exactly `length` lower-case hex digits.
[[nodiscard]] bool isLowerHex(std::string_view text, std::size_t length);

}  // namespace modulelens::base
