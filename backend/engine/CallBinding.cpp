// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/CallBinding.h"

#include "backend/engine/ForeignProgram.h"
#include "backend/engine/FunctionTransforms.h"
#include "backend/engine/Modes.h"
#include "backend/engine/UntakenInputs.h"
#include "backend/graph/InputCheck.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

namespace modulelens::engine {

namespace {

const nlohmann::json& valueAt(const nlohmann::json& call, const std::string& pointer) {
    try {
        return call.at(nlohmann::json::json_pointer(pointer));
    } catch (const nlohmann::json::exception&) {
        throw Failure({base::ErrorCode::InvalidArgument, "the call has no value at " + pointer + ", which the program reads",
                       "Use a program that was exported for this call."});
    }
}

double specialFloat(const std::string& text) {
    const double infinity = std::numeric_limits<double>::infinity();
    return text == "inf" ? infinity : text == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

// Values other than tensors, as the graph's inputs take them.
c10::IValue plainValue(const nlohmann::json& value, const std::string& pointer, const DeviceMap& devices) {
    if (value.is_null()) {
        return {};
    }
    if (value.is_boolean()) {
        return value.get<bool>();
    }
    if (value.is_number_integer()) {
        return value.get<std::int64_t>();
    }
    if (value.is_number_float()) {
        return value.get<double>();
    }
    if (value.is_string()) {
        return value.get<std::string>();
    }
    const std::string kind = value.is_object() ? value.value("$t", std::string()) : std::string();
    if (kind == "float") {
        return specialFloat(value.at("v").get<std::string>());
    }
    if (kind == "complex") {
        return c10::complex<double>(value.at("v").at(0).get<double>(), value.at("v").at(1).get<double>());
    }
    if (kind == "dtype") {
        if (const auto type = base::scalarTypeFromName(value.at("v").get<std::string>())) {
            return static_cast<std::int64_t>(torchType(*type));
        }
    }
    if (kind == "device") {
        return devices(c10::Device(value.at("v").get<std::string>()).type());
    }
    const std::string reason = kind == "gap" ? ": " + value.value("reason", std::string("it was not captured")) : "";
    throw Failure({base::ErrorCode::Unsupported, "the input at " + pointer + " cannot be given to a program" + reason,
                   "Use the Python worker, which runs the captured source."});
}

bool isSameConstant(const graph::Argument& frozen, const nlohmann::json& value) {
    if (const auto* integer = std::get_if<graph::IntegerArgument>(&frozen)) {
        return value.is_number() && value.get<double>() == static_cast<double>(integer->value);
    }
    if (const auto* number = std::get_if<graph::FloatArgument>(&frozen)) {
        return value.is_object() || (value.is_number() && value.get<double>() == number->value);
    }
    if (const auto* flag = std::get_if<graph::BooleanArgument>(&frozen)) {
        return value.is_boolean() && value.get<bool>() == flag->value;
    }
    if (const auto* text = std::get_if<graph::StringArgument>(&frozen)) {
        return value.is_object() || (value.is_string() && value.get<std::string>() == text->value);
    }
    if (std::holds_alternative<graph::NoneArgument>(frozen)) {
        return value.is_null();
    }
    return true;
}

bool canStandIn(const at::Tensor& tensor) {
    return tensor.defined() && tensor.layout() == at::kStrided && !tensor.requires_grad() && !tensor.is_conj() &&
           !tensor.is_neg() && !tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

}  // namespace

base::Result<std::unique_ptr<CallBinding>> CallBinding::bind(LoadedProgram& program, const nlohmann::json& call,
                                                             const std::vector<protocol::Extent>& tensors,
                                                             const std::atomic<bool>& stop) {
    std::unique_ptr<CallBinding> binding(new CallBinding(program));
    auto parsed = capture::parseCallDocument(call);
    if (!parsed) {
        return parsed.error();
    }
    binding->m_call = std::move(parsed).value();
    if (!binding->m_call.program.empty() && binding->m_call.program != program.digest()) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "this call of " + program.name() + " is computed by another program than the one loaded",
                           "Load the program " + binding->m_call.program.substr(0, 12) + "."};
    }
    if (auto added = binding->m_store.add(tensors); !added) {
        return added.error();
    }
    return torchGuarded(program.name(), [&]() -> base::Result<std::unique_ptr<CallBinding>> {
        std::map<std::string, capture::TensorReference> references;
        for (const capture::LocatedTensor& located : binding->m_call.inputs) {
            references.emplace(located.pointer, located.tensor);
        }
        std::vector<std::string> wanted;
        for (const std::string& pointer : program.program().inputPointers) {
            if (references.count(pointer) != 0) {
                wanted.push_back(pointer);
            }
        }
        if (auto built = binding->m_inputLeaves.build(references, wanted, binding->m_store, program.devices()); !built) {
            return built.error();
        }
        binding->bindInputs();
        binding->checkInputs();
        binding->applyStateBefore();
        binding->prepareForeign(stop);
        return std::move(binding);
    });
}

CallBinding::~CallBinding() {
    const auto restored = torchGuarded("restoring the state", [&]() -> base::Result<void> {
        settle();
        for (Replaced& replaced : m_replaced) {
            replaced.leaf->reference = std::move(replaced.reference);
            replaced.leaf->data = std::move(replaced.data);
            replaced.leaf->isMutated = true;
        }
        m_program.state().restoreMutated();
        m_program.restoreConstants();
        // The data may lie in a file that the program keeps mapped.
        m_inputLeaves.restoreMutated();
        for (Leaf& leaf : m_program.state().all()) {
            leaf.isMutated = false;
        }
        return {};
    });
    (void)restored;
}

void CallBinding::bindInputs() {
    const graph::Program& program = m_program.program();
    m_inputs.resize(program.inputs.size());
    if (const std::optional<std::string> untaken = untakenInput(*m_call.json, program.inputPointers)) {
        throw Failure({base::ErrorCode::InvalidArgument, *untaken, "Use a program that was exported for this call."});
    }
    std::size_t nextPointer = 0;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
        const graph::InputSpec& spec = program.inputs[i];
        switch (spec.kind) {
            case graph::InputKind::Parameter:
            case graph::InputKind::Buffer:
            case graph::InputKind::TensorConstant: {
                const at::Tensor tensor = m_program.inputTensor(spec);
                if (!tensor.defined()) {
                    throw Failure({base::ErrorCode::NotFound,
                                   "the tensor '" + spec.target + "' of the program is not in the capture", ""});
                }
                m_inputs[i] = tensor;
                break;
            }
            case graph::InputKind::UserInput:
            case graph::InputKind::ConstantInput: {
                if (nextPointer >= program.inputPointers.size()) {
                    throw Failure(
                        {base::ErrorCode::Corrupt, "the program does not say where in the call its inputs stand", ""});
                }
                const std::string& pointer = program.inputPointers[nextPointer++];
                if (spec.kind == graph::InputKind::UserInput) {
                    bindUserInput(i, pointer);
                } else {
                    checkConstantInput(spec, pointer);
                }
                break;
            }
            case graph::InputKind::Token:
                // Only its place in the order of the nodes says something.
                m_inputs[i] = c10::IValue();
                break;
            case graph::InputKind::CustomObject:
                throw Failure({base::ErrorCode::Unsupported, "the program takes a custom object", "Use the Python worker."});
        }
    }
}

