// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ModelJson.h"
#include "backend/graph/ProgramArchive.h"
#include "backend/graph/ScopeTable.h"

#include <unordered_map>

namespace modulelens::graph {

namespace {

constexpr std::int64_t kSchemaMajor = 8;

/// Builds one graph; sub-graphs get builders of their own, since their names are their own. Confined to its thread.
class GraphBuilder {
public:
    GraphBuilder(ScopeTable& scopes, int enclosingScope) : m_scopes(scopes), m_enclosingScope(enclosingScope) {}

    [[nodiscard]] Graph build(const JsonNode& source) {
        readValues(source);
        for (const JsonNode& input : array(member(source, "inputs"), "the list of graph inputs")) {
            m_graph.inputs.push_back(argument(input, Use::Defines));
        }
        const JsonNode& nodes = array(member(source, "nodes"), "the list of nodes");
        m_graph.nodes.reserve(nodes.size());
        for (const JsonNode& item : nodes) {
            m_graph.nodes.push_back(node(item));
        }
        for (const JsonNode& output : array(member(source, "outputs"), "the list of graph outputs")) {
            m_graph.outputs.push_back(argument(output, Use::Reads));
        }
        return std::move(m_graph);
    }

    /// Reads one argument that stands outside the nodes, such as the constant of an input.
    [[nodiscard]] static Argument constant(const JsonNode& source) {
        ScopeTable unused;
        return GraphBuilder(unused, 0).argument(source, Use::Reads);
    }

private:
    enum class Use { Defines, Reads };

    void readValues(const JsonNode& source) {
        const auto each = [&](std::string_view key, auto read) {
            const JsonNode* values = findMember(source, key);
            if (values == nullptr) {
                return;
            }
            forEachMember(*values, key, [&](const std::string& name, const JsonNode& meta) {
                if (m_ids.contains(name)) {
                    failCorrupt("the value '" + name + "' is described twice");
                }
                read(m_graph.values[static_cast<std::size_t>(add(name))], meta);
            });
        };
        each("tensor_values", [](Value& value, const JsonNode& meta) {
            value.kind = ValueKind::Tensor;
            value.tensor = tensorMeta(meta);
        });
        each("sym_int_values", [](Value& value, const JsonNode& size) {
            value.kind = ValueKind::SymbolicInteger;
            value.integer = symbolicInteger(size);
        });
        each("sym_bool_values", [](Value& value, const JsonNode&) { value.kind = ValueKind::SymbolicBoolean; });
        each("sym_float_values", [](Value& value, const JsonNode&) { value.kind = ValueKind::SymbolicFloat; });
    }

    ValueId add(const std::string& name) {
        const auto id = static_cast<ValueId>(m_graph.values.size());
        m_ids.emplace(name, id);
        m_graph.values.push_back({name, ValueKind::Other, {}, {}});
        m_isDefined.push_back(false);
        return id;
    }

    /// The value of that name. What is read must have been defined before, and nothing is defined twice.
    ValueId value(const JsonNode& name, Use use, ValueKind kind) {
        const std::string key = text(name, "the name of a value");
        const auto known = m_ids.find(key);
        const ValueId id = known != m_ids.end() ? known->second : add(key);
        Value& entry = m_graph.values[static_cast<std::size_t>(id)];
        if (entry.kind == ValueKind::Other) {
            entry.kind = kind;
        }
        const auto place = static_cast<std::size_t>(id);
        if (use == Use::Reads && !m_isDefined[place]) {
            failCorrupt("the value '" + key + "' is used before it is computed");
        }
        if (use == Use::Defines && m_isDefined[place]) {
            failCorrupt("the value '" + key + "' is computed twice");
        }
        m_isDefined[place] = true;
        return id;
    }

    Node node(const JsonNode& source) {
        Node result;
        result.target = text(member(source, "target"), "the target of a node");
        if (const JsonNode* name = findMember(source, "name")) {
            result.name = text(*name, "the name of a node");
        }
        try {
            readNode(source, result);
        } catch (FormatError& error) {
            error.error = error.error.within("node '" + result.name + "' (" + result.target + ")");
            throw;
        }
        return result;
    }

    void readNode(const JsonNode& source, Node& result) {
        result.scope = m_enclosingScope;
        if (const JsonNode* metadata = findMember(source, "metadata")) {
            if (const JsonNode* stack = findMember(*metadata, "nn_module_stack")) {
                result.scope = m_scopes.scopeOf(text(*stack, "nn_module_stack"), m_enclosingScope);
            }
            if (const JsonNode* trace = findMember(*metadata, "stack_trace")) {
                result.stackTrace = text(*trace, "stack_trace");
            }
        }
        m_nodeScope = result.scope;
        for (const JsonNode& input : array(member(source, "inputs"), "the inputs")) {
            const JsonNode* name = findMember(input, "name");
            result.inputs.push_back({name == nullptr ? std::string() : text(*name, "the name of an input"),
                                     argument(member(input, "arg"), Use::Reads)});
        }
        for (const JsonNode& output : array(member(source, "outputs"), "the outputs")) {
            result.outputs.push_back(argument(output, Use::Defines));
        }
    }

