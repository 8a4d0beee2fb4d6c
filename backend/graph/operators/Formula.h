// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/OperatorCost.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::graph {

using Shape = std::vector<std::int64_t>;

/// FLOPs of one call, 2 per multiply-add; nothing when shapes are missing, do not fit together, or overflow.
using FlopFormula = std::optional<std::int64_t> (*)(const OperatorCall& call);

/// A formula and the operator it belongs to. `arguments` are the schema names of the leading arguments in order, separated
/// by spaces, as far as the formula reads them: they turn the names of an exported graph into positions.
struct FormulaRow {
    std::string_view name;
    std::string_view arguments;
    FlopFormula flops;
};

/// One table for each family, each in a file of its own.
[[nodiscard]] std::span<const FormulaRow> matmulFormulas();
[[nodiscard]] std::span<const FormulaRow> einsumFormulas();
[[nodiscard]] std::span<const FormulaRow> convolutionFormulas();
[[nodiscard]] std::span<const FormulaRow> attentionFormulas();
[[nodiscard]] std::span<const FormulaRow> recurrentFormulas();

/// The row of `name` ("aten::addmm"), or nullptr.
[[nodiscard]] const FormulaRow* findFormula(std::string_view name);

/// What an operator without FLOPs does with memory.
enum class ZeroFamily {
    View,      ///< Shares its input's memory, or computes with sizes only.
    Lookup,    ///< Reads as many elements of its first input as it writes.
    Bag,       ///< Reads a row of its first input for each element of its second.
    Stream,    ///< Reads its inputs and writes its outputs once.
};
/// The family of an operator that is zero by definition; nothing for any other.
[[nodiscard]] std::optional<ZeroFamily> findZeroFamily(std::string_view name);

/// A product or sum that remembers an overflow or a negative factor. Confined to its thread.
class Count {
public:
    explicit Count(std::int64_t value) { *this *= value; }
    Count& operator*=(std::int64_t factor);
    Count& operator+=(const Count& other);
    [[nodiscard]] std::optional<std::int64_t> value() const;

private:
    std::int64_t m_value = 1;
    bool m_isValid = true;
};

// Arguments of a call by position; nothing when absent or of another kind.

[[nodiscard]] const Shape* shapeAt(const OperatorCall& call, std::size_t position);
[[nodiscard]] const std::vector<CostTensor>* tensorsAt(const OperatorCall& call, std::size_t position);
[[nodiscard]] const Shape* outputShape(const OperatorCall& call);
[[nodiscard]] std::optional<std::vector<std::int64_t>> integersAt(const OperatorCall& call, std::size_t position);

/// Multiplies `count` by each of `sizes`.
void multiplyAll(Count& count, std::span<const std::int64_t> sizes);

/// Sizes of two shapes broadcast together; nothing when they do not fit.
[[nodiscard]] std::optional<Shape> broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

}  // namespace modulelens::graph
