// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace modulelens::test {

/// Bytes of a test as a mapped file. Every read past the end is past a heap block of exactly that size, so that the
/// address sanitizer sees it. Immutable after construction.
class MemoryFile : public base::MappedFile {
public:
    explicit MemoryFile(std::string_view text) : m_bytes(text.size()) {
        std::copy(text.begin(), text.end(), reinterpret_cast<char*>(m_bytes.data()));
        m_bytes.shrink_to_fit();
    }
    [[nodiscard]] std::span<const std::byte> bytes() const override { return m_bytes; }

private:
    std::vector<std::byte> m_bytes;
};

[[nodiscard]] inline std::shared_ptr<const base::MappedFile> memoryFile(std::string_view text) {
    return std::make_shared<MemoryFile>(text);
}

}  // namespace modulelens::test