    Argument argument(const JsonNode& source, Use use) {
        const auto [kind, content] = unionValue(source, "an argument");
        if (kind == "as_none") {
            return NoneArgument{};
        }
        if (kind == "as_tensor") {
            return ValueArgument{value(member(content, "name"), use, ValueKind::Tensor)};
        }
        if (kind == "as_tensors") {
            ValueListArgument list;
            for (const JsonNode& item : array(content, kind)) {
                list.values.push_back(value(member(item, "name"), use, ValueKind::Tensor));
            }
            return list;
        }
        if (kind == "as_optional_tensors") {
            ValueListArgument list;
            list.optional = true;
            for (const JsonNode& item : array(content, kind)) {
                list.values.push_back(optionalTensor(item, use));
            }
            return list;
        }
        if (kind == "as_optional_tensor") {
            const ValueId id = optionalTensor(content, use);
            return id < 0 ? Argument(NoneArgument{}) : Argument(ValueArgument{id});
        }
        if (kind == "as_nested_tensors") {
            TensorListsArgument lists;
            for (const JsonNode& list : array(content, kind)) {
                std::vector<ValueId>& ids = lists.values.emplace_back();
                ids.reserve(array(list, kind).size());
                for (const JsonNode& item : list) {
                    ids.push_back(value(member(item, "name"), use, ValueKind::Tensor));
                }
            }
            return lists;
        }
        if (kind == "as_string_to_argument") {
            return dictionary(content, use);
        }
        if (kind.starts_with("as_sym_")) {
            return symbolic(kind, content, use);
        }
        return literal(kind, content);
    }

    Argument dictionary(const JsonNode& source, Use use) {
        auto entries = std::make_shared<std::vector<NamedArgument>>();
        entries->reserve(source.size());
        forEachMember(source, "a dictionary", [&](const std::string& key, const JsonNode& content) {
            entries->push_back({key, argument(content, use)});
        });
        return DictionaryArgument{std::move(entries)};
    }

    ValueId optionalTensor(const JsonNode& source, Use use) {
        const JsonNode* tensor = findMember(source, "as_tensor");
        return tensor == nullptr ? -1 : value(member(*tensor, "name"), use, ValueKind::Tensor);
    }

    Argument symbolic(std::string_view kind, const JsonNode& content, Use use) {
        if (kind == "as_sym_int") {
            return symbolicScalar(content, use, ValueKind::SymbolicInteger);
        }
        if (kind == "as_sym_float") {
            return symbolicScalar(content, use, ValueKind::SymbolicFloat);
        }
        if (kind == "as_sym_bool") {
            return symbolicScalar(content, use, ValueKind::SymbolicBoolean);
        }
        if (kind == "as_sym_ints") {
            return mixedList(content, use, MixedListArgument::Element::Integer, ValueKind::SymbolicInteger);
        }
        if (kind == "as_sym_floats") {
            return mixedList(content, use, MixedListArgument::Element::Float, ValueKind::SymbolicFloat);
        }
        if (kind == "as_sym_bools") {
            return mixedList(content, use, MixedListArgument::Element::Boolean, ValueKind::SymbolicBoolean);
        }
        return UnsupportedArgument{std::string(kind)};
    }

    Argument symbolicScalar(const JsonNode& source, Use use, ValueKind kind) {
        const auto [form, content] = unionValue(source, "a symbolic number");
        if (form == "as_name") {
            return ValueArgument{value(content, use, kind)};
        }
        return literal(form, content);
    }

    Argument mixedList(const JsonNode& source, Use use, MixedListArgument::Element element, ValueKind kind) {
        MixedListArgument list;
        list.element = element;
        for (const JsonNode& item : array(source, "a list of symbolic numbers")) {
            const auto [form, content] = unionValue(item, "a symbolic number");
            list.values.push_back(-1);
            list.literals.push_back(0);
            list.integerLiterals.push_back(0);
            if (form == "as_name") {
                list.values.back() = value(content, use, kind);
            } else if (form == "as_int") {
                list.integerLiterals.back() = integer(content, "an element");
                list.literals.back() = static_cast<double>(list.integerLiterals.back());
            } else if (form == "as_float") {
                list.literals.back() = number(content, "an element");
            } else if (form == "as_bool") {
                list.integerLiterals.back() = boolean(content, "an element") ? 1 : 0;
                list.literals.back() = static_cast<double>(list.integerLiterals.back());
            } else {
                failCorrupt("an element is of the unknown kind '" + std::string(form.substr(0, 40)) + "'");
            }
        }
        return list;
    }

