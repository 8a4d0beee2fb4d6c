// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"

#include <openssl/evp.h>
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
