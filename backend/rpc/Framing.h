// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace modulelens::rpc {

/// Largest message either side accepts; larger ones are Corrupt.
inline constexpr std::size_t kMaximumMessageBytes = std::size_t{256} << 20;

/// "Content-Length: N\r\n\r\n" + body: the LSP base protocol.
[[nodiscard]] std::string frameMessage(std::string_view body);

/// Turns a byte stream into message bodies. Pure; confined to its thread.
class FrameReader {
public:
    /// Adds bytes as they arrive.
    void append(std::string_view bytes);
    /// The next whole body; empty when more bytes are needed. Corrupt: a header that is not one, a missing or absurd length.
    /// After an error the reader stays in error.
    [[nodiscard]] base::Result<std::optional<std::string>> next();
    /// True in the middle of a message: the stream may not end here.
    [[nodiscard]] bool isMidMessage() const;

private:
    std::string m_buffer;
    std::size_t m_consumed = 0;
    std::optional<base::Error> m_error;
};

}  // namespace modulelens::rpc
