// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/engine/Tape.h"
#include "backend/engine/TorchTypes.h"
#include "backend/graph/Program.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A program prepared for execution: schemas found, arguments bound to slots, dead values known.
namespace modulelens::engine {

struct PlanGraph;

enum class SourceKind : std::uint8_t {
    Constant,
    Slot,             ///< Copy of a slot.
    LastSlot,         ///< The slot's last use: moved out.
    WrappedSlot,      ///< A number where the schema wants a tensor.
    FloatSlot,        ///< An integer where the schema wants a float.
    Tensors,          ///< List<Tensor>
    OptionalTensors,  ///< List<optional<Tensor>>
    Integers,
    Floats,
    Booleans,
    SubGraph,
};

/// Where one argument comes from.
struct ArgumentSource {
    SourceKind kind = SourceKind::Constant;
    int slot = -1;
    c10::IValue constant;
    std::vector<int> slots;              ///< List kinds: -1 where `literals` counts, or None.
    std::vector<c10::IValue> literals;
    std::shared_ptr<const PlanGraph> graph;
};

enum class StepKind : std::uint8_t {
    Operator,
    PythonOperator,
    Cond,
    SetGrad,
    Autocast,
    WhileLoop,
    WhileLoopStackOutput,
    Map,
    Scan,
    AssociativeScan,
    CloneWithStrides,
    Wrap,            ///< A graph that is run as it stands: checkpoints, hints, regions.
    PushVmap,        ///< The calls that torch.vmap becomes.
    AddBatchDimension,
    RemoveBatchDimension,
    PopVmap,
};

/// Python's operators on sizes and flags, which export leaves in the graph.
enum class PythonOperator : std::uint8_t {
    Add,
    Subtract,
    Multiply,
    FloorDivide,
    TrueDivide,
    Modulo,
    Power,
    Negate,
    Absolute,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Not,
    Minimum,
    Maximum,
    ToFloat,
    ToInteger,
    Ceiling,
    Floor,
    Round,
    SquareRoot,
    LeftShift,
    RightShift,
    Positive,
    IfElse,
    GetItem,
};

/// Where one return value goes.
struct StepResult {
    int slot = -1;                       ///< -1: dropped.
    std::vector<int> elements;           ///< For a returned list that the graph takes apart.
    bool isList = false;
};

struct Step {
    StepKind kind = StepKind::Operator;
    PythonOperator python = PythonOperator::Add;
    bool hasListResult = false;
    int id = 0;                          ///< Index in Plan::steps, unique over all sub-graphs.
    const graph::Node* node = nullptr;   ///< Lives as long as the plan.
    std::optional<c10::OperatorHandle> operation;
    std::vector<ArgumentSource> arguments;
    std::vector<StepResult> results;
    std::vector<int> dead;               ///< Slots to clear afterwards.
    std::string name;                    ///< "aten::addmm", "higher_order::cond", "_operator.mul".
};

struct PlanGraph {
    std::vector<int> inputs;             ///< Slot of each input; -1 for one that nothing reads.
    std::vector<ArgumentSource> outputs;
    std::vector<Step> steps;
    Tape tape;                           ///< The same steps for the executor's loop.
    int slotCount = 0;
};

/// Immutable after construction.
struct Plan {
    std::shared_ptr<const graph::Program> program;
    std::vector<std::shared_ptr<const graph::Graph>>
        rewritten;   ///< Graphs whose nodes the steps name in place of the program's.
    PlanGraph root;
    std::vector<const Step*> steps;      ///< Every step of every sub-graph by id.
    int operatorCount = 0;               ///< Steps that are dispatcher operators.
    bool isInferenceSafe = false;        ///< Without autograd it computes in inference mode what it computes outside.
};

/// Prepares `program`. Unsupported: names every operator and argument that this build cannot run, with its source line.
[[nodiscard]] base::Result<std::shared_ptr<const Plan>> makePlan(std::shared_ptr<const graph::Program> program,
                                                                 const DeviceMap& devices);

/// The operator that an exported target such as "torch.ops.aten.mm.default" names, if it is registered here.
[[nodiscard]] std::optional<c10::OperatorHandle> findOperator(std::string_view target);

/// "model.py:12: y = foo(x)" from an exported stack trace, or empty.
[[nodiscard]] std::string sourceLine(const std::string& stackTrace);

}  // namespace modulelens::engine
