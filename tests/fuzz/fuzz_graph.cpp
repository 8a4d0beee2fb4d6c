// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// models/model.json of an exported program, and what is computed from it without running it.
#include "backend/graph/ProgramArchive.h"
#include "backend/graph/SizeExpression.h"
#include "backend/graph/StaticCost.h"
#include "tests/fuzz/FuzzInput.h"

using namespace modulelens;

namespace {

void checkGraph(const graph::Graph& graph, std::size_t scopeCount) {
    const auto count = static_cast<graph::ValueId>(graph.values.size());
    for (const graph::Node& node : graph.nodes) {
        fuzz::require(node.scope >= 0 && static_cast<std::size_t>(node.scope) < scopeCount);
        for (const graph::NamedArgument& input : node.inputs) {
            if (const auto* value = std::get_if<graph::ValueArgument>(&input.argument)) {
                fuzz::require(value->value >= 0 && value->value < count);
            } else if (const auto* list = std::get_if<graph::ValueListArgument>(&input.argument)) {
                for (const graph::ValueId id : list->values) {
                    fuzz::require(id < count);
                }
            } else if (const auto* inner = std::get_if<graph::GraphArgument>(&input.argument)) {
                checkGraph(*inner->graph, scopeCount);
            }
        }
    }
    for (const graph::Value& value : graph.values) {
        if (value.integer) {
            (void)graph::evaluateSize(value.integer->expression, {{"s77", 3}, {"s0", 5}});
            (void)graph::soleSymbol(value.integer->expression);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t sizeBytes) {
    const auto program = graph::parseProgram(fuzz::textOf(data, sizeBytes), "fuzz");
    if (!program) {
        return 0;
    }
    const graph::Program& parsed = **program;
    fuzz::require(parsed.inputs.size() == parsed.graph.inputs.size());
    fuzz::require(parsed.outputs.size() == parsed.graph.outputs.size());
    for (std::size_t i = 0; i < parsed.scopes.size(); ++i) {
        fuzz::require(parsed.scopes[i].parent < static_cast<int>(i));
    }
    checkGraph(parsed.graph, parsed.scopes.size());
    (void)graph::staticCosts(parsed, {});
    (void)graph::staticCosts(parsed, {{"s77", 3}, {"s0", 5}, {"u0", 2}});
    return 0;
}
