// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/Program.h"

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace modulelens::graph {

/// Turns the module stacks of torch.export ("key,path,type;key,path,type", outermost first) into scopes.
/// Confined to its thread.
class ScopeTable {
public:
    ScopeTable();

    /// Scope of a node with the stack `text`; `enclosing` when the stack says nothing.
    [[nodiscard]] int scopeOf(const std::string& text, int enclosing);

    [[nodiscard]] std::vector<Scope> take() { return std::move(m_scopes); }

private:
    struct Item {
        std::string_view key;
        std::string_view path;
        std::string_view className;
    };
    [[nodiscard]] static std::vector<Item> split(std::string_view text);
    [[nodiscard]] int child(int parent, const Item& item);

    std::vector<Scope> m_scopes;
    std::map<std::tuple<int, std::string, std::string>, int> m_children;
    std::unordered_map<std::string, int> m_known;
};

}  // namespace modulelens::graph
