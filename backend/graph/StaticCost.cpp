// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/StaticCost.h"

#include "backend/graph/BatchLevels.h"
#include "backend/graph/SizeExpression.h"
#include "backend/graph/operators/Formula.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace modulelens::graph {

namespace {

using Symbols = std::map<std::string, std::int64_t>;

/// "torch.ops.aten.addmm.default" as "aten::addmm", "_operator.mul" as "_operator::mul".
std::string operatorNameOf(std::string_view target) {
    constexpr std::string_view kOperators = "torch.ops.";
    constexpr std::string_view kHigherOrder = "higher_order.";
    if (target.starts_with(kOperators)) {
        target.remove_prefix(kOperators.size());
        if (!target.starts_with(kHigherOrder)) {
            target = target.substr(0, target.rfind('.'));
        }
    }
    const std::size_t dot = target.find('.');
    if (dot == std::string_view::npos) {
        return std::string(target);
    }
    return std::string(target.substr(0, dot)) + "::" + std::string(target.substr(dot + 1));
}

std::vector<std::string_view> wordsOf(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        words.push_back(text.substr(0, space));
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    return words;
}

/// Values for the symbols: the hints of the sample inputs, then what the caller says.
Symbols symbolsOf(const Graph& graph, const Symbols& given) {
    Symbols symbols;
    const auto learn = [&](const SymbolicInteger& size) {
        if (!size.literal && size.hint) {
            if (const auto name = soleSymbol(size.expression)) {
                symbols.emplace(*name, *size.hint);
            }
        }
    };
    for (const Value& value : graph.values) {
        if (value.tensor) {
            std::for_each(value.tensor->sizes.begin(), value.tensor->sizes.end(), learn);
        }
        if (value.integer) {
            learn(*value.integer);
        }
    }
    for (const auto& [name, value] : given) {
        symbols.insert_or_assign(name, value);
    }
    return symbols;
}

/// The call that a node stands for which names another operator; nothing for any other node.
std::optional<Node> calledBy(const Node& node, const std::string& name) {
    const std::map<std::string_view, std::size_t> rows{{"higher_order::with_effects", 1},
                                                       {"higher_order::out_dtype", 0},
                                                       {"higher_order::auto_functionalized", 0},
                                                       {"higher_order::auto_functionalized_v2", 0}};
    const auto row = rows.find(name);
    const std::size_t position = row == rows.end() ? node.inputs.size() : row->second;
    const auto* target =
        position >= node.inputs.size() ? nullptr : std::get_if<OperatorArgument>(&node.inputs[position].argument);
    if (target == nullptr || operatorNameOf(target->value).starts_with("higher_order::")) {
        return std::nullopt;
    }
    Node call;
    call.name = node.name;
    call.target = target->value;
    call.scope = node.scope;
    call.outputs = node.outputs;
    // out_dtype has its type behind the operator, and gives arguments by position.
    const bool isPositional = name == "higher_order::out_dtype";
    const std::size_t first = std::min(position + (isPositional ? 2 : 1), node.inputs.size());
    call.inputs.assign(node.inputs.begin() + static_cast<std::ptrdiff_t>(first), node.inputs.end());
    const FormulaRow* formula = findFormula(operatorNameOf(call.target));
    const std::vector<std::string_view> names =
        formula == nullptr ? std::vector<std::string_view>() : wordsOf(formula->arguments);
    for (std::size_t i = 0; isPositional && i < std::min(names.size(), call.inputs.size()); ++i) {
        call.inputs[i].name = names[i];
    }
    return call;
}

/// Operators that run the graph they hold once, as it stands.
bool isWrapper(const std::string& name) {
    static const std::set<std::string_view> names{
        "hints_wrapper", "invoke_quant", "invoke_subgraph",          "run_const_graph",
        "strict_mode",   "wrap",         "tag_activation_checkpoint"};
    return name.starts_with("higher_order::wrap_") ||
           names.contains(std::string_view(name).substr(sizeof("higher_order::") - 1));
}

/// Counts one program. Confined to its thread.
class Counter {
public:
    Counter(const Program& program, const Symbols& given) : m_given(given), m_symbols(symbolsOf(program.graph, given)) {}

