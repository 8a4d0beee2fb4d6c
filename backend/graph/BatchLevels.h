// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/Program.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace modulelens::graph {

/// Which values of a graph torch.vmap maps over, as export writes it: a level is opened with its batch size, inputs get a batch
/// dimension of it, results lose theirs, the level is closed. The shapes recorded in between are those of one example.
/// Confined to its thread.
class BatchLevels {
public:
    /// The number that an argument is known to be.
    using Integer = std::function<std::optional<std::int64_t>(const Argument&)>;

    explicit BatchLevels(Integer integer) : m_integer(std::move(integer)) {}

    /// Whether `node` is a call that torch.vmap becomes, which computes nothing.
    [[nodiscard]] static bool isTransform(const Node& node);

    /// Takes the next node in the order of execution. How many examples it runs for: 1 outside torch.vmap and for inputs that
    /// are not mapped over; nullopt where a batch size is not known, negative, or too large together with others.
    [[nodiscard]] std::optional<std::int64_t> enter(const Node& node);

    /// How many examples of `value` there are after the nodes entered so far; nullopt as with `enter`.
    [[nodiscard]] std::optional<std::int64_t> examplesOf(ValueId value) const;

private:
    using Levels = std::set<std::int64_t>;

    void open(const Node& node);
    [[nodiscard]] std::int64_t levelAt(const Node& node, std::size_t position) const;
    [[nodiscard]] Levels levelsOf(const Node& node) const;
    [[nodiscard]] std::optional<std::int64_t> examplesOf(const Levels& levels) const;
    void keep(const Node& node, const Levels& levels);

    Integer m_integer;
    std::vector<std::optional<std::int64_t>> m_sizes;  ///< Of the open levels, outermost first: level 1 is the first.
    std::map<ValueId, Levels> m_levels;                ///< Of values that are mapped over.
};

}  // namespace modulelens::graph
