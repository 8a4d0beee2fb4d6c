// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/BatchLevels.h"

#include <string_view>

namespace modulelens::graph {

namespace {

constexpr std::string_view kTransforms = "torch._functorch.predispatch.";

template <class Visitor>
void eachValue(const Argument& argument, const Visitor& visit) {
    if (const auto* value = std::get_if<ValueArgument>(&argument)) {
        if (value->value >= 0) {
            visit(value->value);
        }
    } else if (const auto* list = std::get_if<ValueListArgument>(&argument)) {
        for (const ValueId item : list->values) {
            if (item >= 0) {
                visit(item);
            }
        }
    }
}

/// "_add_batch_dim"; empty for any other node.
std::string_view transformOf(const Node& node) {
    std::string_view target = node.target;
    if (!target.starts_with(kTransforms)) {
        return {};
    }
    target.remove_prefix(kTransforms.size());
    static const std::set<std::string_view> names{"lazy_load_decompositions", "_vmap_increment_nesting",
                                                  "_vmap_decrement_nesting", "_add_batch_dim", "_remove_batch_dim"};
    return names.contains(target) ? target : std::string_view();
}

}  // namespace

bool BatchLevels::isTransform(const Node& node) {
    return !transformOf(node).empty();
}

void BatchLevels::open(const Node& node) {
    const auto size = node.inputs.empty() ? std::nullopt : m_integer(node.inputs.front().argument);
    m_sizes.push_back(size && *size >= 0 ? size : std::nullopt);
}

std::int64_t BatchLevels::levelAt(const Node& node, std::size_t position) const {
    const auto level = position < node.inputs.size() ? m_integer(node.inputs[position].argument) : std::nullopt;
    return level.value_or(static_cast<std::int64_t>(m_sizes.size()));
}

BatchLevels::Levels BatchLevels::levelsOf(const Node& node) const {
    Levels levels;
    for (const NamedArgument& input : node.inputs) {
        eachValue(input.argument, [&](ValueId id) {
            if (const auto found = m_levels.find(id); found != m_levels.end()) {
                levels.insert(found->second.begin(), found->second.end());
            }
        });
    }
    return levels;
}

void BatchLevels::keep(const Node& node, const Levels& levels) {
    for (const Argument& output : node.outputs) {
        eachValue(output, [&](ValueId id) {
            if (levels.empty()) {
                m_levels.erase(id);
            } else {
                m_levels[id] = levels;
            }
        });
    }
}

std::optional<std::int64_t> BatchLevels::examplesOf(const Levels& levels) const {
    std::int64_t count = 1;
    for (const std::int64_t level : levels) {
        const bool isOpen = level >= 1 && level <= static_cast<std::int64_t>(m_sizes.size());
        const auto size = isOpen ? m_sizes[static_cast<std::size_t>(level - 1)] : std::nullopt;
        if (!size || __builtin_mul_overflow(count, *size, &count)) {
            return std::nullopt;
        }
    }
    return count;
}

std::optional<std::int64_t> BatchLevels::examplesOf(ValueId value) const {
    const auto found = m_levels.find(value);
    return found == m_levels.end() ? std::optional<std::int64_t>(1) : examplesOf(found->second);
}

std::optional<std::int64_t> BatchLevels::enter(const Node& node) {
    const std::string_view transform = transformOf(node);
    Levels levels = levelsOf(node);
    if (transform == "_vmap_increment_nesting") {
        open(node);
    } else if (transform == "_vmap_decrement_nesting" && !m_sizes.empty()) {
        m_sizes.pop_back();
    } else if (transform == "_add_batch_dim") {
        levels.insert(levelAt(node, 2));
    } else if (transform == "_remove_batch_dim") {
        levels.erase(levelAt(node, 1));
    }
    keep(node, levels);
    return transform.empty() ? examplesOf(levels) : 1;
}

}  // namespace modulelens::graph
