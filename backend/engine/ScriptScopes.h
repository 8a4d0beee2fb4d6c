// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/Program.h"

#include <map>
#include <string>
#include <vector>

namespace modulelens::engine {

/// Turns the stack of module calls that TorchScript's interpreter tells ("TOP(Net)::forward", "layer(Linear)::forward") into
/// scopes. A child that stands in a container which is not called itself is found there by name and class; where several
/// fit, its work counts in the module that called it. Confined to its thread.
class ScriptScopes {
public:
    /// `classes`: class name by module path, "" for the top module.
    explicit ScriptScopes(std::map<std::string, std::string> classes);

    /// Index of the scope, made when it is new.
    [[nodiscard]] int scopeOf(const std::vector<std::string>& stack);
    /// Parents before children; the first is the top module.
    [[nodiscard]] const std::vector<graph::Scope>& scopes() const { return m_scopes; }

private:
    [[nodiscard]] std::string child(const std::string& path, const std::string& name, const std::string& className) const;
    [[nodiscard]] int scopeAt(const std::string& path, int parent);

    std::map<std::string, std::string> m_classes;
    std::vector<graph::Scope> m_scopes;
    std::map<std::pair<int, std::string>, int> m_known;
};

}  // namespace modulelens::engine
