// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/CostSummary.h"

#include "backend/graph/SizeExpression.h"
#include "backend/graph/StaticCost.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace modulelens::engine {

namespace {

const char* nameOf(graph::Coverage coverage) {
    switch (coverage) {
        case graph::Coverage::Counted:
            return "counted";
        case graph::Coverage::ZeroByDefinition:
            return "zero";
        case graph::Coverage::Unknown:
            break;
    }
    return "unknown";
}

/// Values of the symbolic sizes that stand alone in an input's shape.
std::map<std::string, std::int64_t> boundSizes(const graph::Program& program, const std::vector<c10::IValue>& inputs) {
    std::map<std::string, std::int64_t> sizes;
    const auto bind = [&](const graph::SymbolicInteger& size, std::int64_t value) {
        if (!size.literal) {
            if (const auto symbol = graph::soleSymbol(size.expression)) {
                sizes.insert_or_assign(*symbol, value);
            }
        }
    };
    for (std::size_t i = 0; i < program.graph.inputs.size() && i < inputs.size(); ++i) {
        const auto* argument = std::get_if<graph::ValueArgument>(&program.graph.inputs[i]);
        if (argument == nullptr || argument->value < 0) {
            continue;
        }
        const graph::Value& value = program.graph.values[static_cast<std::size_t>(argument->value)];
        if (value.tensor && inputs[i].isTensor() && inputs[i].toTensor().defined()) {
            const auto actual = inputs[i].toTensor().sizes();
            for (std::size_t k = 0; k < value.tensor->sizes.size() && k < actual.size(); ++k) {
                bind(value.tensor->sizes[k], actual[k]);
            }
        } else if (value.integer && inputs[i].isInt()) {
            bind(*value.integer, inputs[i].toInt());
        }
    }
    return sizes;
}

bool branches(const graph::CostLedger& ledger) {
    return std::any_of(ledger.rows().begin(), ledger.rows().end(), [](const auto& row) {
        return row.first == "higher_order::cond" || row.first == "higher_order::while_loop";
    });
}

std::string reasonOf(const graph::CostDifference& difference, const graph::StaticCosts& fromGraph) {
    if (const auto reason = fromGraph.reasons.find(difference.name); reason != fromGraph.reasons.end()) {
        return "from the graph alone it is not known: " + reason->second;
    }
    if (fromGraph.unknown.empty() && !branches(fromGraph.ledger)) {
        return "the run had other sizes than the graph says";
    }
    return "which branch runs and how often a loop turns is known in a run only";
}

/// Products that PyTorch's counter has a formula for: flop_registry of torch/utils/flop_counter.py.
bool isKnownToTorch(const std::string& name) {
    static const std::set<std::string_view> known{"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_scaled_mm"};
    return known.contains(name);
}

/// Names of `operators`, at most three.
std::string listed(const std::vector<std::string>& operators) {
    constexpr std::size_t kMost = 3;
    std::string text;
    for (std::size_t i = 0; i < operators.size() && i < kMost; ++i) {
        text += (i == 0 ? "" : ", ") + operators[i];
    }
    return text + (operators.size() > kMost ? ", ..." : "");
}

void addTorch(protocol::CostSummary& summary, const StepCosts& costs, const nlohmann::json& call) {
    const auto found = call.find("torch_flops");
    if (found == call.end() || !found->is_object()) {
        return;
    }
    const auto total = found->find("total");
    const auto operators = found->find("by_operator");
    if (total == found->end() || !total->is_number_integer() || operators == found->end() || !operators->is_object()) {
        return;
    }
    std::map<std::string, std::int64_t> flops;
    for (const auto& [name, value] : operators->items()) {
        if (value.is_number_integer()) {
            flops[name] = value.get<std::int64_t>();
        }
    }
    const auto version = found->find("torch");
    summary.torchFlops = total->get<std::int64_t>();
    summary.torchVersion = version != found->end() && version->is_string() ? version->get<std::string>() : std::string();
    summary.torchDifference = torchDifferences(costs.ledger, costs.innermost, flops);
}

}  // namespace

