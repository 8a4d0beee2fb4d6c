// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Executor.h"

#include "backend/engine/ArgumentBinding.h"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <sstream>
#include <utility>

namespace modulelens::engine {

namespace {

bool isTrue(const c10::IValue& value) {
    if (value.isTensor()) {
        return value.toTensor().item().toBool();
    }
    return value.isBool() ? value.toBool() : value.toInt() != 0;
}

c10::IValue withoutSymbol(c10::IValue value) {
    if (value.isSymInt()) {
        return value.toSymInt().guard_int(__FILE__, __LINE__);
    }
    return value;
}

// Operands of higher-order operators: lists stand for their elements.
void appendFlat(const ArgumentSource& source, std::vector<c10::IValue>& frame, std::vector<c10::IValue>& values) {
    if (source.kind == SourceKind::Tensors || source.kind == SourceKind::OptionalTensors) {
        for (const int slot : source.slots) {
            values.push_back(slot < 0 ? c10::IValue() : frame[static_cast<std::size_t>(slot)]);
        }
    } else {
        values.push_back(load(source, frame));
    }
}

std::vector<c10::IValue> flatOperands(const Step& step, std::size_t first, std::vector<c10::IValue>& frame) {
    std::vector<c10::IValue> values;
    for (std::size_t i = first; i < step.arguments.size(); ++i) {
        appendFlat(step.arguments[i], frame, values);
    }
    return values;
}

void storeFlat(const Step& step, std::vector<c10::IValue> values, std::vector<c10::IValue>& frame) {
    std::size_t next = 0;
    const auto store = [&](int slot) {
        if (next >= values.size()) {
            throw Failure({base::ErrorCode::Corrupt, "a sub-graph returns fewer values than its operator names", ""});
        }
        if (slot >= 0) {
            frame[static_cast<std::size_t>(slot)] = std::move(values[next]);
        }
        ++next;
    };
    for (const StepResult& result : step.results) {
        if (result.isList) {
            std::for_each(result.elements.begin(), result.elements.end(), store);
        } else {
            store(result.slot);
        }
    }
}

// Autocast of one device type, put back at the end.
class AutocastScope {
public:
    AutocastScope(c10::DeviceType device, bool isEnabled, std::optional<c10::ScalarType> dtype)
        : m_device(device),
          m_wasEnabled(at::autocast::is_autocast_enabled(device)),
          m_dtype(at::autocast::get_autocast_dtype(device)) {
        at::autocast::set_autocast_enabled(device, isEnabled);
        if (dtype) {
            at::autocast::set_autocast_dtype(device, *dtype);
        }
        at::autocast::increment_nesting();
    }
    ~AutocastScope() {
        if (at::autocast::decrement_nesting() == 0) {
            at::autocast::clear_cache();
        }
        at::autocast::set_autocast_enabled(m_device, m_wasEnabled);
        at::autocast::set_autocast_dtype(m_device, m_dtype);
    }
    AutocastScope(const AutocastScope&) = delete;
    AutocastScope& operator=(const AutocastScope&) = delete;

private:
    c10::DeviceType m_device;
    bool m_wasEnabled;
    c10::ScalarType m_dtype;
};

}  // namespace

c10::IValue load(const ArgumentSource& source, std::vector<c10::IValue>& frame) {
    const auto at = [&](int slot) -> c10::IValue& { return frame[static_cast<std::size_t>(slot)]; };
    switch (source.kind) {
        case SourceKind::Constant:
            return source.constant;
        case SourceKind::Slot:
            return at(source.slot);
        case SourceKind::LastSlot:
            return std::move(at(source.slot));
        case SourceKind::WrappedSlot:
            return wrapNumber(at(source.slot));
        case SourceKind::FloatSlot: {
            const c10::IValue& value = at(source.slot);
            return value.isInt() ? c10::IValue(static_cast<double>(value.toInt())) : value;
        }
        case SourceKind::Tensors: {
            c10::List<at::Tensor> list;
            list.reserve(source.slots.size());
            for (const int slot : source.slots) {
                list.push_back(at(slot).toTensor());
            }
            return list;
        }
        case SourceKind::OptionalTensors: {
            c10::List<std::optional<at::Tensor>> list;
            list.reserve(source.slots.size());
            for (const int slot : source.slots) {
                list.push_back(slot < 0 || at(slot).isNone() ? std::nullopt : std::optional<at::Tensor>(at(slot).toTensor()));
            }
            return list;
        }
        case SourceKind::Integers: {
            c10::List<std::int64_t> list;
            list.reserve(source.slots.size());
            for (std::size_t i = 0; i < source.slots.size(); ++i) {
                list.push_back(source.slots[i] < 0 ? source.literals[i].toInt() : at(source.slots[i]).toInt());
            }
            return list;
        }
        case SourceKind::Floats: {
            c10::List<double> list;
            for (std::size_t i = 0; i < source.slots.size(); ++i) {
                list.push_back((source.slots[i] < 0 ? source.literals[i] : at(source.slots[i])).toScalar().toDouble());
            }
            return list;
        }
        case SourceKind::Booleans: {
            c10::List<bool> list;
            for (std::size_t i = 0; i < source.slots.size(); ++i) {
                list.push_back((source.slots[i] < 0 ? source.literals[i] : at(source.slots[i])).toBool());
            }
            return list;
        }
        case SourceKind::SubGraph:
            break;
    }
    throw Failure({base::ErrorCode::Unsupported, "a sub-graph is used as a value", ""});
}

std::vector<c10::IValue> Executor::run(const Plan& plan, const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop,
                                       StepObserver* observer) {
    m_stop = &stop;
    m_observer = observer;
    m_frame.clear();
    m_frame.resize(static_cast<std::size_t>(plan.root.slotCount));
    for (std::size_t i = 0; i < plan.root.inputs.size(); ++i) {
        if (plan.root.inputs[i] >= 0) {
            m_frame[static_cast<std::size_t>(plan.root.inputs[i])] = inputs.at(i);
        }
    }
    if (observer != nullptr) {
        runSteps<true>(plan.root, m_frame);
    } else {
        runSteps<false>(plan.root, m_frame);
    }
    std::vector<c10::IValue> outputs;
    outputs.reserve(plan.root.outputs.size());
    for (const ArgumentSource& output : plan.root.outputs) {
        outputs.push_back(load(output, m_frame));
    }
    m_frame.clear();
    return outputs;
}

template <bool isObserved>
void Executor::runSteps(const PlanGraph& graph, Frame& frame) {
    for (const Step& step : graph.steps) {
        if (m_stop->load(std::memory_order_relaxed)) {
            throw Failure({base::ErrorCode::Cancelled, "the run was cancelled", ""});
        }
        if (step.kind == StepKind::Operator) {
            runOperator<isObserved>(step, frame);
        } else if (step.kind == StepKind::PythonOperator) {
            try {
                std::vector<c10::IValue> operands = flatOperands(step, 0, frame);
                storeFlat(step, {evaluate(step.python, operands)}, frame);
            } catch (...) {
                rethrowWithStep(step, 0);
            }
        } else {
            if constexpr (isObserved) {
                m_observer->onBegin(step);
            }
            runHigherOrder(step, frame);
        }
        for (const int slot : step.dead) {
            frame[static_cast<std::size_t>(slot)] = c10::IValue();
        }
        if constexpr (isObserved) {
            if (step.kind != StepKind::PythonOperator) {
                m_observer->onEnd(step);
            }
        }
    }
}

template <bool isObserved>
void Executor::runOperator(const Step& step, Frame& frame) {
    m_stack.clear();
    try {
        for (const ArgumentSource& argument : step.arguments) {
            if (argument.kind == SourceKind::Constant) {
                m_stack.push_back(argument.constant);
            } else {
                m_stack.push_back(load(argument, frame));
            }
        }
        if constexpr (isObserved) {
            m_observer->onBegin(step);
        }
        step.operation->callBoxed(m_stack);
        storeResults(step, frame);
    } catch (...) {
        rethrowWithStep(step, step.arguments.size());
    }
}

void Executor::storeResults(const Step& step, Frame& frame) {
    if (m_stack.size() < step.results.size()) {
        throw Failure({base::ErrorCode::Corrupt, "the program expects more results than the operator returns", ""});
    }
    for (std::size_t i = 0; i < step.results.size(); ++i) {
        const StepResult& result = step.results[i];
        if (!result.isList) {
            if (result.slot >= 0) {
                frame[static_cast<std::size_t>(result.slot)] = withoutSymbol(std::move(m_stack[i]));
            }
            continue;
        }
        const auto elements = m_stack[i].toListRef();
        if (elements.size() < result.elements.size()) {
            throw Failure({base::ErrorCode::Corrupt, "the program takes more out of a list than the operator returns", ""});
        }
        for (std::size_t k = 0; k < result.elements.size(); ++k) {
            if (result.elements[k] >= 0) {
                frame[static_cast<std::size_t>(result.elements[k])] = elements[k];
            }
        }
    }
    m_stack.clear();
}

std::vector<c10::IValue> Executor::runSubGraph(const PlanGraph& graph, const std::vector<c10::IValue>& inputs) {
    if (inputs.size() < graph.inputs.size()) {
        throw Failure({base::ErrorCode::Corrupt, "a sub-graph wants more operands than its operator gives", ""});
    }
    Frame frame(static_cast<std::size_t>(graph.slotCount));
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        if (graph.inputs[i] >= 0) {
            frame[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
        }
    }
    if (m_observer != nullptr) {
        runSteps<true>(graph, frame);
    } else {
        runSteps<false>(graph, frame);
    }
    std::vector<c10::IValue> outputs;
    for (const ArgumentSource& output : graph.outputs) {
        appendFlat(output, frame, outputs);
    }
    return outputs;
}

void Executor::runHigherOrder(const Step& step, Frame& frame) {
    switch (step.kind) {
        case StepKind::Cond: {
            const bool isTaken = isTrue(load(step.arguments[0], frame));
            storeFlat(step, runSubGraph(*step.arguments[isTaken ? 1 : 2].graph, flatOperands(step, 3, frame)), frame);
            return;
        }
        case StepKind::SetGrad: {
            const at::AutoGradMode mode(load(step.arguments[0], frame).toBool());
            storeFlat(step, runSubGraph(*step.arguments[1].graph, flatOperands(step, 2, frame)), frame);
            return;
        }
        case StepKind::Autocast:
            runAutocast(step, frame);
            return;
        case StepKind::WhileLoop:
            runWhile(step, frame);
            return;
        default:
            runMapOrScan(step, frame);
            return;
    }
}

void Executor::runAutocast(const Step& step, Frame& frame) {
    // Operands: device type, dtype, enabled, cache enabled, graph, and the graph's own.
    const c10::IValue dtype = load(step.arguments[1], frame);
    const AutocastScope scope(c10::Device(step.arguments[0].constant.toStringRef()).type(),
                              load(step.arguments[2], frame).toBool(),
                              dtype.isNone() ? std::nullopt : std::optional(static_cast<c10::ScalarType>(dtype.toInt())));
    storeFlat(step, runSubGraph(*step.arguments[4].graph, flatOperands(step, 5, frame)), frame);
}

void Executor::runWhile(const Step& step, Frame& frame) {
    // Operands: condition graph, body graph, carried values, further values.
    std::vector<c10::IValue> carried;
    appendFlat(step.arguments[2], frame, carried);
    const std::vector<c10::IValue> further = flatOperands(step, 3, frame);
    const auto operands = [&] {
        std::vector<c10::IValue> all = carried;
        all.insert(all.end(), further.begin(), further.end());
        return all;
    };
    while (true) {
        const std::vector<c10::IValue> condition = runSubGraph(*step.arguments[0].graph, operands());
        if (condition.empty() || !isTrue(condition[0])) {
            break;
        }
        carried = runSubGraph(*step.arguments[1].graph, operands());
    }
    storeFlat(step, std::move(carried), frame);
}

void Executor::runMapOrScan(const Step& step, Frame& frame) {
    // Operands of map: graph, sequences, further values; of scan: graph, carried values, sequences, further values.
    const bool isScan = step.kind == StepKind::Scan;
    std::vector<c10::IValue> carried;
    std::vector<c10::IValue> sequences;
    if (isScan) {
        appendFlat(step.arguments[1], frame, carried);
    }
    appendFlat(step.arguments[isScan ? 2 : 1], frame, sequences);
    const std::vector<c10::IValue> further = flatOperands(step, isScan ? 3 : 2, frame);
    if (sequences.empty()) {
        throw Failure({base::ErrorCode::Corrupt, step.name + " has nothing to go over", ""});
    }
    const std::size_t carriedCount = carried.size();
    std::vector<std::vector<at::Tensor>> collected;
    for (std::int64_t i = 0; i < sequences[0].toTensor().size(0); ++i) {
        std::vector<c10::IValue> operands = carried;
        for (const c10::IValue& sequence : sequences) {
            operands.emplace_back(sequence.toTensor().select(0, i));
        }
        operands.insert(operands.end(), further.begin(), further.end());
        std::vector<c10::IValue> results = runSubGraph(*step.arguments[0].graph, operands);
        if (results.size() < carriedCount) {
            throw Failure({base::ErrorCode::Corrupt, step.name + " returns fewer values than it carries", ""});
        }
        carried.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carriedCount));
        collected.resize(results.size() - carriedCount);
        for (std::size_t k = 0; k < collected.size(); ++k) {
            collected[k].push_back(results[carriedCount + k].toTensor());
        }
    }
    for (const std::vector<at::Tensor>& column : collected) {
        carried.emplace_back(at::stack(column));
    }
    storeFlat(step, std::move(carried), frame);
}

void Executor::rethrowWithStep(const Step& step, std::size_t argumentCount) const {
    std::ostringstream where;
    where << "at " << step.node->name << " (" << step.node->target;
    for (std::size_t i = 0; i < std::min(argumentCount, m_stack.size()); ++i) {
        if (m_stack[i].isTensor() && m_stack[i].toTensor().defined()) {
            where << ", " << c10::toString(m_stack[i].toTensor().scalar_type()) << m_stack[i].toTensor().sizes();
        }
    }
    where << ")";
    const std::string line = sourceLine(step.node->stackTrace);
    if (!line.empty()) {
        where << " from " << line;
    }
    throw Failure(errorOfException(where.str()));
}

}  // namespace modulelens::engine