    [[nodiscard]] StaticCosts run(const Program& program) {
        StaticCosts costs;
        costs.nodes = countGraph(program.graph, 1);
        for (const NodeCost& node : costs.nodes) {
            costs.ledger.add(node.operatorName, node.cost, node.repeats);
            if (node.cost.coverage == Coverage::Unknown) {
                costs.reasons.emplace(node.operatorName, node.reason);
            }
        }
        costs.flops = costs.ledger.totals().flops;
        costs.counted = costs.ledger.namesOf(Coverage::Counted);
        costs.zero = costs.ledger.namesOf(Coverage::ZeroByDefinition);
        costs.unknown = costs.ledger.namesOf(Coverage::Unknown);
        return costs;
    }

private:
    using Nodes = std::vector<NodeCost>;

    /// What torch.vmap does to a node: over which values it goes, and how many examples the node runs for.
    struct Examples {
        const BatchLevels& levels;
        std::optional<std::int64_t> count;
    };

    static std::int64_t sumOf(const Nodes& nodes) {
        Count total(0);
        for (const NodeCost& node : nodes) {
            total += Count(node.cost.flops);
        }
        return total.value().value_or(std::numeric_limits<std::int64_t>::max());
    }

    Nodes countGraph(const Graph& graph, std::int64_t repeats) {
        Nodes nodes;
        BatchLevels levels([&](const Argument& argument) {
            const CostArgument cost = costArgument(graph, argument);
            const auto* number = std::get_if<std::int64_t>(&cost);
            return number == nullptr ? std::nullopt : std::optional(*number);
        });
        for (const Node& node : graph.nodes) {
            const Examples examples{levels, levels.enter(node)};
            const std::string name = operatorNameOf(node.target);
            if (BatchLevels::isTransform(node)) {
                nodes.push_back({node.scope, name, repeats, {Coverage::ZeroByDefinition, 0, 0, 0, 0, 0}, {}});
            } else if (const auto called = calledBy(node, name)) {
                nodes.push_back(countNode(graph, *called, operatorNameOf(called->target), repeats, examples));
            } else if (name.starts_with("higher_order::")) {
                const Nodes inner = countHigherOrder(graph, node, name, repeats, examples);
                nodes.insert(nodes.end(), inner.begin(), inner.end());
            } else {
                nodes.push_back(countNode(graph, node, name, repeats, examples));
            }
        }
        return nodes;
    }

    NodeCost countNode(const Graph& graph, const Node& node, const std::string& name, std::int64_t repeats,
                       const Examples& examples) {
        OperatorCall call;
        call.name = name;
        m_isComplete = true;
        m_levels = &examples.levels;
        call.inputs = inputsOf(graph, node, name);
        for (const Argument& output : node.outputs) {
            call.outputs.push_back(costArgument(graph, output));
        }
        m_levels = nullptr;
        NodeCost result{node.scope, name, repeats, operatorCost(call),
                        "there is no formula for it, and the graph does not show which operators it calls"};
        if (!m_isComplete) {
            spoil(result, "a size that it depends on is known in a run only");
        } else if (!examples.count) {
            spoil(result, "the graph does not say for how many examples torch.vmap runs it");
            result.cost.otherFlops.reset();
        }
        // The bytes know already which operands there are many of.
        const auto bytes = result.cost.bytesMoved;
        repeat(result, examples.count.value_or(1));
        result.cost.bytesMoved = bytes;
        repeat(result, repeats);
        if (result.cost.coverage != Coverage::Unknown) {
            result.reason.clear();
        }
        return result;
    }

    static void spoil(NodeCost& node, const char* reason) {
        if (node.cost.coverage == Coverage::ZeroByDefinition) {
            node.cost.bytesMoved.reset();
        } else {
            node.cost = {};
            node.reason = reason;
        }
    }

