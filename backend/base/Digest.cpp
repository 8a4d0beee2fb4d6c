// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"

#include <openssl/evp.h>
#include <xxhash.h>
#include <array>
#include <cstdlib>

namespace modulelens::base {

namespace {

struct ContextDeleter {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, ContextDeleter>;

/// Fetched once: looking an algorithm up costs more than hashing a small text.
const EVP_MD* sha256Algorithm() {
    static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return algorithm;
}

/// OpenSSL's digest calls fail only for a wrong algorithm or a finished context, both our own fault.
void require(int succeeded) {
    if (succeeded != 1) {
        std::abort();
    }
}

std::string toHex(std::span<const unsigned char> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const unsigned char byte : bytes) {
        text.push_back(kDigits[byte >> 4]);
        text.push_back(kDigits[byte & 15]);
    }
    return text;
}

std::span<const std::byte> bytesOf(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

struct Sha256::State {
    Context context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : m_state(std::make_unique<State>()) {
    require(EVP_DigestInit_ex2(m_state->context.get(), sha256Algorithm(), nullptr));
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
    require(EVP_DigestUpdate(m_state->context.get(), bytes.data(), bytes.size()));
}

void Sha256::update(std::string_view text) {
    update(bytesOf(text));
}

std::string Sha256::finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    require(EVP_DigestFinal_ex(m_state->context.get(), digest.data(), &size));
    return toHex(std::span(digest.data(), size));
}

std::string sha256Hex(std::span<const std::byte> bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}

std::string sha256Hex(std::string_view text) {
    return sha256Hex(bytesOf(text));
}

struct Md5::State {
    Context context{EVP_MD_CTX_new()};
};

Md5::Md5() : m_state(std::make_unique<State>()) {
    require(EVP_DigestInit_ex2(m_state->context.get(), EVP_md5(), nullptr));
}

Md5::~Md5() = default;
Md5::Md5(Md5&&) noexcept = default;
Md5& Md5::operator=(Md5&&) noexcept = default;

void Md5::update(std::span<const std::byte> bytes) {
    require(EVP_DigestUpdate(m_state->context.get(), bytes.data(), bytes.size()));
}

void Md5::update(std::string_view text) {
    update(bytesOf(text));
}

std::string Md5::finishBytes() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    require(EVP_DigestFinal_ex(m_state->context.get(), digest.data(), &size));
    return {reinterpret_cast<const char*>(digest.data()), size};
}

struct Xxh128::State {
    XXH3_state_t* state = XXH3_createState();
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { XXH3_freeState(state); }
};

Xxh128::Xxh128() : m_state(std::make_unique<State>()) {
    require(m_state->state != nullptr && XXH3_128bits_reset(m_state->state) == XXH_OK ? 1 : 0);
}

Xxh128::~Xxh128() = default;
Xxh128::Xxh128(Xxh128&&) noexcept = default;
Xxh128& Xxh128::operator=(Xxh128&&) noexcept = default;

void Xxh128::update(std::span<const std::byte> bytes) {
    require(XXH3_128bits_update(m_state->state, bytes.data(), bytes.size()) == XXH_OK ? 1 : 0);
}

void Xxh128::update(std::string_view text) {
    update(bytesOf(text));
}

std::string Xxh128::finishBytes() {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(m_state->state));
    return {reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest)};
}

std::string hexOf(std::string_view bytes) {
    return toHex(std::span(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::string base64Of(std::string_view bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

std::optional<std::string> bytesOfBase64(std::string_view text) {
    if (text.size() % 4 != 0 || text.size() > 1'000'000) {
        return std::nullopt;
    }
    std::string bytes(text.size() / 4 * 3 + 1, '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (size < 0) {
        return std::nullopt;
    }
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    bytes.resize(static_cast<std::size_t>(size) - padding);
    // OpenSSL skips blanks and takes spare bits: only the one right spelling counts.
    return base64Of(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;
}

std::string md5Hex(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    require(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_md5(), nullptr));
    return toHex(std::span(digest.data(), size));
}

bool isLowerHex(std::string_view text, std::size_t length) {
    if (text.size() != length) {
        return false;
    }
    for (const char c : text) {
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
    }
    return true;
}

}  // namespace modulelens::base
