// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/Program.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace modulelens::engine {

/// A function on the stack of TorchScript's interpreter.
struct ScriptFrame {
    std::string name;                     ///< "TOP(Net)::forward", "layer(Linear)::forward"; "::relu" of no module.
    /// Where it stands in its code: at the call of the next frame, or at the operator; -1 when nothing tells.
    int position = -1;
    bool isInLoop = false;                ///< That place is in a loop of its code.
};

/// Turns the stacks of the operators of one run, in order, into module calls. A call in a loop is a new one when execution
/// left it, or when a place of its code outside its own loops comes again. A child that stands in a container which is not
/// called itself is found there by name and class; where several fit, its work counts in the module that called it.
/// Confined to its thread.
class ScriptScopes {
public:
    /// `classes`: class name by module path, "" for the top module.
    explicit ScriptScopes(std::map<std::string, std::string> classes);

    /// Index of the scope of the operator `name` that runs now, outermost frame first.
    [[nodiscard]] int scopeOf(const std::vector<ScriptFrame>& stack, const std::string& name);
    /// Parents before children; the first is the top module.
    [[nodiscard]] const std::vector<graph::Scope>& scopes() const { return m_scopes; }

private:
    /// One execution of a function.
    struct Call {
        std::string name;
        int scope = 0;
        std::set<int> reached;                ///< Positions outside loops.
        std::map<std::pair<int, std::string>, int> callees;  ///< Of positions outside loops, by position and name.
    };

    void open(const std::vector<ScriptFrame>& stack, std::size_t index);
    [[nodiscard]] std::size_t firstNew(const std::vector<ScriptFrame>& stack, const std::string& name) const;
    [[nodiscard]] int scopeBelow(int parent, const std::string& frameName);
    [[nodiscard]] std::string child(const std::string& path, const std::string& name, const std::string& className) const;

    std::map<std::string, std::string> m_classes;
    std::vector<graph::Scope> m_scopes;
    std::map<std::string, int> m_callCounts;
    std::vector<Call> m_calls;
    std::vector<int> m_open;              ///< The calls of the last operator's stack.
    std::vector<ScriptFrame> m_stack;     ///< That stack.
    std::string m_operator;
};

}  // namespace modulelens::engine
