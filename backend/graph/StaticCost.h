// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/CostLedger.h"
#include "backend/graph/OperatorCost.h"
#include "backend/graph/Program.h"

#include <map>
#include <string>
#include <vector>

namespace modulelens::graph {

/// Cost of one node before anything ran. Nodes of sub-graphs follow their parent's node in `node` order of execution.
struct NodeCost {
    int scope = 0;
    std::string operatorName;          ///< "aten::addmm", "_operator::mul", "higher_order::cond".
    std::int64_t repeats = 1;          ///< How often a step of a map or scan runs the node; `cost` is for all of them.
    OperatorCost cost;
    std::string reason = {};           ///< Why the cost is Unknown; else empty.
};

struct StaticCosts {
    std::vector<NodeCost> nodes;       ///< Every operator node, in order.
    std::int64_t flops = 0;            ///< Sum of what was counted.
    std::vector<std::string> counted;  ///< Operator names, sorted, each once.
    std::vector<std::string> zero;
    std::vector<std::string> unknown;  ///< Not empty: `flops` is a lower bound.
    std::map<std::string, std::string> reasons;  ///< Of each of `unknown`, why (of its first such call).
    CostLedger ledger;                 ///< The same by operator.
};

/// Counts from recorded shapes. `symbols` gives values for symbolic sizes; what it does not name takes the hint of
/// the sample inputs. A node with a size that stays unknown is Coverage::Unknown. Of the branches of a cond the costlier
/// one counts, the body of a map or scan counts once for each step, and the body of a while_loop once, with the loop itself
/// Unknown. Inside torch.vmap a node costs what all examples cost, and reads once what it is not mapped over; where the number
/// of examples is not known it is Unknown. Pure.
[[nodiscard]] StaticCosts staticCosts(const Program& program, const std::map<std::string, std::int64_t>& symbols);

}  // namespace modulelens::graph
