// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/operators/Formula.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace modulelens::graph {

namespace {

struct Table {
    std::string_view family;
    std::span<const FormulaRow> rows;
};

std::array<Table, 7> allTables() {
    return {Table{"products", matmulFormulas()},
            Table{"einsum", einsumFormulas()},
            Table{"convolutions", convolutionFormulas()},
            Table{"attention", attentionFormulas()},
            Table{"recurrent", recurrentFormulas()},
            Table{"quantised", quantisedFormulas()},
            Table{"fused transformer", transformerFormulas()}};
}

struct Entry {
    std::string_view family;
    const FormulaRow* row = nullptr;
};

const Entry* findEntry(std::string_view name) {
    static const auto entries = [] {
        std::unordered_map<std::string_view, Entry> index;
        for (const Table& table : allTables()) {
            for (const FormulaRow& row : table.rows) {
                index.emplace(row.name, Entry{table.family, &row});
            }
        }
        return index;
    }();
    const auto found = entries.find(name);
    return found == entries.end() ? nullptr : &found->second;
}

}  // namespace

const FormulaRow* findFormula(std::string_view name) {
    const Entry* entry = findEntry(name);
    return entry == nullptr ? nullptr : entry->row;
}

std::string_view operatorFamily(std::string_view name) {
    const Entry* entry = findEntry(name);
    // In-place forms belong to their plain form.
    if (entry == nullptr && name.ends_with('_')) {
        entry = findEntry(name.substr(0, name.size() - 1));
    }
    return entry == nullptr ? std::string_view() : entry->family;
}

std::vector<std::string_view> operatorsWithFormula() {
    std::vector<std::string_view> names;
    for (const Table& table : allTables()) {
        for (const FormulaRow& row : table.rows) {
            names.push_back(row.name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

Count& Count::operator*=(std::int64_t factor) {
    m_isValid = m_isValid && factor >= 0 && !__builtin_mul_overflow(m_value, factor, &m_value);
    return *this;
}

Count& Count::operator+=(const Count& other) {
    m_isValid = m_isValid && other.m_isValid && !__builtin_add_overflow(m_value, other.m_value, &m_value);
    return *this;
}

std::optional<std::int64_t> Count::value() const {
    return m_isValid ? std::optional(m_value) : std::nullopt;
}

const Shape* shapeAt(const OperatorCall& call, std::size_t position) {
    const auto* tensor = position < call.inputs.size() ? std::get_if<CostTensor>(&call.inputs[position]) : nullptr;
    return tensor == nullptr ? nullptr : &tensor->shape;
}

const std::vector<CostTensor>* tensorsAt(const OperatorCall& call, std::size_t position) {
    return position < call.inputs.size() ? std::get_if<std::vector<CostTensor>>(&call.inputs[position]) : nullptr;
}

const Shape* outputShape(const OperatorCall& call) {
    const auto* tensor = call.outputs.empty() ? nullptr : std::get_if<CostTensor>(&call.outputs.front());
    return tensor == nullptr ? nullptr : &tensor->shape;
}

std::optional<std::int64_t> elementsOf(const Shape* shape) {
    if (shape == nullptr) {
        return std::nullopt;
    }
    Count count(1);
    multiplyAll(count, *shape);
    return count.value();
}

std::optional<std::vector<std::int64_t>> integersAt(const OperatorCall& call, std::size_t position) {
    if (position >= call.inputs.size()) {
        return std::nullopt;
    }
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&call.inputs[position])) {
        return *list;
    }
    if (const auto* one = std::get_if<std::int64_t>(&call.inputs[position])) {
        return std::vector<std::int64_t>{*one};
    }
    return std::nullopt;
}

void multiplyAll(Count& count, std::span<const std::int64_t> sizes) {
    for (const std::int64_t size : sizes) {
        count *= size;
    }
}

std::optional<Shape> broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    Shape result(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
        const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (left != right && left != 1 && right != 1) {
            return std::nullopt;
        }
        result[result.size() - 1 - i] = left == 1 ? right : left;
    }
    return result;
}

}  // namespace modulelens::graph
