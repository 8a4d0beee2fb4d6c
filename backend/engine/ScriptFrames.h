// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/ScriptScopes.h"

#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace torch::jit {
struct Block;
struct CompilationUnit;
struct SourceRange;
}  // namespace torch::jit

namespace modulelens::engine {

/// Reads the stack of TorchScript's interpreter while an operator of its runs. Confined to its thread.
class ScriptFrames {
public:
    /// `unit` holds the code of the module and of all that it calls.
    explicit ScriptFrames(const torch::jit::CompilationUnit& unit);

    /// Outermost first; empty when this thread runs no TorchScript.
    [[nodiscard]] std::vector<ScriptFrame> current();

private:
    /// Source by address, begin and end.
    using Place = std::tuple<const void*, std::size_t, std::size_t>;

    [[nodiscard]] static Place placeOf(const torch::jit::SourceRange& range);
    void collectLoops(const torch::jit::Block& block, bool isInLoop);

    std::set<Place> m_inLoops;
    std::map<Place, int> m_positions;
};

}  // namespace modulelens::engine
