// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Plan.h"

#include "backend/engine/ArgumentBinding.h"
#include "backend/engine/CalledOperators.h"
#include "backend/engine/HigherOrderPlan.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace modulelens::engine {

namespace {

constexpr std::string_view kOperatorPrefix = "torch.ops.";
constexpr std::string_view kHigherOrderPrefix = "torch.ops.higher_order.";
constexpr int kMaximumGraphDepth = 64;

// Last segment of "_operator.mul", "torch.sym_max", "math.ceil" to the operator.
const std::map<std::string_view, PythonOperator>& pythonOperators() {
    static const std::map<std::string_view, PythonOperator> table{{"add", PythonOperator::Add},
                                                                  {"sub", PythonOperator::Subtract},
                                                                  {"mul", PythonOperator::Multiply},
                                                                  {"floordiv", PythonOperator::FloorDivide},
                                                                  {"truediv", PythonOperator::TrueDivide},
                                                                  {"mod", PythonOperator::Modulo},
                                                                  {"pow", PythonOperator::Power},
                                                                  {"neg", PythonOperator::Negate},
                                                                  {"abs", PythonOperator::Absolute},
                                                                  {"lt", PythonOperator::Less},
                                                                  {"le", PythonOperator::LessEqual},
                                                                  {"gt", PythonOperator::Greater},
                                                                  {"ge", PythonOperator::GreaterEqual},
                                                                  {"eq", PythonOperator::Equal},
                                                                  {"ne", PythonOperator::NotEqual},
                                                                  {"and_", PythonOperator::And},
                                                                  {"or_", PythonOperator::Or},
                                                                  {"not_", PythonOperator::Not},
                                                                  {"sym_not", PythonOperator::Not},
                                                                  {"sym_min", PythonOperator::Minimum},
                                                                  {"sym_max", PythonOperator::Maximum},
                                                                  {"sym_float", PythonOperator::ToFloat},
                                                                  {"sym_int", PythonOperator::ToInteger},
                                                                  {"trunc", PythonOperator::ToInteger},
                                                                  {"ceil", PythonOperator::Ceiling},
                                                                  {"floor", PythonOperator::Floor},
                                                                  {"round", PythonOperator::Round},
                                                                  {"_sym_sqrt", PythonOperator::SquareRoot},
                                                                  {"sqrt", PythonOperator::SquareRoot},
                                                                  {"sym_sqrt", PythonOperator::SquareRoot},
                                                                  {"lshift", PythonOperator::LeftShift},
                                                                  {"rshift", PythonOperator::RightShift},
                                                                  {"pos", PythonOperator::Positive},
                                                                  {"sym_ite", PythonOperator::IfElse},
                                                                  {"getitem", PythonOperator::GetItem}};
    return table;
}

// Checks of what export assumed, which are other here (device) or done already, and the loading of Python's own rules.
bool isWithoutEffect(std::string_view target) {
    return target == "torch.ops.aten._assert_tensor_metadata.default" || target == "torch.ops.higher_order.print" ||
           target == "torch._functorch.predispatch.lazy_load_decompositions";
}

struct OperatorName {
    std::string name;      ///< "aten::addmm"
    std::string overload;
};

std::optional<OperatorName> parseOperatorName(std::string_view target) {
    target.remove_prefix(kOperatorPrefix.size());
    const std::size_t first = target.find('.');
    const std::size_t last = target.rfind('.');
    if (first == std::string_view::npos || first == last) {
        return std::nullopt;
    }
    OperatorName result;
    result.name = std::string(target.substr(0, first)) + "::" + std::string(target.substr(first + 1, last - first - 1));
    result.overload = target.substr(last + 1);
    if (result.overload == "default") {
        result.overload.clear();
    }
    return result;
}

// What an operator of torch itself cannot be, a library may still bring.
std::string missingOperator(const std::string& name) {
    const std::string space = name.substr(0, name.find("::"));
    if (space == "aten" || space == "prim" || space == "prims") {
        return "no such operator is registered here";
    }
    return "no such operator is registered here; load the library of the namespace '" + space + "' with --ops-library";
}

void collectSlots(const ArgumentSource& source, std::vector<int>& slots) {
    if (source.slot >= 0) {
        slots.push_back(source.slot);
    }
    std::copy_if(source.slots.begin(), source.slots.end(), std::back_inserter(slots), [](int slot) { return slot >= 0; });
}

// A slot read as a whole by its last reader is moved out of the frame there; everything else is cleared afterwards.
void moveLastUses(Step& step) {
    if (step.kind != StepKind::Operator) {
        return;
    }
    std::erase_if(step.dead, [&](int slot) {
        ArgumentSource* last = nullptr;
        for (ArgumentSource& source : step.arguments) {
            std::vector<int> used;
            collectSlots(source, used);
            if (std::find(used.begin(), used.end(), slot) != used.end()) {
                last = &source;
            }
        }
        if (last == nullptr || last->kind != SourceKind::Slot) {
            return false;
        }
        last->kind = SourceKind::LastSlot;
        return true;
    });
}

void computeLiveness(PlanGraph& graph) {
    std::vector<bool> isLive(static_cast<std::size_t>(graph.slotCount), false);
    std::vector<int> slots;
    for (const ArgumentSource& output : graph.outputs) {
        collectSlots(output, slots);
    }
    for (const int slot : slots) {
        isLive[static_cast<std::size_t>(slot)] = true;
    }
    for (auto step = graph.steps.rbegin(); step != graph.steps.rend(); ++step) {
        slots.clear();
        for (const ArgumentSource& argument : step->arguments) {
            collectSlots(argument, slots);
        }
        for (const StepResult& result : step->results) {
            if (result.slot >= 0) {
                slots.push_back(result.slot);
            }
            std::copy_if(result.elements.begin(), result.elements.end(), std::back_inserter(slots),
                         [](int slot) { return slot >= 0; });
        }
        for (const int slot : slots) {
            if (!isLive[static_cast<std::size_t>(slot)]) {
                isLive[static_cast<std::size_t>(slot)] = true;
                step->dead.push_back(slot);
            }
        }
        moveLastUses(*step);
    }
}

class Planner {
public:
    explicit Planner(const DeviceMap& devices) : m_devices(devices) {}