// Kernels trust shapes that export proved; others would run into wrong branches or read out of bounds.
void CallBinding::checkInputs() const {
    std::vector<graph::GivenInput> given;
    given.reserve(m_indexByPointer.size());
    for (const auto& [pointer, index] : m_indexByPointer) {
        graph::GivenInput input;
        input.index = index;
        input.name = "the input at " + pointer;
        if (const Leaf* leaf = m_inputLeaves.find(pointer)) {
            input.isTensor = true;
            input.dtype = leaf->reference.dtype;
            input.sizes = leaf->reference.shape;
            input.deviceType = leaf->reference.device.substr(0, leaf->reference.device.find(':'));
        } else if (m_inputs[index].isInt()) {
            input.integer = m_inputs[index].toInt();
        }
        given.push_back(std::move(input));
    }
    const auto checked = graph::checkInputs(m_program.program(), given);
    if (!checked) {
        throw Failure(checked.error());
    }
}

void CallBinding::bindUserInput(std::size_t index, const std::string& pointer) {
    m_indexByPointer[pointer] = index;
    const Leaf* leaf = m_inputLeaves.find(pointer);
    if (leaf == nullptr) {
        m_inputs[index] = plainValue(valueAt(*m_call.json, pointer), pointer, m_program.devices());
        return;
    }
    m_inputs[index] = leaf->tensor;
    if (leaf->tensor.requires_grad() && m_call.mutated.count(pointer) != 0) {
        m_copied.push_back({index, leaf->tensor});
    }
}

