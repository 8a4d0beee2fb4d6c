// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/base/ScalarType.h"

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace modulelens::graph {

struct Graph;

/// A value of the graph, by its index in Graph::values; -1 is "no value" (None, or an output that nothing reads).
using ValueId = int;

/// A symbolic or literal size.
struct SymbolicInteger {
    std::optional<std::int64_t> literal;
    std::string expression;            ///< As exported ("Mul(Integer(2), Symbol('s77'))"), empty for a literal.
    std::optional<std::int64_t> hint;  ///< Its value for the sample inputs.
};

/// Shape and type that export recorded for a tensor value.
struct TensorMeta {
    base::ScalarType dtype = base::ScalarType::Float32;
    std::vector<SymbolicInteger> sizes;
    std::vector<SymbolicInteger> strides;
    std::int64_t storageOffset = 0;
    std::string device;                ///< "cpu", "cuda:0".
    bool requiresGrad = false;
    int layout = 7;                    ///< torch's export enumeration: 7 is strided.
};

enum class ValueKind { Tensor, SymbolicInteger, SymbolicBoolean, SymbolicFloat, TensorList, Other };

struct Value {
    std::string name;
    ValueKind kind = ValueKind::Other;
    std::optional<TensorMeta> tensor;      ///< For tensors, when export recorded it.
    std::optional<SymbolicInteger> integer;
};

/// Kinds of an operator argument in the file's own terms; conversions to what the schema wants are the engine's.
struct NoneArgument {};
struct ValueArgument {
    ValueId value = -1;
};                       ///< Tensor or symbolic scalar.
struct ValueListArgument {
    std::vector<ValueId> values;
    bool optional = false;
};  ///< -1 where an element is None.
struct IntegerArgument {
    std::int64_t value = 0;
};
struct FloatArgument {
    double value = 0;
};
struct BooleanArgument {
    bool value = false;
};
struct ComplexArgument {
    std::complex<double> value;
};
struct StringArgument {
    std::string value;
};
struct IntegerListArgument {
    std::vector<std::int64_t> values;
};
struct FloatListArgument {
    std::vector<double> values;
};
struct BooleanListArgument {
    std::vector<bool> values;
};
struct StringListArgument {
    std::vector<std::string> values;
};
/// A list whose elements are literals or values ("as_sym_ints", "as_sym_floats", "as_sym_bools").
struct MixedListArgument {
    enum class Element { Integer, Float, Boolean } element = Element::Integer;
    std::vector<ValueId> values;             ///< -1 where the literal counts.
    std::vector<double> literals;            ///< All elements as numbers; exact only below 2^53.
    std::vector<std::int64_t> integerLiterals;   ///< Integers and booleans, exact.
};
struct ScalarTypeArgument {
    base::ScalarType value = base::ScalarType::Float32;
};
/// c10 enumeration values, already translated from the file's own numbering.
struct LayoutArgument {
    int value = 0;
};
struct MemoryFormatArgument {
    int value = 0;
};
struct DeviceArgument {
    std::string type;
    std::optional<int> index;
};
struct GraphArgument {
    std::string name;
    std::shared_ptr<const Graph> graph;
};
/// An operator as a value: "torch.ops.aten.mm.default". Only higher-order operators take one.
struct OperatorArgument {
    std::string value;
};
struct TensorListsArgument {
    std::vector<std::vector<ValueId>> values;
};
struct IntegerListsArgument {
    std::vector<std::vector<std::int64_t>> values;
};
struct FloatListsArgument {
    std::vector<std::vector<double>> values;
};
struct NamedArgument;
/// Keywords and hints of higher-order operators.
struct DictionaryArgument {
    std::shared_ptr<const std::vector<NamedArgument>> entries;
};
/// A kind that this reader knows of but cannot represent (custom objects), or does not know.
struct UnsupportedArgument {
    std::string kind;
};

using Argument = std::variant<NoneArgument, ValueArgument, ValueListArgument, IntegerArgument, FloatArgument, BooleanArgument,
                              ComplexArgument, StringArgument, IntegerListArgument, FloatListArgument, BooleanListArgument,
                              StringListArgument, MixedListArgument, ScalarTypeArgument, LayoutArgument, MemoryFormatArgument,
                              DeviceArgument, GraphArgument, OperatorArgument, TensorListsArgument, IntegerListsArgument,
                              FloatListsArgument, DictionaryArgument, UnsupportedArgument>;

struct NamedArgument {
    std::string name;           ///< Schema argument name; empty when the file gives none (higher-order operators).
    Argument argument;
};

/// One step of the graph.
struct Node {
    std::string name;
    std::string target;  ///< "torch.ops.aten.addmm.default", "_operator.mul", "torch.ops.higher_order.cond".
    std::vector<NamedArgument> inputs;
    std::vector<Argument> outputs;  ///< ValueArgument, ValueListArgument or NoneArgument.
    int scope = 0;  ///< Index in Program::scopes: the module call that the node belongs to.
    std::string stackTrace;  ///< Python source lines as exported, or empty.
};

struct Graph {
    std::vector<Value> values;
    std::vector<Argument> inputs;  ///< ValueArgument for most; a literal for constant inputs.
    std::vector<Argument> outputs;
    std::vector<Node> nodes;
};

/// One module call in the exported hierarchy. Scope 0 is the exported module itself.
struct Scope {
    std::string key;  ///< Export's own key with its call suffix ("L__self___layer_0@1").
    std::string path;  ///< Module name relative to the exported module; "" for itself.
    std::string className;  ///< As exported: "package.module.QualName".
    int call = 0;
    int parent = -1;
};

enum class InputKind { Parameter, Buffer, TensorConstant, UserInput, ConstantInput, Token, CustomObject };

struct InputSpec {
    InputKind kind = InputKind::UserInput;
    std::string target;  ///< Parameter, buffer or constant name; empty for user inputs.
    bool persistent = true;
    std::optional<Argument> constant;  ///< ConstantInput: the value frozen at export.
};

enum class OutputKind { UserOutput, BufferMutation, UserInputMutation, ParameterMutation, LossOutput, Other };

struct OutputSpec {
    OutputKind kind = OutputKind::UserOutput;
    std::string target;  ///< The buffer, parameter or input that the output is written back to.
};

struct SymbolRange {
    std::optional<std::int64_t> minimum;
    std::optional<std::int64_t> maximum;
};

/// An exported program as plain data. Immutable after construction; shared freely between threads.
struct Program {
    Graph graph;
    std::vector<InputSpec> inputs;  ///< One for each of graph.inputs.
    std::vector<OutputSpec> outputs;  ///< One for each of graph.outputs.
    std::vector<Scope> scopes;  ///< Parents before children.
    std::map<std::string, SymbolRange> ranges;
    std::map<std::string, std::string>
        moduleClasses;  ///< Every module by FQN, containers included, from extra/modulelens.json.
    std::vector<std::string> inputPointers;  ///< JSON Pointer into the call for each user or constant input, in order.
    std::vector<std::string> outputPointers;  ///< For each user output, in order.
    std::string torchVersion;
    std::string verifier;
};

}  // namespace modulelens::graph
