// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/JsonTree.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace modulelens::graph {

namespace {

// Bytes that end the quick walk through a text.
constexpr std::array<bool, 256> specialBytes() {
    std::array<bool, 256> table{};
    for (std::size_t byte = 0; byte < table.size(); ++byte) {
        table[byte] = byte < 0x20 || byte == '"' || byte == '\\' || byte >= 0x80;
    }
    return table;
}
constexpr std::array<bool, 256> kSpecial = specialBytes();

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

std::optional<std::uint32_t> hexDigits(const char* begin) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = begin[i];
        const int digit = isDigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) {
            return std::nullopt;
        }
        value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    return value;
}

// Bytes of the UTF-8 sequence at `at`, which begins with a byte from 0x80 on; 0 when it is none (RFC 3629, table 3-7 of Unicode).
std::size_t sequenceLength(const char* at, const char* end) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at[i]); };
    const unsigned char first = byte(0);
    const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                               : first >= 0xe0 && first <= 0xef ? 3
                               : first >= 0xf0 && first <= 0xf4 ? 4
                                                                : 0;
    if (length == 0 || static_cast<std::size_t>(end - at) < length) {
        return 0;
    }
    const unsigned char lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < lowest || byte(1) > highest) {
        return 0;
    }
    for (std::size_t i = 2; i < length; ++i) {
        if (byte(i) < 0x80 || byte(i) > 0xbf) {
            return 0;
        }
    }
    return length;
}

void appendUtf8(std::uint32_t code, std::string& text) {
    const auto tail = [](std::uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3f)); };
    if (code < 0x80) {
        text.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
        text.append({static_cast<char>(0xc0 | (code >> 6)), tail(code)});
    } else if (code < 0x10000) {
        text.append({static_cast<char>(0xe0 | (code >> 12)), tail(code >> 6), tail(code)});
    } else {
        text.append({static_cast<char>(0xf0 | (code >> 18)), tail(code >> 12), tail(code >> 6), tail(code)});
    }
}

// The value of one escape behind its backslash at `at`, which the parser has checked; moves `at` behind it.
void appendEscape(const char*& at, std::string& text) {
    const char kind = *at++;
    switch (kind) {
        case 'b':
            text.push_back('\b');
            return;
        case 'f':
            text.push_back('\f');
            return;
        case 'n':
            text.push_back('\n');
            return;
        case 'r':
            text.push_back('\r');
            return;
        case 't':
            text.push_back('\t');
            return;
        case 'u':
            break;
        default:
            text.push_back(kind);
            return;
    }
    std::uint32_t code = hexDigits(at).value_or(0);
    at += 4;
    if (code >= 0xd800 && code <= 0xdbff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (hexDigits(at + 2).value_or(0) - 0xdc00);
        at += 6;
    }
    appendUtf8(code, text);
}

}  // namespace

std::string JsonNode::text() const {
    if (!m_hasEscapes) {
        return std::string(source());
    }
    std::string value;
    value.reserve(m_size);
    const char* at = m_text;
    const char* const end = m_text + m_size;
    while (at != end) {
        const char* const escape = std::find(at, end, '\\');
        value.append(at, escape);
        at = escape;
        if (at != end) {
            appendEscape(++at, value);
        }
    }
    return value;
}

bool JsonNode::equals(std::string_view other) const {
    return isText() && (m_hasEscapes ? text() == other : source() == other);
}

const JsonNode* JsonNode::find(std::string_view key) const {
    if (!isObject()) {
        return nullptr;
    }
    const JsonNode* found = nullptr;
    for (Iterator at = begin(); at != end(); ++at) {
        const bool isWanted = at->equals(key);
        ++at;
        if (isWanted) {
            found = &*at;
        }
    }
    return found;
}

/// Reads one document. Confined to its thread.
class JsonParser {
public:
    JsonParser(std::string_view text, int depthLimit)
        : m_begin(text.data()), m_at(m_begin), m_end(m_begin + text.size()), m_depthLimit(depthLimit) {
        // A guess that holds for programs, so that the nodes seldom move.
        m_nodes.reserve(text.size() / 24 + 16);
    }

    bool run() {
        skipSpace();
        if (!value(0)) {
            return false;
        }
        skipSpace();
        return m_at == m_end;
    }

    [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(m_at - m_begin); }
    [[nodiscard]] bool isTooDeep() const { return m_isTooDeep; }
    [[nodiscard]] std::vector<JsonNode> take() { return std::move(m_nodes); }

private:
    void skipSpace() {
        while (m_at != m_end && (*m_at == ' ' || *m_at == '\n' || *m_at == '\r' || *m_at == '\t')) {
            ++m_at;
        }
    }

    bool take(char c) {
        if (m_at == m_end || *m_at != c) {
            return false;
        }
        ++m_at;
        return true;
    }

    bool value(int depth) {
        if (m_at == m_end) {
            return false;
        }
        switch (*m_at) {
            case '{':
                return container(JsonNode::Type::Object, '}', depth);
            case '[':
                return container(JsonNode::Type::Array, ']', depth);
            case '"':
                return text();
            case 'n':
                return word("null", JsonNode::Type::Null);
            case 't':
                return word("true", JsonNode::Type::True);
            case 'f':
                return word("false", JsonNode::Type::False);
            default:
                return number();
        }
    }

