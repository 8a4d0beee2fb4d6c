// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/CalledOperators.h"

#include "backend/engine/Plan.h"
#include "backend/engine/TorchTypes.h"

#include <ATen/Functions.h>
#include <ATen/OpMathType.h>
#include <ATen/native/TypeProperties.h>
#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace modulelens::engine {

namespace {

constexpr std::string_view kFirst = "torch.ops.higher_order.auto_functionalized";
constexpr std::string_view kSecond = "torch.ops.higher_order.auto_functionalized_v2";
constexpr std::string_view kWithEffects = "torch.ops.higher_order.with_effects";
constexpr std::string_view kOutDtype = "torch.ops.higher_order.out_dtype";

bool callsAnother(const graph::Node& node) {
    return node.target == kFirst || node.target == kSecond || node.target == kWithEffects || node.target == kOutDtype;
}

/// A node that is not built as PyTorch builds it.
class Malformed : public std::exception {};

graph::ValueId valueOf(const graph::Argument& argument) {
    const auto* value = std::get_if<graph::ValueArgument>(&argument);
    if (value == nullptr) {
        throw Malformed();
    }
    return value->value;
}

std::size_t countOf(const graph::Argument& argument, std::size_t most) {
    const auto* number = std::get_if<graph::IntegerArgument>(&argument);
    if (number == nullptr || number->value < 0 || static_cast<std::size_t>(number->value) > most) {
        throw Malformed();
    }
    return static_cast<std::size_t>(number->value);
}

const std::string& operatorOf(const graph::Node& node, std::size_t position) {
    const auto* called =
        node.inputs.size() <= position ? nullptr : std::get_if<graph::OperatorArgument>(&node.inputs[position].argument);
    if (called == nullptr) {
        throw Malformed();
    }
    return called->value;
}

graph::Node nodeFor(const graph::Node& origin, std::string target) {
    graph::Node node;
    node.name = origin.name;
    node.target = std::move(target);
    node.scope = origin.scope;
    node.stackTrace = origin.stackTrace;
    return node;
}

graph::ValueId newTensor(graph::Graph& graph, const graph::Node& origin) {
    graph.values.push_back({origin.name, graph::ValueKind::Tensor, {}, {}});
    return static_cast<graph::ValueId>(graph.values.size()) - 1;
}

/// with_effects(token, operator, …) -> token, …: the token only orders effects, and those happen in the order of the nodes anyway.
std::vector<graph::Node> withoutToken(const graph::Node& node) {
    graph::Node inner = nodeFor(node, operatorOf(node, 1));
    if (node.outputs.empty()) {
        throw Malformed();
    }
    inner.inputs.assign(node.inputs.begin() + 2, node.inputs.end());
    inner.outputs.assign(node.outputs.begin() + 1, node.outputs.end());
    while (!inner.outputs.empty() && std::holds_alternative<graph::NoneArgument>(inner.outputs.back())) {
        inner.outputs.pop_back();
    }
    return {inner};
}

/// The type that PyTorch computes `node`'s operands in: their common one with `wanted`, halves as floats.
c10::ScalarType commonType(const graph::Graph& graph, const graph::Node& node, base::ScalarType wanted) {
    at::native::ResultTypeState state;
    const auto add = [&](base::ScalarType dtype, std::size_t rank) {
        const at::Tensor tensor = at::empty(std::vector<std::int64_t>(rank == 0 ? 0 : 1, 0), torchType(dtype));
        state = at::native::update_result_type_state(tensor, state);
    };
    add(wanted, 1);
    for (const graph::NamedArgument& input : node.inputs) {
        if (const auto* integer = std::get_if<graph::IntegerArgument>(&input.argument)) {
            state = at::native::update_result_type_state(at::Scalar(integer->value), state);
        } else if (const auto* real = std::get_if<graph::FloatArgument>(&input.argument)) {
            state = at::native::update_result_type_state(at::Scalar(real->value), state);
        } else if (const auto* value = std::get_if<graph::ValueArgument>(&input.argument);
                   value != nullptr && value->value >= 0) {
            const std::optional<graph::TensorMeta>& meta = graph.values.at(static_cast<std::size_t>(value->value)).tensor;
            if (!meta) {
                throw Malformed();
            }
            add(meta->dtype, meta->sizes.size());
        }
    }
    return at::toOpMathType(at::native::result_type(state));
}

/// out_dtype(operator, type, …): the operands as a common type, the operator, its result as `type`.
std::vector<graph::Node> withCasts(const graph::Node& node, graph::Graph& graph) {
    const auto* wanted = node.inputs.size() < 2 ? nullptr : std::get_if<graph::ScalarTypeArgument>(&node.inputs[1].argument);
    graph::Node call = nodeFor(node, operatorOf(node, 0));
    if (wanted == nullptr || node.outputs.size() != 1) {
        throw Malformed();
    }
    std::vector<graph::Node> nodes;
    const auto cast = [&](graph::ValueId from, graph::ValueId to, base::ScalarType type) {
        graph::Node& added = nodes.emplace_back(nodeFor(node, "torch.ops.aten.to.dtype"));
        added.inputs = {{"self", graph::ValueArgument{from}}, {"dtype", graph::ScalarTypeArgument{type}}};
        added.outputs = {graph::ValueArgument{to}};
    };
    call.inputs.assign(node.inputs.begin() + 2, node.inputs.end());
    const base::ScalarType common = captureType(commonType(graph, call, wanted->value));
    for (graph::NamedArgument& input : call.inputs) {
        if (auto* value = std::get_if<graph::ValueArgument>(&input.argument); value != nullptr && value->value >= 0) {
            const graph::ValueId as = newTensor(graph, node);
            cast(value->value, as, common);
            value->value = as;
        }
    }
    call.outputs = {graph::ValueArgument{newTensor(graph, node)}};
    const graph::ValueId product = valueOf(call.outputs[0]);
    nodes.push_back(std::move(call));
    cast(product, valueOf(node.outputs[0]), wanted->value);
    return nodes;
}

/// Takes one auto_functionalized node apart. Confined to its thread.
class Functionalized {
public:
    Functionalized(const graph::Node& node, graph::Graph& graph) : m_node(node), m_graph(graph) {
        for (std::size_t i = 1; i < node.inputs.size(); ++i) {
            m_given.insert_or_assign(node.inputs[i].name, node.inputs[i].argument);
        }
    }

