// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/OperatorCost.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::graph {

/// What all calls of one operator, or of all operators, add up to. Sums that overflow stay at the largest number.
struct CostTotal {
    Coverage coverage = Coverage::ZeroByDefinition;   ///< Unknown when one call was; else Counted when one call was.
    std::int64_t calls = 0;
    std::int64_t flops = 0;                           ///< Of what was counted.
    std::int64_t recomputedFlops = 0;
    std::int64_t maskedFlops = 0;
    std::optional<std::int64_t> otherFlops = 0;       ///< Absent when unknown for one call.
    std::optional<std::int64_t> bytesMoved = 0;       ///< Absent when unknown for one call.
};

/// An operator that two ways of counting count differently.
struct CostDifference {
    std::string name;
    std::optional<std::int64_t> first;                ///< Absent: it does not occur there, or is unknown there.
    std::optional<std::int64_t> second;
};

/// The coverage ledger: every operator that was executed, with what it counted. Confined to its thread.
class CostLedger {
public:
    /// Adds `calls` calls that together cost `cost`.
    void add(std::string_view name, const OperatorCost& cost, std::int64_t calls = 1);

    [[nodiscard]] const std::map<std::string, CostTotal, std::less<>>& rows() const { return m_rows; }
    [[nodiscard]] CostTotal totals() const;
    /// Sorted; an operator stands in one of the three lists.
    [[nodiscard]] std::vector<std::string> namesOf(Coverage coverage) const;
    /// Some operator is unknown: `totals().flops` is a lower bound.
    [[nodiscard]] bool isLowerBound() const;

    /// Operators whose FLOPs differ, by name. One that is absent from a ledger and counts 0 in the other is no difference.
    [[nodiscard]] static std::vector<CostDifference> differences(const CostLedger& first, const CostLedger& second);

private:
    std::map<std::string, CostTotal, std::less<>> m_rows;
};

}  // namespace modulelens::graph
