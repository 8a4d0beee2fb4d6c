// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/CostLedger.h"

#include <limits>
#include <set>

namespace modulelens::graph {

namespace {

void addTo(std::int64_t& sum, std::int64_t value) {
    if (__builtin_add_overflow(sum, value, &sum)) {
        sum = std::numeric_limits<std::int64_t>::max();
    }
}

void addTo(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& value) {
    if (!sum || !value) {
        sum.reset();
    } else {
        addTo(*sum, *value);
    }
}

Coverage joined(Coverage a, Coverage b) {
    if (a == Coverage::Unknown || b == Coverage::Unknown) {
        return Coverage::Unknown;
    }
    return a == Coverage::Counted || b == Coverage::Counted ? Coverage::Counted : Coverage::ZeroByDefinition;
}

}  // namespace

void CostLedger::add(std::string_view name, const OperatorCost& cost, std::int64_t calls) {
    auto row = m_rows.find(name);
    if (row == m_rows.end()) {
        row = m_rows.emplace(std::string(name), CostTotal{}).first;
    }
    CostTotal& total = row->second;
    total.coverage = joined(total.coverage, cost.coverage);
    addTo(total.calls, calls);
    addTo(total.flops, cost.flops);
    addTo(total.recomputedFlops, cost.recomputedFlops);
    addTo(total.maskedFlops, cost.maskedFlops);
    addTo(total.otherFlops, cost.otherFlops);
    addTo(total.bytesMoved, cost.bytesMoved);
}

CostTotal CostLedger::totals() const {
    CostTotal all;
    for (const auto& [name, row] : m_rows) {
        all.coverage = joined(all.coverage, row.coverage);
        addTo(all.calls, row.calls);
        addTo(all.flops, row.flops);
        addTo(all.recomputedFlops, row.recomputedFlops);
        addTo(all.maskedFlops, row.maskedFlops);
        addTo(all.otherFlops, row.otherFlops);
        addTo(all.bytesMoved, row.bytesMoved);
    }
    return all;
}

std::vector<std::string> CostLedger::namesOf(Coverage coverage) const {
    std::vector<std::string> names;
    for (const auto& [name, row] : m_rows) {
        if (row.coverage == coverage) {
            names.push_back(name);
        }
    }
    return names;
}

bool CostLedger::isLowerBound() const {
    return totals().coverage == Coverage::Unknown;
}

std::vector<CostDifference> CostLedger::differences(const CostLedger& first, const CostLedger& second) {
    const auto flopsOf = [](const CostLedger& ledger, const std::string& name) -> std::optional<std::int64_t> {
        const auto row = ledger.m_rows.find(name);
        const bool isKnown = row != ledger.m_rows.end() && (row->second.coverage != Coverage::Unknown || row->second.flops > 0);
        return isKnown ? std::optional(row->second.flops) : std::nullopt;
    };
    std::set<std::string> names;
    for (const auto* ledger : {&first, &second}) {
        for (const auto& [name, row] : ledger->m_rows) {
            names.insert(name);
        }
    }
    std::vector<CostDifference> differences;
    for (const std::string& name : names) {
        const CostDifference one{name, flopsOf(first, name), flopsOf(second, name)};
        if (one.first.value_or(0) != one.second.value_or(0)) {
            differences.push_back(one);
        }
    }
    return differences;
}

}  // namespace modulelens::graph