void CallBinding::checkConstantInput(const graph::InputSpec& spec, const std::string& pointer) const {
    if (spec.constant && !isSameConstant(*spec.constant, valueAt(*m_call.json, pointer))) {
        throw Failure({base::ErrorCode::InvalidArgument,
                       "the program was exported with another value than the call has at " + pointer,
                       "Use a program that was exported for this call."});
    }
}

void CallBinding::applyStateBefore() {
    for (const auto& [name, reference] : m_call.stateBefore) {
        Leaf* leaf = m_program.state().find(name);
        if (leaf == nullptr) {
            continue;
        }
        if (reference.dtype != leaf->reference.dtype || reference.shape != leaf->reference.shape) {
            throw Failure({base::ErrorCode::Unsupported, "'" + name + "' had another shape when the call began", ""});
        }
        base::Result<StoredData> data = m_store.find(reference);
        if (!data) {
            throw Failure(data.error().within("'" + name + "' before the call"));
        }
        m_replaced.push_back({leaf, leaf->reference, leaf->data});
        assign(leaf->tensor, reference, data.value().pristine);
        leaf->reference.storedShape = reference.storedShape;
        leaf->reference.digest = reference.digest;
        leaf->data = std::move(data).value();
        leaf->version = static_cast<std::uint32_t>(leaf->tensor._version());
    }
    if (m_call.cpuGeneratorState) {
        const base::Result<StoredData> data = m_store.find(*m_call.cpuGeneratorState);
        if (!data) {
            throw Failure(data.error().within("the generator's state"));
        }
        m_generatorState = viewOfStored(*m_call.cpuGeneratorState, data.value().pristine).clone();
    }
}

void CallBinding::prepareForeign(const std::atomic<bool>& stop) {
    if (m_program.foreign() != nullptr) {
        const Modes modes(m_call, m_program.devices(), false);
        m_hasRun = true;
        m_isSettled = false;
        m_mustCompare = true;
        m_program.prepare(m_inputs, stop);
    }
}

// Finds what the last run wrote to. After a run that failed half-way nothing is known of it, so all is compared.
void CallBinding::settle() {
    if (m_isSettled) {
        return;
    }
    m_program.state().detectMutations(m_mustCompare);
    m_inputLeaves.detectMutations(m_mustCompare);
    m_isSettled = true;
    m_mustCompare = false;
}

void CallBinding::putInPlace() {
    settle();
    if (m_hasRun) {
        m_program.state().restoreMutated();
        m_program.restoreConstants();
        m_inputLeaves.restoreMutated();
    }
    if (m_generatorState.defined()) {
        at::Generator generator = at::detail::getDefaultCPUGenerator();
        const std::scoped_lock lock(generator.mutex());
        generator.set_state(m_generatorState);
    }
}