    static std::int64_t readInteger(const JsonNode& source, std::string_view what) { return integer(source, what); }
    static std::string readText(const JsonNode& source, std::string_view what) { return text(source, what); }

    template <class List, class Read>
    static List readList(const JsonNode& content, std::string_view kind, Read read) {
        List list;
        for (const JsonNode& item : array(content, kind)) {
            list.values.push_back(read(item, "an element"));
        }
        return list;
    }

    Argument literal(std::string_view kind, const JsonNode& content) {
        if (kind == "as_int") {
            return IntegerArgument{integer(content, kind)};
        }
        if (kind == "as_ints") {
            return readList<IntegerListArgument>(content, kind, readInteger);
        }
        if (kind == "as_float") {
            return FloatArgument{number(content, kind)};
        }
        if (kind == "as_floats") {
            return readList<FloatListArgument>(content, kind, number);
        }
        if (kind == "as_bool") {
            return BooleanArgument{boolean(content, kind)};
        }
        if (kind == "as_bools") {
            return readList<BooleanListArgument>(content, kind, boolean);
        }
        if (kind == "as_string") {
            return StringArgument{text(content, kind)};
        }
        if (kind == "as_strings") {
            return readList<StringListArgument>(content, kind, readText);
        }
        if (kind == "as_int_lists") {
            return readList<IntegerListsArgument>(content, kind, [&](const JsonNode& list, auto) {
                return readList<IntegerListArgument>(list, kind, readInteger).values;
            });
        }
        if (kind == "as_float_lists") {
            return readList<FloatListsArgument>(content, kind, [&](const JsonNode& list, auto) {
                return readList<FloatListArgument>(list, kind, number).values;
            });
        }
        if (kind == "as_operator") {
            return OperatorArgument{text(content, kind)};
        }
        if (kind == "as_complex") {
            return ComplexArgument{{number(member(content, "real"), kind), number(member(content, "imag"), kind)}};
        }
        if (kind == "as_scalar_type") {
            return ScalarTypeArgument{scalarTypeFromExport(content)};
        }
        if (kind == "as_layout") {
            return LayoutArgument{layoutFromExport(content)};
        }
        if (kind == "as_memory_format") {
            return MemoryFormatArgument{memoryFormatFromExport(content)};
        }
        if (kind == "as_device") {
            return device(content);
        }
        if (kind == "as_graph") {
            std::string name = text(member(content, "name"), "the name of a sub-graph");
            Graph graph = GraphBuilder(m_scopes, m_nodeScope).build(member(content, "graph"));
            return GraphArgument{std::move(name), std::make_shared<const Graph>(std::move(graph))};
        }
        return UnsupportedArgument{std::string(kind)};
    }

    static Argument device(const JsonNode& content) {
        DeviceArgument result;
        result.type = text(member(content, "type"), "a device type");
        if (const JsonNode* index = findMember(content, "index")) {
            const std::int64_t place = integer(*index, "a device index");
            if (place < -1 || place > 1'000'000) {
                failCorrupt("a device index is out of range");
            }
            result.index = static_cast<int>(place);
        }
        return result;
    }

