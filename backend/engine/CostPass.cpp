// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Passes.h"
#include "backend/graph/OperatorCost.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <algorithm>
#include <map>
#include <string>

namespace modulelens::engine {

namespace {

graph::CostTensor costTensor(const at::Tensor& tensor) {
    return {tensor.sizes().vec(), captureType(tensor.scalar_type())};
}

graph::CostArgument costArgument(const c10::IValue& value) {
    if (value.isNone()) {
        return graph::CostNone{};
    }
    if (value.isTensor()) {
        return value.toTensor().defined() ? graph::CostArgument(costTensor(value.toTensor())) : graph::CostNone{};
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
            tensors.push_back(costTensor(tensor));
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
    std::int64_t flops = 0;
    bool hasBytes = true;
    std::int64_t bytes = 0;
};

struct CallContext : at::ObserverContext {
    std::vector<graph::CostArgument> inputs;
};

graph::OperatorCost resolve(const graph::OperatorCost& own, const Children& children) {
    graph::OperatorCost cost = own;
    if (own.coverage == graph::Coverage::Counted) {
        return cost;
    }
    if (children.count > 0) {
        if (own.coverage == graph::Coverage::Unknown && children.isAllKnown) {
            cost.coverage = graph::Coverage::ZeroByDefinition;
        }
        if (children.flops > 0) {
            cost.flops = children.flops;
            cost.coverage = cost.coverage == graph::Coverage::Unknown ? graph::Coverage::Unknown : graph::Coverage::Counted;
        }
        if (!cost.bytesMoved && children.hasBytes) {
            cost.bytesMoved = children.bytes;
        }
    }
    return cost;
}

/// Follows every operator call of this thread, also those that operators make.
class CostRecorder : public StepObserver {
public:
    explicit CostRecorder(StepCosts& costs) : m_costs(costs) {
        s_current = this;
        m_handle = at::addThreadLocalCallback(at::RecordFunctionCallback(&CostRecorder::onStart, &CostRecorder::onStop)
                                                  .needsInputs(true)
                                                  .needsOutputs(true)
                                                  .scopes({at::RecordScope::FUNCTION}));
    }
    ~CostRecorder() override {
        at::removeCallback(m_handle);
        s_current = nullptr;
    }
    CostRecorder(const CostRecorder&) = delete;
    CostRecorder& operator=(const CostRecorder&) = delete;

    void onBegin(const Step&) override {
        // A sub-graph's own steps begin inside their higher-order operator.
        m_open.assign(1, Children{});
    }

    void onEnd(const Step& step) override {
        if (step.kind != StepKind::Operator) {
            addTo(step, {graph::Coverage::ZeroByDefinition, 0, 0});
            m_zero[step.name] = true;
            return;
        }
        graph::OperatorCost cost = m_last;
        if (m_open.empty() || m_open.front().count == 0) {
            cost = graph::operatorCost({step.name, {}, {}});
        }
        addTo(step, cost);
        auto& list = cost.coverage == graph::Coverage::Counted            ? m_counted
                     : cost.coverage == graph::Coverage::ZeroByDefinition ? m_zero
                                                                          : m_unknown;
        list[step.name] = true;
        m_open.assign(1, Children{});
    }

    void finish() {
        const auto names = [](const std::map<std::string, bool>& from, std::vector<std::string>& to) {
            std::transform(from.begin(), from.end(), std::back_inserter(to), [](const auto& entry) { return entry.first; });
        };
        names(m_counted, m_costs.coverage.counted);
        names(m_zero, m_costs.coverage.zero);
        names(m_unknown, m_costs.coverage.unknown);
    }

private:
    static std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction& function) {
        auto context = std::make_unique<CallContext>();
        if (s_current != nullptr) {
            context->inputs = costArguments(function.inputs());
            s_current->m_open.push_back({});
        }
        return context;
    }

    static void onStop(const at::RecordFunction& function, at::ObserverContext* context) {
        if (s_current == nullptr || context == nullptr || s_current->m_open.size() < 2) {
            return;
        }
        std::vector<Children>& open = s_current->m_open;
        const Children children = open.back();
        open.pop_back();
        const graph::OperatorCost cost =
            resolve(graph::operatorCost({function.name(), std::move(static_cast<CallContext*>(context)->inputs),
                                         costArguments(function.outputs())}),
                    children);
        Children& parent = open.back();
        ++parent.count;
        parent.isAllKnown = parent.isAllKnown && cost.coverage != graph::Coverage::Unknown;
        parent.flops += cost.flops;
        parent.hasBytes = parent.hasBytes && cost.bytesMoved.has_value();
        parent.bytes += cost.bytesMoved.value_or(0);
        s_current->m_last = cost;
    }

    void addTo(const Step& step, const graph::OperatorCost& cost) {
        const auto id = static_cast<std::size_t>(step.id);
        m_costs.totalFlops += cost.flops;
        if (cost.coverage != graph::Coverage::Unknown || cost.flops > 0) {
            m_costs.flops[id] = m_costs.flops[id].value_or(0) + cost.flops;
        }
        if (cost.bytesMoved) {
            m_costs.bytes[id] = m_costs.bytes[id].value_or(0) + *cost.bytesMoved;
        }
    }

    inline static thread_local CostRecorder* s_current = nullptr;

    StepCosts& m_costs;
    at::CallbackHandle m_handle = 0;
    std::vector<Children> m_open;
    graph::OperatorCost m_last;
    std::map<std::string, bool> m_counted;
    std::map<std::string, bool> m_zero;
    std::map<std::string, bool> m_unknown;
};

}  // namespace

StepCosts countSteps(CallBinding& binding, const std::atomic<bool>& stop) {
    StepCosts costs;
    const std::size_t count = binding.program().plan().steps.size();
    costs.flops.resize(count);
    costs.bytes.resize(count);
    CostRecorder recorder(costs);
    CallBinding::RunOptions options;
    options.observer = &recorder;
    (void)binding.run(stop, options);
    recorder.finish();
    return costs;
}

}  // namespace modulelens::engine