    /// The nodes that take its place. Throws Malformed.
    std::vector<graph::Node> run() {
        graph::Node call = nodeFor(m_node, operatorOf(m_node, 0));
        if (const std::optional<c10::OperatorHandle> operation = findOperator(call.target)) {
            bind(call, operation->schema());
        }
        m_nodes.push_back(std::move(call));
        return std::move(m_nodes);
    }

private:
    using Arguments = std::map<std::string, graph::Argument>;
    using Names = std::vector<std::string>;

    static Names changedBy(const c10::FunctionSchema& schema) {
        Names names;
        for (const c10::Argument& argument : schema.arguments()) {
            if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) {
                names.push_back(argument.name());
            }
        }
        return names;
    }

    void bind(graph::Node& call, const c10::FunctionSchema& schema) {
        const Names changed = changedBy(schema);
        const std::vector<graph::Argument>& outputs = m_node.outputs;
        const std::size_t returned = schema.returns().size();
        Arguments arguments;
        if (std::all_of(changed.begin(), changed.end(),
                        [&](const auto& name) { return m_given.contains("_" + name + "_dtype"); })) {
            // Only written, so there is nothing to copy; the outputs are what the operator returns.
            for (const std::string& name : changed) {
                arguments[name] = reserved(name);
            }
            m_given.erase("_all_bases");
            call.outputs = outputs;
        } else {
            // Outputs: what the operator returns, or one None, then the copies.
            const std::size_t first = std::max<std::size_t>(returned, 1);
            if (outputs.size() < first) {
                throw Malformed();
            }
            const auto copies = outputs.begin() + static_cast<std::ptrdiff_t>(first);
            call.outputs.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(returned));
            arguments = onCopies(changed, {copies, outputs.end()});
        }
        arguments.merge(m_given);
        for (auto& [name, argument] : arguments) {
            call.inputs.push_back({name, std::move(argument)});
        }
    }

    Arguments onCopies(const Names& changed, const std::vector<graph::Argument>& copies) {
        Arguments arguments;
        if (m_node.target == kSecond) {
            copyBases(copies);
            for (const std::string& name : changed) {
                arguments[name] = viewsOf(name);
            }
            return arguments;
        }
        if (copies.size() != changed.size()) {
            throw Malformed();
        }
        for (std::size_t i = 0; i < changed.size(); ++i) {
            arguments[changed[i]] = copyOf(take(changed[i]), copies[i]);
        }
        return arguments;
    }

    void copyBases(const std::vector<graph::Argument>& copies) {
        const graph::Argument bases = take("_all_bases");
        const auto* list = std::get_if<graph::ValueListArgument>(&bases);
        const bool isEmpty = std::holds_alternative<graph::IntegerListArgument>(bases);
        if ((list == nullptr && !isEmpty) || (isEmpty ? 0 : list->values.size()) != copies.size()) {
            throw Malformed();
        }
        for (std::size_t i = 0; i < copies.size(); ++i) {
            const graph::Argument copy = copyOf(graph::ValueArgument{list->values[i]}, copies[i]);
            m_bases.push_back(std::holds_alternative<graph::NoneArgument>(copy) ? -1 : valueOf(copy));
        }
    }

    /// Copies a value, a list of them or nothing into `result`, where the graph reads the copy.
    graph::Argument copyOf(const graph::Argument& original, const graph::Argument& result) {
        if (const auto* list = std::get_if<graph::ValueListArgument>(&original)) {
            const auto* results = std::get_if<graph::ValueListArgument>(&result);
            if (results != nullptr && results->values.size() != list->values.size()) {
                throw Malformed();
            }
            graph::ValueListArgument copies;
            for (std::size_t i = 0; i < list->values.size(); ++i) {
                copies.values.push_back(copyOfValue(list->values[i], results == nullptr ? -1 : results->values[i]));
            }
            return copies;
        }
        if (std::holds_alternative<graph::NoneArgument>(original) || valueOf(original) < 0) {
            return graph::NoneArgument{};
        }
        const auto* value = std::get_if<graph::ValueArgument>(&result);
        return graph::ValueArgument{copyOfValue(valueOf(original), value == nullptr ? -1 : value->value)};
    }

    graph::ValueId copyOfValue(graph::ValueId original, graph::ValueId result) {
        const graph::ValueId copy = result >= 0 ? result : newTensor(m_graph, m_node);
        graph::Node& node = m_nodes.emplace_back(nodeFor(m_node, std::string(kCloneWithStrides)));
        node.inputs = {{"x", graph::ValueArgument{original}}};
        node.outputs = {graph::ValueArgument{copy}};
        return copy;
    }

    graph::Argument viewsOf(const std::string& argument) {
        const std::string length = "_" + argument + "_length";
        if (!m_given.contains(length)) {
            return viewOf("_" + argument);
        }
        graph::Argument given = take(length);
        if (std::holds_alternative<graph::NoneArgument>(given)) {
            return given;
        }
        graph::ValueListArgument list;
        const std::size_t count = countOf(given, m_given.size());
        for (std::size_t i = 0; i < count; ++i) {
            const graph::Argument view = viewOf("_" + argument + "_" + std::to_string(i));
            const bool isNone = std::holds_alternative<graph::NoneArgument>(view);
            list.values.push_back(isNone ? -1 : valueOf(view));
            list.optional = list.optional || isNone;
        }
        return list;
    }

    /// The part of a copied base that one argument was of the original.
    graph::Argument viewOf(const std::string& prefix) {
        graph::Argument index = take(prefix + "_base_index");
        if (std::holds_alternative<graph::NoneArgument>(index)) {
            return index;
        }
        if (m_bases.empty()) {
            throw Malformed();
        }
        const graph::ValueId base = m_bases[countOf(index, m_bases.size() - 1)];
        if (m_given.contains(prefix + "_alias")) {
            (void)take(prefix + "_alias");
            return view("torch.ops.aten.alias.default", {{"self", graph::ValueArgument{base}}});
        }
        if (m_given.contains(prefix + "_storage_offset")) {
            return view("torch.ops.aten.as_strided.default", {{"self", graph::ValueArgument{base}},
                                                              {"size", take(prefix + "_size")},
                                                              {"stride", take(prefix + "_stride")},
                                                              {"storage_offset", take(prefix + "_storage_offset")}});
        }
        if (m_given.contains(prefix + "_slice_dim")) {
            return view("torch.ops.aten.slice.Tensor", {{"self", graph::ValueArgument{base}},
                                                        {"dim", take(prefix + "_slice_dim")},
                                                        {"start", take(prefix + "_slice_start")},
                                                        {"end", take(prefix + "_slice_end")}});
        }
        return graph::ValueArgument{base};
    }

    /// Memory for what the operator only writes.
    graph::Argument reserved(const std::string& argument) {
        const std::string prefix = "_" + argument;
        return view("torch.ops.aten.empty_strided.default", {{"size", take(prefix + "_size")},
                                                             {"stride", take(prefix + "_stride")},
                                                             {"dtype", take(prefix + "_dtype")},
                                                             {"device", take(prefix + "_device")}});
    }

    graph::Argument view(const char* target, std::vector<graph::NamedArgument> inputs) {
        graph::Node& node = m_nodes.emplace_back(nodeFor(m_node, target));
        node.inputs = std::move(inputs);
        node.outputs = {graph::ValueArgument{newTensor(m_graph, m_node)}};
        return node.outputs[0];
    }

    graph::Argument take(const std::string& name) {
        const auto found = m_given.find(name);
        if (found == m_given.end()) {
            throw Malformed();
        }
        graph::Argument argument = std::move(found->second);
        m_given.erase(found);
        return argument;
    }

    const graph::Node& m_node;
    graph::Graph& m_graph;
    Arguments m_given;
    std::vector<graph::ValueId> m_bases;
    std::vector<graph::Node> m_nodes;
};

std::vector<graph::Node> nodesFor(const graph::Node& node, graph::Graph& graph) {
    try {
        return node.target == kWithEffects ? withoutToken(node)
               : node.target == kOutDtype  ? withCasts(node, graph)
                                           : Functionalized(node, graph).run();
    } catch (const Malformed&) {
        return {node};
    }
}

}  // namespace

std::shared_ptr<const graph::Graph> withCalledOperators(const graph::Graph& graph) {
    if (std::none_of(graph.nodes.begin(), graph.nodes.end(), callsAnother)) {
        return nullptr;
    }
    auto result = std::make_shared<graph::Graph>();
    result->values = graph.values;
    result->inputs = graph.inputs;
    result->outputs = graph.outputs;
    for (const graph::Node& node : graph.nodes) {
        if (!callsAnother(node)) {
            result->nodes.push_back(node);
            continue;
        }
        std::vector<graph::Node> nodes = nodesFor(node, *result);
        std::move(nodes.begin(), nodes.end(), std::back_inserter(result->nodes));
    }
    return result;
}

}  // namespace modulelens::engine