    PlanGraph build(const graph::Graph& given, int depth) {
        if (depth > kMaximumGraphDepth) {
            throw Failure({base::ErrorCode::Corrupt, "the program nests its sub-graphs too deeply", ""});
        }
        const std::shared_ptr<const graph::Graph> rewritten = withCalledOperators(given);
        if (rewritten) {
            m_rewritten.push_back(rewritten);
        }
        const graph::Graph& source = rewritten ? *rewritten : given;
        PlanGraph result;
        result.slotCount = static_cast<int>(source.values.size());
        for (const graph::Argument& input : source.inputs) {
            const auto* value = std::get_if<graph::ValueArgument>(&input);
            result.inputs.push_back(value != nullptr ? checkedSlot(source, value->value) : -1);
        }
        for (const graph::Node& node : source.nodes) {
            if (!isWithoutEffect(node.target)) {
                addStep(result, source, node, depth);
            }
        }
        for (const graph::Argument& output : source.outputs) {
            result.outputs.push_back(checkedSource(source, output));
        }
        computeLiveness(result);
        result.tape = makeTape(result.steps);
        return result;
    }

    [[nodiscard]] const std::vector<std::string>& problems() const { return m_problems; }
    /// What the steps of the plan name nodes of, beside the program.
    [[nodiscard]] std::vector<std::shared_ptr<const graph::Graph>> takeRewritten() { return std::move(m_rewritten); }
    [[nodiscard]] int stepCount() const { return m_nextId; }
    [[nodiscard]] int operatorCount() const { return m_operatorCount; }

private:
    static int checkedSlot(const graph::Graph& graph, int slot) {
        if (slot >= static_cast<int>(graph.values.size())) {
            throw Failure({base::ErrorCode::Corrupt, "the program names a value that it does not have", ""});
        }
        return std::max(slot, -1);
    }

    ArgumentSource checkedSource(const graph::Graph& graph, const graph::Argument& argument) const {
        ArgumentSource source = sourceOf(argument, m_devices);
        std::vector<int> slots;
        collectSlots(source, slots);
        for (const int slot : slots) {
            (void)checkedSlot(graph, slot);
        }
        return source;
    }

    void addStep(PlanGraph& result, const graph::Graph& source, const graph::Node& node, int depth) {
        Step step;
        step.node = &node;
        try {
            bind(step, source, node, depth);
            for (const graph::Argument& output : node.outputs) {
                step.results.push_back(resultOf(source, output));
                step.hasListResult = step.hasListResult || step.results.back().isList;
            }
        } catch (const Failure& failure) {
            if (failure.error().code != base::ErrorCode::Unsupported) {
                throw;
            }
            const std::string where = sourceLine(node.stackTrace);
            m_problems.push_back(node.target + " (" + failure.error().message + (where.empty() ? "" : "; " + where) + ")");
            return;
        }
        step.id = m_nextId++;
        result.steps.push_back(std::move(step));
    }

