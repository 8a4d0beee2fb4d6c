// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ScopeTable.h"

#include <charconv>
#include <limits>

namespace modulelens::graph {

namespace {

/// What export writes where there is no module: for nodes that compute sizes, and around the branches of strict exports.
constexpr std::string_view kPlaceholder = "_empty_nn_module_stack_from_metadata_hook";
constexpr std::string_view kExportRoot = "_export_root";
constexpr int kNothing = -1;

/// The call index behind the last "@" of a key, 0 without one.
int callIndex(std::string_view key) {
    const std::size_t at = key.rfind('@');
    if (at == std::string_view::npos) {
        return 0;
    }
    int call = 0;
    const char* const end = key.data() + key.size();
    const auto [stop, code] = std::from_chars(key.data() + at + 1, end, call);
    return code == std::errc() && stop == end && call >= 0 ? call : 0;
}

/// Splits at `separator` outside brackets.
std::vector<std::string_view> splitOutsideBrackets(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '(' || c == '[') {
            ++depth;
        } else if (c == ')' || c == ']') {
            --depth;
        } else if (c == separator && depth <= 0) {
            parts.push_back(text.substr(start, i - start));
            start = i + 1;
        }
    }
    parts.push_back(text.substr(start));
    return parts;
}

}  // namespace

ScopeTable::ScopeTable() {
    m_scopes.emplace_back();
}

int ScopeTable::scopeOf(const std::string& text, int enclosing) {
    if (text.empty()) {
        return enclosing;
    }
    const auto known = m_known.find(text);
    if (known != m_known.end()) {
        return known->second == kNothing ? enclosing : known->second;
    }
    int scope = kNothing;
    for (const Item& item : split(text)) {
        if (item.path == kPlaceholder || item.path == kExportRoot) {
            continue;
        }
        if (item.path.empty()) {
            scope = 0;
            if (m_scopes[0].className.empty()) {
                m_scopes[0].key = item.key;
                m_scopes[0].className = item.className;
            }
            continue;
        }
        scope = child(scope == kNothing ? 0 : scope, item);
    }
    m_known.emplace(text, scope);
    return scope == kNothing ? enclosing : scope;
}

std::vector<ScopeTable::Item> ScopeTable::split(std::string_view text) {
    std::vector<Item> items;
    for (const std::string_view part : splitOutsideBrackets(text, ';')) {
        const std::vector<std::string_view> fields = splitOutsideBrackets(part, ',');
        if (fields.size() >= 2) {
            items.push_back({fields[0], fields[1], fields.size() > 2 ? fields[2] : std::string_view()});
        }
    }
    return items;
}

int ScopeTable::child(int parent, const Item& item) {
    // An alias of a shared module has the same key in strict exports and another path, so both make the scope.
    const auto [known, isNew] = m_children.emplace(std::tuple{parent, std::string(item.key), std::string(item.path)},
                                                   static_cast<int>(m_scopes.size()));
    if (isNew) {
        m_scopes.push_back(
            {std::string(item.key), std::string(item.path), std::string(item.className), callIndex(item.key), parent});
    }
    return known->second;
}

}  // namespace modulelens::graph