std::vector<protocol::FlopDifference> torchDifferences(const graph::CostLedger& observed, const graph::CostLedger& innermost,
                                                       const std::map<std::string, std::int64_t>& torchFlops) {
    struct Family {
        std::int64_t ours = 0;
        std::int64_t theirs = 0;
        std::vector<std::string> onlyOurs;
        std::vector<std::string> hidden;  ///< The counter has a formula, and did not see them.
    };
    std::map<std::string, Family> families;
    const auto familyOf = [&](const std::string& name) -> Family& {
        const std::string_view family = graph::operatorFamily(name);
        return families[family.empty() ? name : std::string(family)];
    };
    for (const auto& [name, row] : innermost.rows()) {
        Family& family = familyOf(name);
        family.ours += row.flops;
        if (torchFlops.count(name) == 0) {
            (isKnownToTorch(name) ? family.hidden : family.onlyOurs).push_back(name);
        }
    }
    for (const auto& [name, flops] : torchFlops) {
        familyOf(name).theirs += flops;
    }
    // Kernels that call products below the place where the counter looks.
    std::vector<std::string> closed;
    for (const auto& [name, row] : observed.rows()) {
        if (row.coverage == graph::Coverage::Unknown && row.flops > 0) {
            closed.push_back(name);
        }
    }
    std::vector<protocol::FlopDifference> differences;
    for (const auto& [name, family] : families) {
        if (family.ours == family.theirs) {
            continue;
        }
        std::string reason = "not known";
        if (family.ours > family.theirs && !family.onlyOurs.empty()) {
            reason = "PyTorch's counter has no formula for " + listed(family.onlyOurs);
        } else if (family.ours > family.theirs && !family.hidden.empty()) {
            reason = "PyTorch's counter does not see " + listed(family.hidden) + " inside the operator that calls it";
        } else if (family.ours > family.theirs && !closed.empty()) {
            reason = "PyTorch's counter does not see the operators that " + listed(closed) + " calls";
        } else if (name == "convolutions") {
            reason = "PyTorch's counter multiplies the weight gradient of a grouped convolution by its groups";
        } else if (family.ours == 0) {
            reason = "eager PyTorch runs other operators here than the exported program";
        }
        differences.push_back({name, family.ours, family.theirs, reason});
    }
    return differences;
}

protocol::CostSummary summarizeCosts(CallBinding& binding, const StepCosts& costs,
                                     const std::map<std::string, std::int64_t>& latencyNs) {
    const graph::CostLedger& observed = costs.ledger;
    protocol::CostSummary summary;
    const graph::CostTotal totals = observed.totals();
    summary.bytes = totals.bytesMoved;
    summary.isLowerBound = observed.isLowerBound();
    summary.causalConvention = "dense";
    summary.causalExactFlops = totals.flops - totals.maskedFlops;
    if (totals.otherFlops) {
        summary.allOperationsFlops = totals.flops + *totals.otherFlops;
    }
    for (const auto& [name, row] : observed.rows()) {
        protocol::OperatorTotal total{name, nameOf(row.coverage), row.calls, row.flops, row.bytesMoved, row.otherFlops, {}};
        if (const auto time = latencyNs.find(name); time != latencyNs.end()) {
            total.latencyNs = time->second;
        }
        summary.operators.push_back(std::move(total));
    }
    const graph::Program& program = binding.program().program();
    const graph::StaticCosts fromGraph = graph::staticCosts(program, boundSizes(program, binding.pristineInputs()));
    if (fromGraph.flops > 0 || fromGraph.unknown.empty()) {
        summary.staticFlops = fromGraph.flops;
    }
    for (const graph::CostDifference& difference : graph::CostLedger::differences(observed, fromGraph.ledger)) {
        summary.staticDifference.push_back(
            {difference.name, difference.first, difference.second, reasonOf(difference, fromGraph)});
    }
    addTorch(summary, costs, *binding.call().json);
    return summary;
}

}  // namespace modulelens::engine
