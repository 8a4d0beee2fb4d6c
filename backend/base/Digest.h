// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <memory>
#include <optional>
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

/// Incremental MD5 (OpenSSL), for servers that name files by it; never integrity against an attacker. Confined to its thread.
class Md5 {
public:
    Md5();
    ~Md5();
    Md5(Md5&&) noexcept;
    Md5& operator=(Md5&&) noexcept;
    Md5(const Md5&) = delete;
    Md5& operator=(const Md5&) = delete;

    void update(std::span<const std::byte> bytes);
    void update(std::string_view text);
    /// The 16 bytes of the digest. Requires: called once.
    [[nodiscard]] std::string finishBytes();

private:
    struct State;
    std::unique_ptr<State> m_state;
};

/// Incremental XXH3 with 128 bits (xxHash), its bytes in canonical order. Confined to its thread.
class Xxh128 {
public:
    Xxh128();
    ~Xxh128();
    Xxh128(Xxh128&&) noexcept;
    Xxh128& operator=(Xxh128&&) noexcept;
    Xxh128(const Xxh128&) = delete;
    Xxh128& operator=(const Xxh128&) = delete;

    void update(std::span<const std::byte> bytes);
    void update(std::string_view text);
    /// The 16 bytes of the digest.
    [[nodiscard]] std::string finishBytes();

private:
    struct State;
    std::unique_ptr<State> m_state;
};

/// Lower-case hex digits of `bytes`.
[[nodiscard]] std::string hexOf(std::string_view bytes);
/// Base64 (RFC 4648, with padding) of `bytes`.
[[nodiscard]] std::string base64Of(std::string_view bytes);
/// The bytes that base64 with padding stands for, or nothing when `text` is none.
[[nodiscard]] std::optional<std::string> bytesOfBase64(std::string_view text);

/// Lower-case hex MD5 of `text`: collection ids only, never integrity.
[[nodiscard]] std::string md5Hex(std::string_view text);

/// True for exactly `length` lower-case hex digits.
[[nodiscard]] bool isLowerHex(std::string_view text, std::size_t length);

}  // namespace modulelens::base
