// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Executor.h"

#include "backend/engine/ArgumentBinding.h"

#include <c10/util/Exception.h>
#include <sstream>
#include <utility>

namespace modulelens::engine {

namespace {

// At run time every symbolic size is a number.
void storeValue(c10::IValue&& value, c10::IValue& slot) {
    if (value.isSymInt()) {
        slot = value.toSymInt().guard_int(__FILE__, __LINE__);
    } else {
        slot = std::move(value);
    }
}

[[noreturn]] void failWithFewerResults() {
    throw Failure({base::ErrorCode::Corrupt, "the program expects more results than the operator returns", ""});
}

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
    runGraph(plan.root, m_frame);
    std::vector<c10::IValue> outputs;
    outputs.reserve(plan.root.outputs.size());
    for (const ArgumentSource& output : plan.root.outputs) {
        outputs.push_back(load(output, m_frame));
    }
    m_frame.clear();
    return outputs;
}

void Executor::runGraph(const PlanGraph& graph, Frame& frame) {
    m_stack.clear();
    m_stack.reserve(graph.tape.mostLoads);
    if (m_observer != nullptr) {
        runSteps<true>(graph, frame);
    } else {
        runSteps<false>(graph, frame);
    }
}

template <bool IsObserved>
void Executor::runSteps(const PlanGraph& graph, Frame& frame) {
    const Tape& tape = graph.tape;
    Position position{tape.loads.data(), tape.stores.data(), tape.dead.data()};
    const Step* step = graph.steps.data();
    for (const TapeStep& packed : tape.steps) {
        failIfStopped();
        if (packed.operation) {
            runOperator<IsObserved>(tape, packed, *step, position, frame);
        } else {
            runOther(*step, frame);
        }
        for (const std::int32_t* const end = position.dead + packed.dead; position.dead != end; ++position.dead) {
            frame[static_cast<std::size_t>(*position.dead)] = c10::IValue();
        }
        if constexpr (IsObserved) {
            if (step->kind != StepKind::PythonOperator) {
                m_observer->onEnd(*step);
            }
        }
        ++step;
    }
}

template <bool IsObserved>
void Executor::runOperator(const Tape& tape, const TapeStep& packed, const Step& step, Position& position, Frame& frame) {
    try {
        for (const TapeLoad* const end = position.load + packed.loads; position.load != end; ++position.load) {
            const std::size_t index = position.load->index;
            switch (position.load->kind) {
                case TapeLoad::Kind::Constant:
                    m_stack.push_back(tape.constants[index]);
                    break;
                case TapeLoad::Kind::Copy:
                    m_stack.push_back(frame[index]);
                    break;
                case TapeLoad::Kind::Move:
                    m_stack.push_back(std::move(frame[index]));
                    break;
                case TapeLoad::Kind::Computed:
                    m_stack.push_back(load(step.arguments[index], frame));
                    break;
            }
        }
        if constexpr (IsObserved) {
            m_observer->onBegin(step);
        }
        packed.operation->callBoxed(m_stack);
        if (packed.hasListResult) {
            storeListResults(step, frame);
        } else {
            if (m_stack.size() < packed.stores) {
                failWithFewerResults();
            }
            for (std::size_t i = 0; i < packed.stores; ++i) {
                if (const std::int32_t slot = position.store[i]; slot >= 0) {
                    storeValue(std::move(m_stack[i]), frame[static_cast<std::size_t>(slot)]);
                }
            }
            position.store += packed.stores;
        }
        m_stack.clear();
    } catch (...) {
        rethrowWithStep(step, step.arguments.size());
    }
}

// Python's operators on sizes, and higher-order operators.
void Executor::runOther(const Step& step, Frame& frame) {
    if (step.kind == StepKind::PythonOperator) {
        try {
            const std::vector<c10::IValue> operands = flatOperands(step, 0, frame);
            storeFlat(step, {evaluate(step.python, operands)}, frame);
        } catch (...) {
            rethrowWithStep(step, 0);
        }
        return;
    }
    if (m_observer != nullptr) {
        m_observer->onBegin(step);
    }
    try {
        runHigherOrder(step, frame, *this);
    } catch (const Failure&) {
        throw;
    } catch (...) {
        rethrowWithStep(step, 0);
    }
}

void Executor::storeListResults(const Step& step, Frame& frame) {
    if (m_stack.size() < step.results.size()) {
        failWithFewerResults();
    }
    for (std::size_t i = 0; i < step.results.size(); ++i) {
        const StepResult& result = step.results[i];
        if (!result.isList) {
            if (result.slot >= 0) {
                storeValue(std::move(m_stack[i]), frame[static_cast<std::size_t>(result.slot)]);
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
}

std::vector<c10::IValue> Executor::runSubGraph(const PlanGraph& graph, const std::vector<c10::IValue>& inputs) {
    // A loop whose graphs have no steps would never look otherwise.
    failIfStopped();
    if (inputs.size() < graph.inputs.size()) {
        throw Failure({base::ErrorCode::Corrupt, "a sub-graph wants more operands than its operator gives", ""});
    }
    Frame frame(static_cast<std::size_t>(graph.slotCount));
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        if (graph.inputs[i] >= 0) {
            frame[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
        }
    }
    runGraph(graph, frame);
    std::vector<c10::IValue> outputs;
    for (const ArgumentSource& output : graph.outputs) {
        appendFlat(output, frame, outputs);
    }
    return outputs;
}

void Executor::failIfStopped() const {
    if (m_stop->load(std::memory_order_relaxed)) {
        throw Failure({base::ErrorCode::Cancelled, "the run was cancelled", ""});
    }
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