// Views of a tensor from outside inference mode keep book even inside. Where the program writes to none of its values,
// tensors of the same memory, made inside, can stand for those that need no gradient.
const std::vector<c10::IValue>& CallBinding::inferenceInputs() {
    if (m_inferenceInputs.size() == m_inputs.size()) {
        return m_inferenceInputs;
    }
    const std::vector<const Step*>& steps = m_program.plan().steps;
    if (std::any_of(steps.begin(), steps.end(),
                    [](const Step* step) { return step->operation && step->operation->schema().is_mutable(); })) {
        return m_inputs;
    }
    m_inferenceInputs = m_inputs;
    for (c10::IValue& input : m_inferenceInputs) {
        if (input.isTensor() && canStandIn(input.toTensor())) {
            const at::Tensor& tensor = input.toTensor();
            at::Tensor standIn = at::empty({0}, tensor.options());
            standIn.set_(tensor.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
            input = standIn;
        }
    }
    return m_inferenceInputs;
}

CallBinding::Outcome CallBinding::run(const std::atomic<bool>& stop, const RunOptions& options) {
    putInPlace();
    const bool isFirst = !m_hasRun;
    m_hasRun = true;
    m_program.noteRun();
    m_isSettled = false;
    m_mustCompare = true;
    Outcome outcome;
    {
        const Modes modes(m_call, m_program.devices(), options.forceGrad);
        // Without autograd, inference mode computes the same and keeps no book on views and versions.
        std::optional<c10::InferenceMode> inference;
        if (!at::GradMode::is_enabled() && m_program.plan().isInferenceSafe) {
            inference.emplace();
        }
        for (const CopiedInput& copied : m_copied) {
            m_inputs[copied.index] = at::GradMode::is_enabled() ? copied.source.clone() : copied.source;
        }
        const std::vector<c10::IValue>& inputs = inference ? inferenceInputs() : m_inputs;
        if (options.beforeRun) {
            options.beforeRun();
        }
        const TransformScope transforms;
        const auto start = std::chrono::steady_clock::now();
        const auto compute = [&] {
            if (ForeignProgram* foreign = m_program.foreign()) {
                outcome.outputs = foreign->run(inputs, stop, options.observer);
            } else {
                outcome.outputs = m_executor.run(m_program.plan(), inputs, stop, options.observer);
            }
        };
        if (options.around) {
            options.around(compute);
        } else {
            compute();
        }
        if (options.afterLaunch) {
            options.afterLaunch();
        }
        synchronize(m_program.devices().to);
        outcome.hostNs = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
        if (options.afterRun) {
            options.afterRun();
        }
        if (options.withOutputs) {
            options.withOutputs(outcome.outputs);
        }
        writeBack(outcome.outputs);
    }
    m_mustCompare = isFirst;
    settle();
    return outcome;
}

std::int64_t CallBinding::replay(const std::function<void()>& work, const std::vector<c10::IValue>& outputs,
                                 const RunOptions& options) {
    putInPlace();
    m_isSettled = false;
    m_mustCompare = true;
    for (const CopiedInput& copied : m_copied) {
        const at::NoGradGuard noGrad;
        const at::Tensor& input = m_inputs[copied.index].toTensor();
        if (!input.is_same(copied.source)) {
            input.detach().copy_(copied.source);
        }
    }
    synchronize(m_program.devices().to);
    if (options.beforeRun) {
        options.beforeRun();
    }
    const auto start = std::chrono::steady_clock::now();
    work();
    if (options.afterLaunch) {
        options.afterLaunch();
    }
    synchronize(m_program.devices().to);
    const std::int64_t hostNs = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    writeBack(outputs);
    m_mustCompare = false;
    settle();
    return hostNs;
}

bool CallBinding::canRepeat() {
    const auto isMutated = [](const Leaf& leaf) { return leaf.isMutated; };
    const auto& state = m_program.state().all();
    const auto& inputs = m_inputLeaves.all();
    return !m_generatorState.defined() && std::none_of(state.begin(), state.end(), isMutated) &&
           std::none_of(inputs.begin(), inputs.end(), isMutated) &&
           std::all_of(m_program.program().outputs.begin(), m_program.program().outputs.end(),
                       [](const graph::OutputSpec& output) { return output.kind == graph::OutputKind::UserOutput; });
}

const std::vector<c10::IValue>& CallBinding::pristineInputs() {
    putInPlace();
    for (const CopiedInput& copied : m_copied) {
        m_inputs[copied.index] = copied.source;
    }
    return m_inputs;
}

void CallBinding::writeBack(const std::vector<c10::IValue>& outputs) {
    const at::NoGradGuard noGrad;
    const graph::Program& program = m_program.program();
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
        const graph::OutputSpec& spec = program.outputs[i];
        const bool isState =
            spec.kind == graph::OutputKind::BufferMutation || spec.kind == graph::OutputKind::ParameterMutation;
        if (!isState && spec.kind != graph::OutputKind::UserInputMutation) {
            continue;
        }
        for (std::size_t k = 0; k < program.inputs.size(); ++k) {
            const bool isTarget =
                isState
                    ? program.inputs[k].target == spec.target
                    : std::holds_alternative<graph::ValueArgument>(program.graph.inputs[k]) &&
                          program.graph.values
                                  .at(static_cast<std::size_t>(std::get<graph::ValueArgument>(program.graph.inputs[k]).value))
                                  .name == spec.target;
            if (isTarget && m_inputs[k].isTensor() && outputs[i].isTensor()) {
                m_inputs[k].toTensor().detach().copy_(outputs[i].toTensor());
                break;
            }
        }
    }
}

at::Tensor CallBinding::inputAt(const std::string& pointer) const {
    const auto found = m_indexByPointer.find(pointer);
    return found != m_indexByPointer.end() && m_inputs[found->second].isTensor() ? m_inputs[found->second].toTensor()
                                                                                 : at::Tensor();
}

}  // namespace modulelens::engine