    void bind(Step& step, const graph::Graph& source, const graph::Node& node, int depth) {
        const std::string_view target = node.target;
        if (target.starts_with(kHigherOrderPrefix)) {
            bindHigherOrder(step, source, node, depth);
        } else if (const std::optional<StepKind> kind = functionTransformKind(target)) {
            step.kind = *kind;
            step.name = node.target;
            for (const graph::NamedArgument& input : node.inputs) {
                step.arguments.push_back(checkedSource(source, input.argument));
            }
            checkHigherOrder(step);
        } else if (target.starts_with(kOperatorPrefix)) {
            bindOperator(step, source, node);
            ++m_operatorCount;
        } else if (target == kCloneWithStrides) {
            step.kind = StepKind::CloneWithStrides;
            step.name = "aten::clone";
            for (const graph::NamedArgument& input : node.inputs) {
                step.arguments.push_back(checkedSource(source, input.argument));
            }
            checkHigherOrder(step);
        } else {
            const auto found = pythonOperators().find(target.substr(target.rfind('.') + 1));
            if (found == pythonOperators().end()) {
                throw Failure({base::ErrorCode::Unsupported, "not an operator that this engine knows", ""});
            }
            step.kind = StepKind::PythonOperator;
            step.python = found->second;
            step.name = node.target;
            for (const graph::NamedArgument& input : node.inputs) {
                step.arguments.push_back(checkedSource(source, input.argument));
            }
        }
    }

    void bindHigherOrder(Step& step, const graph::Graph& source, const graph::Node& node, int depth) {
        const std::string_view name = std::string_view(node.target).substr(kHigherOrderPrefix.size());
        step.kind = higherOrderKind(name);
        step.name = "higher_order::" + std::string(name);
        for (const graph::NamedArgument& input : node.inputs) {
            if (isIgnoredOperand(step.kind, input)) {
                continue;
            }
            if (const auto* sub = std::get_if<graph::GraphArgument>(&input.argument)) {
                ArgumentSource argument;
                argument.kind = SourceKind::SubGraph;
                if (sub->graph == nullptr) {
                    throw Failure({base::ErrorCode::Corrupt, "a sub-graph of " + node.target + " is missing", ""});
                }
                argument.graph = std::make_shared<PlanGraph>(build(*sub->graph, depth + 1));
                step.arguments.push_back(std::move(argument));
            } else {
                step.arguments.push_back(checkedSource(source, input.argument));
            }
        }
        checkHigherOrder(step);
        if (step.kind == StepKind::Autocast) {
            // The region follows its tensors to the device that they are on here.
            c10::IValue& device = step.arguments[0].constant;
            device = c10::DeviceTypeName(m_devices(c10::Device(device.toStringRef()).type()).type(), true);
        }
    }

    void bindOperator(Step& step, const graph::Graph& source, const graph::Node& node) {
        const std::optional<OperatorName> name = parseOperatorName(node.target);
        if (!name) {
            throw Failure({base::ErrorCode::Unsupported, "not an operator's name", ""});
        }
        step.name = name->name;
        step.operation = findOperator(node.target);
        if (!step.operation) {
            throw Failure({base::ErrorCode::Unsupported, missingOperator(name->name), ""});
        }
        const std::vector<c10::Argument>& parameters = step.operation->schema().arguments();
        std::vector<const graph::Argument*> given(parameters.size(), nullptr);
        for (std::size_t position = 0; position < node.inputs.size(); ++position) {
            const graph::NamedArgument& input = node.inputs[position];
            const std::optional<int> index =
                input.name.empty() ? static_cast<int>(position) : step.operation->schema().argumentIndexWithName(input.name);
            if (!index || static_cast<std::size_t>(*index) >= given.size()) {
                throw Failure({base::ErrorCode::Unsupported, "this build's schema has no argument '" + input.name + "'", ""});
            }
            given[static_cast<std::size_t>(*index)] = &input.argument;
        }
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            step.arguments.push_back(given[i] != nullptr ? givenArgument(source, *given[i], parameters[i])
                                                         : defaultArgument(parameters[i]));
        }
    }

    ArgumentSource givenArgument(const graph::Graph& graph, const graph::Argument& argument,
                                 const c10::Argument& parameter) const {
        ArgumentSource source = checkedSource(graph, argument);
        bool isSymbolicScalar = false;
        if (const auto* value = std::get_if<graph::ValueArgument>(&argument); value != nullptr && value->value >= 0) {
            const graph::ValueKind kind = graph.values[static_cast<std::size_t>(value->value)].kind;
            isSymbolicScalar = kind != graph::ValueKind::Tensor && kind != graph::ValueKind::TensorList;
        }
        fitToSchema(source, parameter, isSymbolicScalar);
        return source;
    }

    static ArgumentSource defaultArgument(const c10::Argument& parameter) {
        ArgumentSource source;
        if (parameter.default_value()) {
            source.constant = *parameter.default_value();
        } else if (parameter.type()->kind() != c10::TypeKind::OptionalType) {
            throw Failure({base::ErrorCode::Unsupported, "the argument '" + parameter.name() + "' is not given", ""});
        }
        return source;
    }