    bool container(JsonNode::Type type, char closing, int depth) {
        if (depth >= m_depthLimit) {
            m_isTooDeep = true;
            return false;
        }
        const std::size_t place = m_nodes.size();
        m_nodes.emplace_back().m_type = type;
        m_nodes[place].m_text = m_at++;
        std::uint32_t count = 0;
        skipSpace();
        if (!take(closing)) {
            do {
                skipSpace();
                if (type == JsonNode::Type::Object && !key()) {
                    return false;
                }
                if (!value(depth + 1)) {
                    return false;
                }
                ++count;
                skipSpace();
            } while (take(','));
            if (!take(closing)) {
                return false;
            }
        }
        m_nodes[place].m_size = count;
        m_nodes[place].m_span = static_cast<std::uint32_t>(m_nodes.size() - place);
        return true;
    }

    bool key() {
        if (m_at == m_end || *m_at != '"' || !text()) {
            return false;
        }
        skipSpace();
        if (!take(':')) {
            return false;
        }
        skipSpace();
        return true;
    }

    bool text() {
        const char* const begin = ++m_at;
        bool hasEscapes = false;
        while (true) {
            while (m_at != m_end && !kSpecial[static_cast<unsigned char>(*m_at)]) {
                ++m_at;
            }
            if (m_at == m_end) {
                return false;
            }
            if (*m_at == '"') {
                add(JsonNode::Type::Text, begin).m_hasEscapes = hasEscapes;
                ++m_at;
                return true;
            }
            if (*m_at == '\\') {
                hasEscapes = true;
                if (!escape()) {
                    return false;
                }
            } else {
                const std::size_t length = static_cast<unsigned char>(*m_at) < 0x80 ? 0 : sequenceLength(m_at, m_end);
                if (length == 0) {
                    return false;
                }
                m_at += length;
            }
        }
    }

    bool escape() {
        ++m_at;
        if (m_at == m_end) {
            return false;
        }
        const char kind = *m_at++;
        if (kind != 'u') {
            return std::string_view("\"\\/bfnrt").find(kind) != std::string_view::npos;
        }
        const std::optional<std::uint32_t> code = unit();
        if (!code || (*code >= 0xdc00 && *code <= 0xdfff)) {
            return false;
        }
        if (*code < 0xd800 || *code > 0xdbff) {
            return true;
        }
        if (!take('\\') || !take('u')) {
            return false;
        }
        const std::optional<std::uint32_t> second = unit();
        return second && *second >= 0xdc00 && *second <= 0xdfff;
    }

    std::optional<std::uint32_t> unit() {
        if (m_end - m_at < 4) {
            return std::nullopt;
        }
        const std::optional<std::uint32_t> code = hexDigits(m_at);
        m_at += code ? 4 : 0;
        return code;
    }

    bool word(std::string_view expected, JsonNode::Type type) {
        const char* const begin = m_at;
        if (!std::string_view(m_at, static_cast<std::size_t>(m_end - m_at)).starts_with(expected)) {
            return false;
        }
        m_at += expected.size();
        add(type, begin);
        return true;
    }

    bool digits() {
        const char* const begin = m_at;
        while (m_at != m_end && isDigit(*m_at)) {
            ++m_at;
        }
        return m_at != begin;
    }

    bool number() {
        const char* const begin = m_at;
        JsonNode::Type type = JsonNode::Type::Integer;
        (void)take('-');
        if (!take('0') && !digits()) {
            return false;
        }
        if (take('.')) {
            type = JsonNode::Type::Float;
            if (!digits()) {
                return false;
            }
        }
        if (take('e') || take('E')) {
            type = JsonNode::Type::Float;
            if (!take('+')) {
                (void)take('-');
            }
            if (!digits()) {
                return false;
            }
        }
        add(type, begin);
        return true;
    }

    JsonNode& add(JsonNode::Type type, const char* begin) {
        JsonNode& node = m_nodes.emplace_back();
        node.m_type = type;
        node.m_text = begin;
        node.m_size = static_cast<std::uint32_t>(m_at - begin);
        return node;
    }

    const char* m_begin;
    const char* m_at;
    const char* m_end;
    int m_depthLimit;
    bool m_isTooDeep = false;
    std::vector<JsonNode> m_nodes;
};

base::Result<JsonTree> JsonTree::parse(std::string_view text, int depthLimit, const std::string& displayName) {
    const auto corrupt = [&](const std::string& what) {
        return base::Error{base::ErrorCode::Corrupt, "'" + displayName + "' " + what,
                           "The program is damaged or was changed; capture the module again."};
    };
    if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
        return corrupt("is larger than 4 GiB");
    }
    JsonParser parser(text, depthLimit);
    if (!parser.run()) {
        if (parser.isTooDeep()) {
            return corrupt("nests deeper than " + std::to_string(depthLimit) + " levels of JSON");
        }
        return corrupt("is no valid JSON at byte " + std::to_string(parser.offset() + 1));
    }
    JsonTree tree;
    tree.m_nodes = parser.take();
    return tree;
}

}  // namespace modulelens::graph