    static void repeat(NodeCost& node, std::int64_t repeats) {
        OperatorCost& cost = node.cost;
        Count flops(cost.flops);
        flops *= repeats;
        if (!flops.value()) {
            spoil(node, "its FLOPs are too large a number");
            return;
        }
        cost.flops = *flops.value();
        for (std::int64_t* part : {&cost.recomputedFlops, &cost.maskedFlops}) {
            Count count(*part);
            count *= repeats;
            *part = count.value().value_or(0);
        }
        for (std::optional<std::int64_t>* part : {&cost.bytesMoved, &cost.otherFlops}) {
            if (*part) {
                Count count(**part);
                count *= repeats;
                *part = count.value();
            }
        }
    }

    /// By schema position where the formula names its arguments, else in the order of the graph.
    std::vector<CostArgument> inputsOf(const Graph& graph, const Node& node, const std::string& name) {
        const FormulaRow* row = findFormula(name);
        const std::vector<std::string_view> names = row == nullptr ? std::vector<std::string_view>() : wordsOf(row->arguments);
        std::vector<CostArgument> inputs(names.size(), CostNone{});
        std::vector<CostArgument> others;
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            const auto place = std::find(names.begin(), names.end(), node.inputs[i].name);
            CostArgument argument = costArgument(graph, node.inputs[i].argument);
            if (place != names.end()) {
                inputs[static_cast<std::size_t>(place - names.begin())] = std::move(argument);
            } else {
                others.push_back(std::move(argument));
            }
        }
        // What the formula does not read still moves bytes.
        inputs.insert(inputs.end(), others.begin(), others.end());
        return inputs;
    }

    std::optional<std::int64_t> sizeOf(const SymbolicInteger& size) const {
        if (size.literal) {
            return size.literal;
        }
        if (const auto value = evaluateSize(size.expression, m_symbols)) {
            return value;
        }
        // The hint belongs to the sample's sizes: worthless once the caller changed one of them.
        const bool isChanged = std::any_of(m_given.begin(), m_given.end(),
                                           [&](const auto& symbol) { return mentionsSymbol(size.expression, symbol.first); });
        return isChanged ? std::nullopt : size.hint;
    }

    CostArgument costTensor(const Graph& graph, ValueId id) {
        if (id < 0) {
            return CostNone{};
        }
        const Value& value = graph.values[static_cast<std::size_t>(id)];
        if (value.integer) {
            const auto size = sizeOf(*value.integer);
            return size ? CostArgument(*size) : CostArgument(CostOther{});
        }
        if (!value.tensor) {
            return CostOther{};
        }
        CostTensor tensor;
        tensor.dtype = value.tensor->dtype;
        tensor.examples = m_levels == nullptr ? 1 : m_levels->examplesOf(id).value_or(1);
        for (const SymbolicInteger& size : value.tensor->sizes) {
            const auto known = sizeOf(size);
            if (!known || *known < 0) {
                m_isComplete = false;
                return CostOther{};
            }
            tensor.shape.push_back(*known);
        }
        for (const SymbolicInteger& stride : value.tensor->strides) {
            const auto known = sizeOf(stride);
            if (!known) {
                tensor.strides.clear();  // Taken as contiguous.
                break;
            }
            tensor.strides.push_back(*known);
        }
        return tensor;
    }

    CostArgument costList(const Graph& graph, const std::vector<ValueId>& values) {
        std::vector<CostTensor> tensors;
        for (const ValueId id : values) {
            CostArgument item = costTensor(graph, id);
            if (auto* tensor = std::get_if<CostTensor>(&item)) {
                tensors.push_back(std::move(*tensor));
            }
        }
        return tensors;
    }

    CostArgument costMixed(const Graph& graph, const MixedListArgument& list) {
        std::vector<std::int64_t> values;
        for (std::size_t i = 0; i < list.values.size(); ++i) {
            std::int64_t element = list.integerLiterals[i];
            if (list.values[i] >= 0) {
                const CostArgument item = costTensor(graph, list.values[i]);
                const auto* known = std::get_if<std::int64_t>(&item);
                if (known == nullptr) {
                    return CostOther{};
                }
                element = *known;
            }
            values.push_back(element);
        }
        return values;
    }

