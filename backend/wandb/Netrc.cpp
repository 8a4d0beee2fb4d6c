// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Netrc.h"

#include <cstddef>

namespace modulelens::wandb {

namespace {

/// Splits a netrc file into words. Confined to its thread.
class Words {
public:
    explicit Words(std::string_view text) : m_text(text) {}

    /// The next word, or nothing at the end of the file.
    std::optional<std::string> next() {
        skipBlanks();
        if (m_at >= m_text.size()) {
            return std::nullopt;
        }
        return m_text[m_at] == '"' ? quoted() : plain();
    }

    /// A macro definition ends at an empty line.
    void skipMacro() {
        const std::size_t end = m_text.find("\n\n", m_at);
        m_at = end == std::string_view::npos ? m_text.size() : end + 2;
    }

private:
    void skipBlanks() {
        while (m_at < m_text.size()) {
            const char c = m_text[m_at];
            if (c == '#') {
                m_at = std::min(m_text.find('\n', m_at), m_text.size());
            } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
                ++m_at;
            } else {
                return;
            }
        }
    }

    std::string plain() {
        std::string word;
        while (m_at < m_text.size() && std::string_view(" \t\r\n").find(m_text[m_at]) == std::string_view::npos) {
            word += m_text[m_at++];
        }
        return word;
    }

    std::optional<std::string> quoted() {
        std::string word;
        for (++m_at; m_at < m_text.size(); ++m_at) {
            if (m_text[m_at] == '"') {
                ++m_at;
                return word;
            }
            if (m_text[m_at] == '\\' && m_at + 1 < m_text.size()) {
                ++m_at;
            }
            word += m_text[m_at];
        }
        return std::nullopt;
    }

    std::string_view m_text;
    std::size_t m_at = 0;
};

}  // namespace

std::optional<std::string> netrcPassword(std::string_view text, std::string_view machine) {
    Words words(text);
    std::optional<std::string> ofDefault;
    bool isWanted = false;
    bool isDefault = false;
    for (std::optional<std::string> word = words.next(); word; word = words.next()) {
        if (*word == "machine") {
            const std::optional<std::string> name = words.next();
            isWanted = name && *name == machine;
            isDefault = false;
        } else if (*word == "default") {
            isWanted = false;
            isDefault = true;
        } else if (*word == "macdef") {
            words.skipMacro();
        } else if (*word == "login" || *word == "account") {
            (void)words.next();
        } else if (*word == "password") {
            const std::optional<std::string> password = words.next();
            if (isWanted && password) {
                return password;
            }
            if (isDefault && !ofDefault) {
                ofDefault = password;
            }
        }
    }
    return ofDefault;
}

}  // namespace modulelens::wandb
