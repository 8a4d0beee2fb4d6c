// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/rpc/Framing.h"

#include <charconv>

namespace modulelens::rpc {

namespace {

constexpr std::size_t kMaximumHeaderBytes = 8192;
constexpr std::string_view kHeaderEnd = "\r\n\r\n";

base::Error corrupt(std::string message) {
    return {base::ErrorCode::Corrupt, std::move(message), {}};
}

/// Printable start of what arrived, for the message.
std::string excerpt(std::string_view text) {
    constexpr std::size_t kLongest = 60;
    std::string shown;
    for (const char c : text.substr(0, kLongest)) {
        shown += (c >= ' ' && c <= '~') ? c : '?';
    }
    return shown + (text.size() > kLongest ? "..." : "");
}

bool equalsIgnoringCase(std::string_view left, std::string_view right) {
    const auto lower = [](char c) { return (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c; };
    if (left.size() != right.size()) {
        return false;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (lower(left[i]) != lower(right[i])) {
            return false;
        }
    }
    return true;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
        text.remove_suffix(1);
    }
    return text;
}

base::Result<std::size_t> parseLength(std::string_view text) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
        return corrupt("the message length '" + excerpt(text) + "' is not a number");
    }
    if (length > kMaximumMessageBytes) {
        return corrupt("a message of " + std::to_string(length) + " bytes is over the limit of " +
                       std::to_string(kMaximumMessageBytes));
    }
    return length;
}

/// `header` is what stands before the blank line, lines separated by CR LF.
base::Result<std::size_t> bodyLength(std::string_view header) {
    std::optional<std::size_t> length;
    while (!header.empty()) {
        const std::size_t lineEnd = header.find("\r\n");
        const std::string_view line = header.substr(0, lineEnd);
        header = lineEnd == std::string_view::npos ? std::string_view() : header.substr(lineEnd + 2);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0) {
            return corrupt("'" + excerpt(line) + "' is not a message header");
        }
        if (!equalsIgnoringCase(trimmed(line.substr(0, colon)), "Content-Length")) {
            continue;
        }
        if (length) {
            return corrupt("a message header names its length twice");
        }
        const base::Result<std::size_t> parsed = parseLength(trimmed(line.substr(colon + 1)));
        if (!parsed) {
            return parsed.error();
        }
        length = *parsed;
    }
    if (!length) {
        return corrupt("a message header has no Content-Length");
    }
    return *length;
}

/// A header begins with a letter and holds no control characters but CR LF: told from garbage as early as possible.
bool mayBeHeader(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool isLetter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (i == 0 && !isLetter) {
            return false;
        }
        if (c == '\n' && text[i - 1] != '\r') {
            return false;
        }
        if ((c < ' ' && c != '\r' && c != '\n' && c != '\t') || c == '\x7f') {
            return false;
        }
    }
    return true;
}

} // namespace

std::string frameMessage(std::string_view body) {
    std::string framed = "Content-Length: " + std::to_string(body.size());
    framed.reserve(framed.size() + kHeaderEnd.size() + body.size());
    framed += kHeaderEnd;
    framed += body;
    return framed;
}

void FrameReader::append(std::string_view bytes) {
    if (m_error) {
        return;
    }
    if (m_consumed > 0 && m_consumed == m_buffer.size()) {
        m_buffer.clear();
        m_consumed = 0;
    }
    m_buffer += bytes;
}

base::Result<std::optional<std::string>> FrameReader::next() {
    if (m_error) {
        return *m_error;
    }
    const auto fail = [this](base::Error error) {
        m_error = std::move(error);
        m_buffer.clear();
        m_consumed = 0;
        return *m_error;
    };
    const std::string_view rest = std::string_view(m_buffer).substr(m_consumed);
    const std::string_view window = rest.substr(0, kMaximumHeaderBytes);
    const std::size_t headerEnd = window.find(kHeaderEnd);
    if (!mayBeHeader(window.substr(0, headerEnd))) {
        return fail(corrupt("'" + excerpt(rest) + "' is not a message header"));
    }
    if (headerEnd == std::string_view::npos) {
        if (rest.size() >= kMaximumHeaderBytes) {
            return fail(corrupt("a message header is over " + std::to_string(kMaximumHeaderBytes) + " bytes"));
        }
        return std::optional<std::string>();
    }
    const base::Result<std::size_t> length = bodyLength(rest.substr(0, headerEnd));
    if (!length) {
        return fail(length.error());
    }
    const std::size_t bodyStart = headerEnd + kHeaderEnd.size();
    if (rest.size() - bodyStart < *length) {
        return std::optional<std::string>();
    }
    std::string body(rest.substr(bodyStart, *length));
    m_consumed += bodyStart + *length;
    if (m_consumed * 2 > m_buffer.size()) {
        m_buffer.erase(0, m_consumed);
        m_consumed = 0;
    }
    return std::optional<std::string>(std::move(body));
}

bool FrameReader::isMidMessage() const {
    return !m_error && m_consumed < m_buffer.size();
}

} // namespace modulelens::rpc
