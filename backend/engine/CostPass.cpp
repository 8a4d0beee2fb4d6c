// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/OperatorCounter.h"
#include "backend/engine/Passes.h"

#include <optional>

namespace modulelens::engine {

namespace {

/// Gives what the operators of each step count to the step.
class CostObserver : public StepObserver {
public:
    explicit CostObserver(StepCosts& costs)
        : m_costs(costs),
          m_counter([this](std::string_view, const graph::OperatorCost& cost) { take(cost); },
                    [&costs](std::string_view name, const graph::OperatorCost& cost) { costs.innermost.add(name, cost); }) {}

    void onBegin(const Step&) override { m_last.reset(); }

    void onEnd(const Step& step) override {
        // A sub-graph's own steps begin and end inside their higher-order operator.
        graph::OperatorCost cost{graph::Coverage::ZeroByDefinition, 0, 0, 0, 0, 0};
        if (step.kind == StepKind::Operator || step.kind == StepKind::CloneWithStrides) {
            cost = m_last ? *m_last : graph::operatorCost({step.name, {}, {}});
        }
        m_last.reset();
        m_costs.ledger.add(step.name, cost);
        const auto id = static_cast<std::size_t>(step.id);
        if (cost.coverage != graph::Coverage::Unknown || cost.flops > 0) {
            m_costs.flops[id] = m_costs.flops[id].value_or(0) + cost.flops;
        }
        if (cost.bytesMoved) {
            m_costs.bytes[id] = m_costs.bytes[id].value_or(0) + *cost.bytesMoved;
        }
    }

private:
    // An operator is one call; a copy with strides is views as well, which move nothing.
    void take(const graph::OperatorCost& cost) {
        if (!m_last || cost.bytesMoved.value_or(0) >= m_last->bytesMoved.value_or(0)) {
            m_last = cost;
        }
    }

    StepCosts& m_costs;
    std::optional<graph::OperatorCost> m_last;
    OperatorCounter m_counter;
};

}  // namespace

StepCosts countSteps(CallBinding& binding, const std::atomic<bool>& stop) {
    StepCosts costs;
    const std::size_t count = binding.program().plan().steps.size();
    costs.flops.resize(count);
    costs.bytes.resize(count);
    {
        CostObserver observer(costs);
        CallBinding::RunOptions options;
        options.observer = &observer;
        (void)binding.run(stop, options);
    }
    costs.totalFlops = costs.ledger.totals().flops;
    costs.coverage = {costs.ledger.namesOf(graph::Coverage::Counted), costs.ledger.namesOf(graph::Coverage::ZeroByDefinition),
                      costs.ledger.namesOf(graph::Coverage::Unknown)};
    return costs;
}

}  // namespace modulelens::engine
