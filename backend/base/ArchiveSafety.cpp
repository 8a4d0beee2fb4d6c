// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ArchiveSafety.h"

#include <algorithm>

namespace modulelens::base {

namespace {

constexpr std::size_t kMaximumNameBytes = 1024;

Error corrupt(std::string_view displayName, const std::string& what) {
    return {ErrorCode::Corrupt, "'" + std::string(displayName) + "' " + what,
            "The file is damaged or was changed; fetch or capture it again."};
}

/// Steps through the strings of a JSON text. Escapes of ASCII characters are decoded, which is enough to compare keys.
/// Confined to its thread.
class StringScanner {
public:
    explicit StringScanner(std::string_view text) : m_text(text) {}

    /// The next string, decoded; false at the end of the text.
    [[nodiscard]] bool next(std::string& decoded) {
        const std::size_t quote = m_text.find('"', m_position);
        if (quote == std::string_view::npos) {
            return false;
        }
        decoded.clear();
        m_position = quote + 1;
        while (m_position < m_text.size() && m_text[m_position] != '"') {
            if (m_text[m_position] == '\\') {
                decodeEscape(decoded);
            } else {
                decoded.push_back(m_text[m_position++]);
            }
        }
        ++m_position;
        return true;
    }

    /// What follows the string that next() gave, without leading white space.
    [[nodiscard]] std::string_view rest() const {
        const std::size_t start = m_text.find_first_not_of(" \t\r\n", m_position);
        return start == std::string_view::npos ? std::string_view() : m_text.substr(start);
    }

private:
    void decodeEscape(std::string& decoded) {
        const std::string_view escape = m_text.substr(m_position);
        if (escape.size() >= 6 && escape[1] == 'u') {
            unsigned value = 0;
            for (const char digit : escape.substr(2, 4)) {
                value = value * 16 + hexDigit(digit);
            }
            decoded.push_back(value < 128 ? static_cast<char>(value) : '?');
            m_position += 6;
            return;
        }
        if (escape.size() >= 2) {
            decoded.push_back(escape[1]);
        }
        m_position += 2;
    }

    static unsigned hexDigit(char digit) {
        if (digit >= '0' && digit <= '9') {
            return static_cast<unsigned>(digit - '0');
        }
        const char lower = static_cast<char>(digit | 0x20);
        return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a') + 10 : 0;
    }

    std::string_view m_text;
    std::size_t m_position = 0;
};

bool asksForPickle(std::string_view json) {
    StringScanner scanner(json);
    std::string text;
    while (scanner.next(text)) {
        if (text != "use_pickle" || !scanner.rest().starts_with(':')) {
            continue;
        }
        std::string_view value = scanner.rest().substr(1);
        const std::size_t start = value.find_first_not_of(" \t\r\n");
        value = start == std::string_view::npos ? std::string_view() : value.substr(start);
        if (!value.starts_with("false")) {
            return true;
        }
    }
    return false;
}

bool namesPickle(std::string_view member) {
    const std::size_t slash = member.rfind('/');
    const std::string_view leaf = slash == std::string_view::npos ? member : member.substr(slash + 1);
    for (const std::string_view suffix : {".pkl", ".pickle", ".pt", ".pth"}) {
        if (leaf.ends_with(suffix)) {
            return true;
        }
    }
    return leaf.starts_with("custom_obj_") || leaf.starts_with("opaque_obj_") ||
           member.find("/data/sample_inputs/") != std::string_view::npos || member.starts_with("data/sample_inputs/");
}

}  // namespace

Result<void> checkArchiveHoldsNoPickle(const ZipReader& archive, const std::string& displayName) {
    for (const auto& [name, member] : archive.members()) {
        if (member.sizeBytes > 0 && namesPickle(name)) {
            return Error{
                ErrorCode::Unsupported,
                "'" + displayName + "' holds pickled data in its member '" + name + "', and ModuleLens never reads a pickle",
                "Capture the module again with the ModuleLens tracer."};
        }
        if (!name.ends_with(".json")) {
            continue;
        }
        const auto bytes = archive.bytes(name);
        if (!bytes) {
            return bytes.error();
        }
        if (asksForPickle({reinterpret_cast<const char*>(bytes->data()), bytes->size()})) {
            return Error{ErrorCode::Unsupported,
                         "'" + displayName + "' marks a value as pickled in its member '" + name +
                             "', and ModuleLens never reads a pickle",
                         "Capture the module again with the ModuleLens tracer."};
        }
    }
    return {};
}

Result<void> checkJsonDepth(std::string_view text, int limit, std::string_view displayName) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            for (++i; i < text.size() && text[i] != '"'; ++i) {
                if (text[i] == '\\') {
                    ++i;
                }
            }
        } else if (c == '[' || c == '{') {
            if (++depth > limit) {
                return corrupt(displayName, "nests deeper than " + std::to_string(limit) + " levels of JSON");
            }
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return {};
}

Result<void> checkRelativeName(std::string_view name, std::string_view displayName) {
    const auto refuse = [&](const char* why) {
        std::string shown(name.substr(0, 200));
        for (char& c : shown) {
            if (static_cast<unsigned char>(c) < 0x20) {
                c = '?';
            }
        }
        return corrupt(displayName, "names the file '" + shown + "', " + why);
    };
    if (name.empty() || name.size() > kMaximumNameBytes) {
        return refuse("which is empty or too long");
    }
    for (const char c : name) {
        if (static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7f) {
            return refuse("which holds a backslash or a control character");
        }
    }
    std::size_t start = 0;
    while (start <= name.size()) {
        const std::size_t end = std::min(name.find('/', start), name.size());
        const std::string_view part = name.substr(start, end - start);
        if (part.empty() || part == "." || part == "..") {
            return refuse("which leaves its folder");
        }
        start = end + 1;
    }
    return {};
}

}  // namespace modulelens::base