    CostArgument costArgument(const Graph& graph, const Argument& argument) {
        if (const auto* value = std::get_if<ValueArgument>(&argument)) {
            return costTensor(graph, value->value);
        }
        if (const auto* list = std::get_if<ValueListArgument>(&argument)) {
            return costList(graph, list->values);
        }
        if (const auto* number = std::get_if<IntegerArgument>(&argument)) {
            return number->value;
        }
        if (const auto* number = std::get_if<FloatArgument>(&argument)) {
            return number->value;
        }
        if (const auto* flag = std::get_if<BooleanArgument>(&argument)) {
            return flag->value;
        }
        if (const auto* text = std::get_if<StringArgument>(&argument)) {
            return text->value;
        }
        if (const auto* list = std::get_if<IntegerListArgument>(&argument)) {
            return list->values;
        }
        if (const auto* list = std::get_if<BooleanListArgument>(&argument)) {
            return list->values;
        }
        if (const auto* list = std::get_if<MixedListArgument>(&argument)) {
            return costMixed(graph, *list);
        }
        return std::holds_alternative<NoneArgument>(argument) ? CostArgument(CostNone{}) : CostArgument(CostOther{});
    }

    Nodes countHigherOrder(const Graph& graph, const Node& node, const std::string& name, std::int64_t repeats,
                           const Examples& examples) {
        NodeCost own{node.scope, name, repeats, {}, "which branch runs and how often a loop turns is known in a run only"};
        std::vector<Nodes> bodies;
        const bool isLoop = name == "higher_order::map_impl" || name == "higher_order::scan";
        const auto steps = isLoop ? stepsOf(graph, node, name) : std::optional<std::int64_t>(1);
        Count inner(repeats);
        inner *= steps.value_or(1);
        for (const NamedArgument& input : node.inputs) {
            if (const auto* body = std::get_if<GraphArgument>(&input.argument)) {
                bodies.push_back(countGraph(*body->graph, inner.value().value_or(repeats)));
            }
        }
        const bool isKnown = isLoop ? steps && inner.value() : isWrapper(name);
        own.cost.coverage = isKnown && examples.count == 1 ? Coverage::ZeroByDefinition : Coverage::Unknown;
        if (examples.count != 1) {
            own.reason = "torch.vmap goes over an operator that takes graphs";
        }
        own.cost.bytesMoved = 0;
        own.cost.otherFlops = 0;
        if (name == "higher_order::cond" && bodies.size() == 2) {
            const bool isFirst = sumOf(bodies[0]) >= sumOf(bodies[1]);
            if (sumOf(bodies[0]) == sumOf(bodies[1]) && examples.count == 1) {
                own.cost.coverage = Coverage::ZeroByDefinition;
            }
            bodies = {std::move(bodies[isFirst ? 0 : 1])};
        }
        if (own.cost.coverage != Coverage::Unknown) {
            own.reason.clear();
        }
        Nodes nodes{own};
        for (const Nodes& body : bodies) {
            nodes.insert(nodes.end(), body.begin(), body.end());
        }
        return nodes;
    }

    /// Length of the first dimension that map_impl(graph, xs, extra) and scan(graph, init, xs, extra) run over.
    std::optional<std::int64_t> stepsOf(const Graph& graph, const Node& node, const std::string& name) {
        const std::size_t position = name == "higher_order::scan" ? 2 : 1;
        if (node.inputs.size() <= position) {
            return std::nullopt;
        }
        const CostArgument argument = costArgument(graph, node.inputs[position].argument);
        const auto* list = std::get_if<std::vector<CostTensor>>(&argument);
        const auto* one = std::get_if<CostTensor>(&argument);
        const CostTensor* first = list != nullptr && !list->empty() ? &list->front() : one;
        return first == nullptr || first->shape.empty() ? std::nullopt : std::optional(first->shape[0]);
    }

    const Symbols& m_given;
    Symbols m_symbols;
    bool m_isComplete = true;
    const BatchLevels* m_levels = nullptr;  ///< While the arguments of a node are read.
};

}  // namespace

StaticCosts staticCosts(const Program& program, const std::map<std::string, std::int64_t>& symbols) {
    return Counter(program, symbols).run(program);
}

}  // namespace modulelens::graph
