// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ScriptScopes.h"

#include <algorithm>
#include <string_view>

namespace modulelens::engine {

namespace {

/// Further calls of one module count in its last one: a loop of a million steps shall not make a million scopes.
constexpr int kMostCallsOfModule = 1000;

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

ScriptScopes::ScriptScopes(std::map<std::string, std::string> classes) : m_classes(std::move(classes)), m_calls(1) {
    // Scopes spell classes as export does.
    for (auto& [path, className] : m_classes) {
        std::replace(className.begin(), className.end(), ':', '.');
    }
    graph::Scope top;
    top.className = m_classes[""];
    m_scopes.push_back(std::move(top));
}

int ScriptScopes::scopeOf(const std::vector<ScriptFrame>& stack, const std::string& name) {
    if (stack.empty() || (stack.size() == 1 && stack.front().position < 0)) {
        // An operator that the optimiser made: execution has left nothing for it.
        return 0;
    }
    const std::size_t kept = firstNew(stack, name);
    m_open.resize(kept);
    for (std::size_t i = kept; i < stack.size(); ++i) {
        open(stack, i);
    }
    for (std::size_t i = 0; i < stack.size(); ++i) {
        if (!stack[i].isInLoop) {
            m_calls[static_cast<std::size_t>(m_open[i])].reached.insert(stack[i].position);
        }
    }
    m_stack = stack;
    m_operator = name;
    return m_calls[static_cast<std::size_t>(m_open.back())].scope;
}

/// How many calls of the last operator's stack this operator is in as well.
std::size_t ScriptScopes::firstNew(const std::vector<ScriptFrame>& stack, const std::string& name) const {
    std::size_t common = 0;
    const std::size_t most = std::min(stack.size(), m_open.size());
    while (common < most && stack[common].name == m_stack[common].name &&
           (common == 0 || stack[common - 1].position == m_stack[common - 1].position)) {
        ++common;
    }
    const auto isRepeated = [&](std::size_t i) {
        if (stack[i].isInLoop || m_calls[static_cast<std::size_t>(m_open[i])].reached.count(stack[i].position) == 0) {
            return false;
        }
        if (stack[i].position != m_stack[i].position) {
            return true;
        }
        const bool isOperator = i + 1 == stack.size() && i + 1 == m_stack.size();
        return isOperator && name == m_operator;
    };
    for (std::size_t i = 1; i < common; ++i) {
        if (!isRepeated(i)) {
            continue;
        }
        // What called it runs again as well, up to a call that stands in a loop.
        std::size_t fresh = i;
        while (fresh > 0 && !stack[fresh - 1].isInLoop) {
            --fresh;
        }
        if (fresh > 0) {
            return fresh;
        }
    }
    return common;
}

void ScriptScopes::open(const std::vector<ScriptFrame>& stack, std::size_t index) {
    if (index == 0) {
        m_open.push_back(0);
        return;
    }
    const auto parent = static_cast<std::size_t>(m_open.back());
    const ScriptFrame& caller = stack[index - 1];
    const std::pair<int, std::string> key(caller.position, stack[index].name);
    if (!caller.isInLoop) {
        const auto known = m_calls[parent].callees.find(key);
        if (known != m_calls[parent].callees.end()) {
            m_open.push_back(known->second);
            return;
        }
    }
    const int call = static_cast<int>(m_calls.size());
    Call made;
    made.name = stack[index].name;
    made.scope = scopeBelow(m_calls[parent].scope, stack[index].name);
    m_calls.push_back(std::move(made));
    if (!caller.isInLoop) {
        m_calls[parent].callees.emplace(key, call);
    }
    m_open.push_back(call);
}

int ScriptScopes::scopeBelow(int parent, const std::string& frameName) {
    const Entry entry = parseEntry(frameName);
    if (entry.name.empty() || entry.name == "TOP" || entry.name == "SELF") {
        return parent;
    }
    const std::string path = child(m_scopes[static_cast<std::size_t>(parent)].path, entry.name, entry.className);
    if (path.empty()) {
        return parent;
    }
    int& count = m_callCounts[path];
    if (count >= kMostCallsOfModule) {
        for (std::size_t i = m_scopes.size(); i-- > 0;) {
            if (m_scopes[i].path == path) {
                return static_cast<int>(i);
            }
        }
    }
    graph::Scope scope;
    scope.call = count++;
    scope.key = path + (scope.call == 0 ? std::string() : '@' + std::to_string(scope.call));
    scope.path = path;
    scope.className = m_classes[path];
    scope.parent = parent;
    m_scopes.push_back(std::move(scope));
    return static_cast<int>(m_scopes.size()) - 1;
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

}  // namespace modulelens::engine