    static StepResult resultOf(const graph::Graph& graph, const graph::Argument& output) {
        StepResult result;
        if (const auto* value = std::get_if<graph::ValueArgument>(&output)) {
            result.slot = checkedSlot(graph, value->value);
        } else if (const auto* list = std::get_if<graph::ValueListArgument>(&output)) {
            result.isList = true;
            for (const int slot : list->values) {
                result.elements.push_back(checkedSlot(graph, slot));
            }
        } else if (!std::holds_alternative<graph::NoneArgument>(output)) {
            throw Failure({base::ErrorCode::Unsupported, "a result of unknown kind", ""});
        }
        return result;
    }

    DeviceMap m_devices;
    std::vector<std::string> m_problems;
    std::vector<std::shared_ptr<const graph::Graph>> m_rewritten;
    int m_nextId = 0;
    int m_operatorCount = 0;
};

void indexSteps(const PlanGraph& graph, std::vector<const Step*>& steps) {
    for (const Step& step : graph.steps) {
        steps[static_cast<std::size_t>(step.id)] = &step;
        for (const ArgumentSource& argument : step.arguments) {
            if (argument.graph) {
                indexSteps(*argument.graph, steps);
            }
        }
    }
}

// In inference mode nothing can turn autograd on again, and an operator of a library may be made of autograd alone.
bool isInferenceSafe(const Step* step) {
    switch (step->kind) {
        case StepKind::Operator:
            return step->name.starts_with("aten::");
        case StepKind::SetGrad: {
            const ArgumentSource& isOn = step->arguments.front();
            return isOn.kind == SourceKind::Constant && isOn.constant.isBool() && !isOn.constant.toBool();
        }
        case StepKind::PushVmap:
            return false;
        default:
            return true;
    }
}

std::string joined(const std::vector<std::string>& problems) {
    std::vector<std::string> unique = problems;
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    std::string text;
    for (const std::string& problem : unique) {
        text += (text.empty() ? "" : ", ") + problem;
    }
    return text;
}

}  // namespace

base::Result<std::shared_ptr<const Plan>> makePlan(std::shared_ptr<const graph::Program> program, const DeviceMap& devices) {
    return torchGuarded("preparing the program", [&]() -> base::Result<std::shared_ptr<const Plan>> {
        if (program->inputs.size() != program->graph.inputs.size() ||
            program->outputs.size() != program->graph.outputs.size()) {
            return base::Error{base::ErrorCode::Corrupt, "the program's signature does not fit its graph", ""};
        }
        auto plan = std::make_shared<Plan>();
        Planner planner(devices);
        plan->root = planner.build(program->graph, 0);
        if (!planner.problems().empty()) {
            return base::Error{base::ErrorCode::Unsupported,
                               "the program uses what this engine cannot run: " + joined(planner.problems()),
                               "Use the Python worker, which runs the captured source."};
        }
        plan->program = std::move(program);
        plan->rewritten = planner.takeRewritten();
        plan->steps.resize(static_cast<std::size_t>(planner.stepCount()));
        indexSteps(plan->root, plan->steps);
        plan->operatorCount = planner.operatorCount();
        plan->isInferenceSafe = std::all_of(plan->steps.begin(), plan->steps.end(), isInferenceSafe);
        return std::shared_ptr<const Plan>(std::move(plan));
    });
}

std::optional<c10::OperatorHandle> findOperator(std::string_view target) {
    const std::optional<OperatorName> name = target.starts_with(kOperatorPrefix) ? parseOperatorName(target) : std::nullopt;
    return name ? c10::Dispatcher::singleton().findSchema({name->name, name->overload}) : std::nullopt;
}

std::string sourceLine(const std::string& stackTrace) {
    const std::size_t start = stackTrace.rfind("File \"");
    if (start == std::string::npos) {
        return {};
    }
    const std::size_t pathStart = start + 6;
    const std::size_t pathEnd = stackTrace.find('"', pathStart);
    const std::size_t lineStart = pathEnd == std::string::npos ? pathEnd : stackTrace.find("line ", pathEnd);
    if (lineStart == std::string::npos) {
        return {};
    }
    const std::string path = stackTrace.substr(pathStart, pathEnd - pathStart);
    const std::size_t lineEnd = stackTrace.find_first_not_of("0123456789", lineStart + 5);
    std::string text = path.substr(path.rfind('/') + 1) + ":" + stackTrace.substr(lineStart + 5, lineEnd - lineStart - 5);
    const std::size_t codeLine = stackTrace.find('\n', lineStart);
    if (codeLine != std::string::npos) {
        const std::size_t codeStart = stackTrace.find_first_not_of(" \n", codeLine);
        if (codeStart != std::string::npos) {
            const std::string code = stackTrace.substr(codeStart, stackTrace.find('\n', codeStart) - codeStart);
            text += ": " + code;
        }
    }
    return text;
}

}  // namespace modulelens::engine
