// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ScriptScopes.h"

#include <algorithm>
#include <string_view>

namespace modulelens::engine {

namespace {

/// One entry of the interpreter's stack.
struct Entry {
    std::string name;
    std::string className;
};

/// Reads "name(Class)::function"; an entry of any other form has no name.
Entry parseEntry(std::string_view text) {
    const std::size_t open = text.find('(');
    const std::size_t close = text.find(")::");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return {};
    }
    return {std::string(text.substr(0, open)), std::string(text.substr(open + 1, close - open - 1))};
}

std::string_view shortClass(std::string_view className) {
    return className.substr(className.rfind('.') + 1);
}

}  // namespace

ScriptScopes::ScriptScopes(std::map<std::string, std::string> classes) : m_classes(std::move(classes)) {
    // Scopes spell classes as export does.
    for (auto& [path, className] : m_classes) {
        std::replace(className.begin(), className.end(), ':', '.');
    }
    graph::Scope top;
    top.className = m_classes[""];
    m_scopes.push_back(std::move(top));
}

int ScriptScopes::scopeOf(const std::vector<std::string>& stack) {
    std::string path;
    int scope = 0;
    for (const std::string& text : stack) {
        const Entry entry = parseEntry(text);
        if (entry.name.empty() || entry.name == "TOP" || entry.name == "SELF") {
            continue;
        }
        const std::string below = child(path, entry.name, entry.className);
        if (below.empty()) {
            continue;
        }
        path = below;
        scope = scopeAt(path, scope);
    }
    return scope;
}

std::string ScriptScopes::child(const std::string& path, const std::string& name, const std::string& className) const {
    const std::string prefix = path.empty() ? std::string() : path + '.';
    if (m_classes.count(prefix + name) != 0) {
        return prefix + name;
    }
    std::string found;
    for (auto candidate = m_classes.lower_bound(prefix); candidate != m_classes.end(); ++candidate) {
        if (!candidate->first.starts_with(prefix)) {
            break;
        }
        if (candidate->first.ends_with('.' + name) && shortClass(candidate->second) == className) {
            if (!found.empty()) {
                return {};
            }
            found = candidate->first;
        }
    }
    return found;
}

int ScriptScopes::scopeAt(const std::string& path, int parent) {
    const auto [known, isNew] = m_known.emplace(std::pair(parent, path), static_cast<int>(m_scopes.size()));
    if (isNew) {
        graph::Scope scope;
        scope.key = path;
        scope.path = path;
        scope.className = m_classes[path];
        scope.parent = parent;
        m_scopes.push_back(std::move(scope));
    }
    return known->second;
}

}  // namespace modulelens::engine
