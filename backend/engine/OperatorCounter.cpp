// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/OperatorCounter.h"

#include "backend/engine/TorchTypes.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/functorch/DynamicLayer.h>
#include <ATen/record_function.h>
#include <atomic>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace modulelens::engine {

namespace {

graph::CostArgument costTensor(const at::Tensor& tensor) {
    if (!tensor.defined()) {
        return graph::CostNone{};
    }
    if (tensor.layout() != at::kStrided || tensor.is_nested()) {
        return graph::CostOther{};
    }
    return graph::CostTensor{tensor.sizes().vec(), captureType(tensor.scalar_type()), tensor.strides().vec()};
}

void addTensor(std::vector<graph::CostTensor>& list, const at::Tensor& tensor) {
    graph::CostArgument argument = costTensor(tensor);
    if (auto* cost = std::get_if<graph::CostTensor>(&argument)) {
        list.push_back(std::move(*cost));
    }
}

graph::CostArgument costArgument(const c10::IValue& value) {
    if (value.isNone()) {
        return graph::CostNone{};
    }
    if (value.isTensor()) {
        return costTensor(value.toTensor());
    }
    if (value.isInt()) {
        return value.toInt();
    }
    if (value.isBool()) {
        return value.toBool();
    }
    if (value.isDouble()) {
        return value.toDouble();
    }
    if (value.isString()) {
        return value.toStringRef();
    }
    if (value.isIntList()) {
        return value.toIntVector();
    }
    if (value.isBoolList()) {
        const auto list = value.toBoolList();
        return std::vector<bool>(list.begin(), list.end());
    }
    if (value.isTensorList()) {
        std::vector<graph::CostTensor> tensors;
        for (const at::Tensor& tensor : value.toTensorVector()) {
            addTensor(tensors, tensor);
        }
        return tensors;
    }
    if (value.isOptionalTensorList()) {
        std::vector<graph::CostTensor> tensors;
        for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
            if (tensor) {
                addTensor(tensors, *tensor);
            }
        }
        return tensors;
    }
    return graph::CostOther{};
}

template <class Values>
std::vector<graph::CostArgument> costArguments(const Values& values) {
    std::vector<graph::CostArgument> arguments;
    arguments.reserve(values.size());
    for (const c10::IValue& value : values) {
        arguments.push_back(costArgument(value));
    }
    return arguments;
}

/// What the operators called by one operator add up to.
struct Children {
    int count = 0;
    bool isAllKnown = true;
    graph::OperatorCost sum{graph::Coverage::ZeroByDefinition, 0, 0, 0, 0, 0};

    void add(const graph::OperatorCost& cost) {
        ++count;
        isAllKnown = isAllKnown && cost.coverage != graph::Coverage::Unknown;
        sum.flops += cost.flops;
        sum.recomputedFlops += cost.recomputedFlops;
        sum.maskedFlops += cost.maskedFlops;
        for (const auto part : {&graph::OperatorCost::bytesMoved, &graph::OperatorCost::otherFlops}) {
            if ((sum.*part) && (cost.*part)) {
                *(sum.*part) += *(cost.*part);
            } else {
                (sum.*part).reset();
            }
        }
    }
};

/// Whether the operator does nothing but call others. A kernel of its own may call `empty` and then compute, which nobody sees.
bool isComposite(const at::RecordFunction& function) {
    const std::optional<c10::OperatorName> name = function.operator_name();
    const auto handle = name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
    if (!handle || handle->hasKernelForDispatchKey(c10::DispatchKey::CPU)) {
        return false;
    }
    return handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
           handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
           handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
}

graph::OperatorCost resolve(const at::RecordFunction& function, const graph::OperatorCost& own, const Children& children) {
    graph::OperatorCost cost = own;
    if (children.count == 0) {
        return cost;
    }
    // Under torch.vmap an operator sees one example; what it calls sees all of them.
    const bool isOneOfMany = !at::functorch::getDynamicLayerStack().empty();
    if (own.coverage == graph::Coverage::Counted && !isOneOfMany) {
        return cost;
    }
    // A kernel that wraps a product counts as the product.
    if (own.coverage == graph::Coverage::Unknown && children.isAllKnown && (children.sum.flops > 0 || isComposite(function))) {
        cost.coverage = graph::Coverage::ZeroByDefinition;
        cost.otherFlops = children.sum.otherFlops;
    }
    if (children.sum.flops > 0) {
        cost.flops = children.sum.flops;
        cost.recomputedFlops = children.sum.recomputedFlops;
        cost.maskedFlops = children.sum.maskedFlops;
        cost.coverage = cost.coverage == graph::Coverage::Unknown ? graph::Coverage::Unknown : graph::Coverage::Counted;
    }
    if (!cost.bytesMoved || isOneOfMany) {
        cost.bytesMoved = children.sum.bytesMoved;
    }
    if (isOneOfMany) {
        cost.otherFlops = children.sum.otherFlops;
    }
    return cost;
}

struct CallContext : at::ObserverContext {
    std::vector<graph::CostArgument> inputs;
};

/// The calls that are open on this thread, outermost first.
std::vector<Children>& openCalls() {
    thread_local std::vector<Children> open;
    return open;
}

}  // namespace

struct OperatorCounter::State {
    inline static std::atomic<State*> s_current = nullptr;

    State(Sink outer, Sink inner) : sink(std::move(outer)), innermost(std::move(inner)) {}

    static std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction& function) {
        // The autograd engine's own frames around the operators of a gradient are no operators.
        if (std::string_view(function.name()).starts_with("autograd::")) {
            return nullptr;
        }
        auto context = std::make_unique<CallContext>();
        context->inputs = costArguments(function.inputs());
        openCalls().emplace_back();
        return context;
    }

    static void onStop(const at::RecordFunction& function, at::ObserverContext* context) {
        std::vector<Children>& open = openCalls();
        if (context == nullptr || open.empty()) {
            return;
        }
        const Children children = open.back();
        open.pop_back();
        const graph::OperatorCost cost =
            resolve(function,
                    graph::operatorCost({function.name(), std::move(static_cast<CallContext*>(context)->inputs),
                                         costArguments(function.outputs())}),
                    children);
        if (!open.empty()) {
            open.back().add(cost);
        }
        State* current = s_current.load();
        if (current == nullptr) {
            return;
        }
        const std::scoped_lock lock(current->mutex);
        if (current->innermost && cost.flops > 0 && children.sum.flops == 0) {
            current->innermost(function.name(), cost);
        }
        if (open.empty()) {
            current->sink(function.name(), cost);
        }
    }

    Sink sink;
    Sink innermost;
    std::mutex mutex;
};

OperatorCounter::OperatorCounter(Sink sink, Sink innermost)
    : m_state(std::make_unique<State>(std::move(sink), std::move(innermost))) {
    openCalls().clear();
    State::s_current = m_state.get();
    m_handle = at::addThreadLocalCallback(at::RecordFunctionCallback(&State::onStart, &State::onStop)
                                              .needsInputs(true)
                                              .needsOutputs(true)
                                              .scopes({at::RecordScope::FUNCTION}));
}

OperatorCounter::~OperatorCounter() {
    at::removeCallback(m_handle);
    State::s_current = nullptr;
    openCalls().clear();
}

}  // namespace modulelens::engine
