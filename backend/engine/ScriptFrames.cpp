// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ScriptFrames.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/interpreter.h>

namespace modulelens::engine {

ScriptFrames::ScriptFrames(const torch::jit::CompilationUnit& unit) {
    for (torch::jit::Function* function : unit.get_functions()) {
        if (const torch::jit::GraphFunction* code = torch::jit::tryToGraphFunction(*function)) {
            collectLoops(*code->graph()->block(), false);
        }
    }
}

std::vector<ScriptFrame> ScriptFrames::current() {
    std::vector<std::string> names = torch::jit::currentModuleHierarchy();
    const std::vector<torch::jit::StackEntry> places = torch::jit::currentCallstack();
    std::vector<ScriptFrame> frames(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        frames[i].name = std::move(names[i]);
        // The call stack names the innermost function first.
        if (names.size() == places.size() && places[places.size() - 1 - i].range.source() != nullptr) {
            const Place place = placeOf(places[places.size() - 1 - i].range);
            frames[i].position = m_positions.emplace(place, static_cast<int>(m_positions.size())).first->second;
            frames[i].isInLoop = m_inLoops.count(place) != 0;
        }
    }
    return frames;
}

ScriptFrames::Place ScriptFrames::placeOf(const torch::jit::SourceRange& range) {
    return {range.source().get(), range.start(), range.end()};
}

void ScriptFrames::collectLoops(const torch::jit::Block& block, bool isInLoop) {
    for (const torch::jit::Node* node : block.nodes()) {
        if (isInLoop) {
            m_inLoops.insert(placeOf(node->sourceRange()));
        }
        for (const torch::jit::Block* inner : node->blocks()) {
            collectLoops(*inner, isInLoop || node->kind() == c10::prim::Loop);
        }
    }
}

}  // namespace modulelens::engine