    ScopeTable& m_scopes;
    int m_enclosingScope;
    int m_nodeScope = 0;
    Graph m_graph;
    std::unordered_map<std::string, ValueId> m_ids;
    std::vector<bool> m_isDefined;
};

InputSpec inputSpec(const JsonNode& source) {
    const auto [kind, content] = unionValue(source, "an input specification");
    InputSpec spec;
    const auto target = [&](std::string_view key) { return text(member(content, key), key); };
    if (kind == "user_input") {
        spec.kind = InputKind::UserInput;
    } else if (kind == "parameter") {
        spec.kind = InputKind::Parameter;
        spec.target = target("parameter_name");
    } else if (kind == "buffer") {
        spec.kind = InputKind::Buffer;
        spec.target = target("buffer_name");
        if (const JsonNode* persistent = findMember(content, "persistent")) {
            spec.persistent = boolean(*persistent, "persistent");
        }
    } else if (kind == "tensor_constant") {
        spec.kind = InputKind::TensorConstant;
        spec.target = target("tensor_constant_name");
    } else if (kind == "constant_input") {
        spec.kind = InputKind::ConstantInput;
        spec.target = target("name");
        spec.constant = GraphBuilder::constant(member(content, "value"));
    } else if (kind == "custom_obj") {
        spec.kind = InputKind::CustomObject;
        spec.target = target("custom_obj_name");
    } else if (kind == "token") {
        spec.kind = InputKind::Token;
    } else {
        failUnsupported("an input is of the unknown kind '" + std::string(kind.substr(0, 40)) + "'", "Update ModuleLens.");
    }
    return spec;
}

OutputSpec outputSpec(const JsonNode& source) {
    const auto [kind, content] = unionValue(source, "an output specification");
    OutputSpec spec;
    const auto target = [&](std::string_view key) { return text(member(content, key), key); };
    if (kind == "user_output") {
        spec.kind = OutputKind::UserOutput;
    } else if (kind == "buffer_mutation") {
        spec.kind = OutputKind::BufferMutation;
        spec.target = target("buffer_name");
    } else if (kind == "user_input_mutation") {
        spec.kind = OutputKind::UserInputMutation;
        spec.target = target("user_input_name");
    } else if (kind == "parameter_mutation") {
        spec.kind = OutputKind::ParameterMutation;
        spec.target = target("parameter_name");
    } else if (kind == "loss_output") {
        spec.kind = OutputKind::LossOutput;
    } else {
        spec.kind = OutputKind::Other;
    }
    return spec;
}

void readSignature(const JsonNode& signature, Program& program) {
    for (const JsonNode& spec : array(member(signature, "input_specs"), "input_specs")) {
        program.inputs.push_back(inputSpec(spec));
    }
    for (const JsonNode& spec : array(member(signature, "output_specs"), "output_specs")) {
        program.outputs.push_back(outputSpec(spec));
    }
    if (program.inputs.size() != program.graph.inputs.size() || program.outputs.size() != program.graph.outputs.size()) {
        failCorrupt("the signature has another number of inputs or outputs than the graph");
    }
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
        const InputKind kind = program.inputs[i].kind;
        const bool isTensor = kind == InputKind::Parameter || kind == InputKind::Buffer || kind == InputKind::TensorConstant;
        if (isTensor && !std::holds_alternative<ValueArgument>(program.graph.inputs[i])) {
            failCorrupt("the input for '" + program.inputs[i].target + "' is no tensor");
        }
    }
}

void readRanges(const JsonNode& source, Program& program) {
    const JsonNode* ranges = findMember(source, "range_constraints");
    if (ranges == nullptr) {
        return;
    }
    forEachMember(*ranges, "range_constraints", [&](const std::string& symbol, const JsonNode& limits) {
        SymbolRange range;
        const JsonNode* minimum = findMember(limits, "min_val");
        const JsonNode* maximum = findMember(limits, "max_val");
        if (minimum != nullptr && minimum->type() == JsonNode::Type::Integer) {
            range.minimum = integer(*minimum, "min_val");
        }
        if (maximum != nullptr && maximum->type() == JsonNode::Type::Integer) {
            range.maximum = integer(*maximum, "max_val");
        }
        program.ranges.emplace(symbol, range);
    });
}

std::shared_ptr<const Program> readProgram(std::string_view modelJson, const std::string& displayName) {
    const JsonTree tree = parseTree(modelJson, displayName);
    const JsonNode& source = tree.root();
    const std::int64_t major = integer(member(member(source, "schema_version"), "major"), "schema_version.major");
    if (major != kSchemaMajor) {
        failUnsupported("the program has torch.export schema version " + std::to_string(major) +
                            ", and this ModuleLens reads version " + std::to_string(kSchemaMajor),
                        major > kSchemaMajor ? "Update ModuleLens." : "Export the module again with torch 2.9 or newer.");
    }
    auto program = std::make_shared<Program>();
    ScopeTable scopes;
    const JsonNode& module = member(source, "graph_module");
    program->graph = GraphBuilder(scopes, 0).build(member(module, "graph"));
    program->scopes = scopes.take();
    readSignature(member(module, "signature"), *program);
    readRanges(source, *program);
    if (const JsonNode* version = findMember(source, "torch_version")) {
        program->torchVersion = text(*version, "torch_version");
    }
    if (const JsonNode* verifiers = findMember(source, "verifiers"); verifiers != nullptr && verifiers->isArray()) {
        program->verifier = verifiers->size() == 0 ? std::string() : text(*verifiers->begin(), "verifiers");
    }
    return program;
}

}  // namespace

base::Result<std::shared_ptr<const Program>> parseProgram(std::string_view modelJson, const std::string& displayName) {
    return readFormat(displayName, [&] { return readProgram(modelJson, displayName); });
}

}  // namespace modulelens::graph
