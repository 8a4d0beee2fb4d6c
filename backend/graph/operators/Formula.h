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
    FlopFormula other = nullptr;         ///< OperatorCost::otherFlops; absent: not known.
    FlopFormula recomputed = nullptr;    ///< OperatorCost::recomputedFlops; absent: 0.
    FlopFormula masked = nullptr;        ///< OperatorCost::maskedFlops; absent: 0.
};

/// One table for each family, each in a file of its own.
[[nodiscard]] std::span<const FormulaRow> matmulFormulas();
[[nodiscard]] std::span<const FormulaRow> einsumFormulas();
[[nodiscard]] std::span<const FormulaRow> convolutionFormulas();
[[nodiscard]] std::span<const FormulaRow> attentionFormulas();
[[nodiscard]] std::span<const FormulaRow> recurrentFormulas();
[[nodiscard]] std::span<const FormulaRow> quantisedFormulas();
[[nodiscard]] std::span<const FormulaRow> transformerFormulas();

/// The row of `name` ("aten::addmm"), or nullptr.
[[nodiscard]] const FormulaRow* findFormula(std::string_view name);

/// What an operator without matrix products does with memory.
enum class Traffic {
    None,           ///< Shares its input's memory, computes with sizes only, or reserves memory without touching it.
    Reshape,        ///< None when the output can be a view of the first input, else one copy.
    Convert,        ///< None when the output has the first input's type and strides, else one copy.
    Dropout,        ///< None in evaluation (third argument false), else one pass.
    Lookup,         ///< Reads as many elements of its first input as it writes, and its indices.
    Bag,            ///< Reads a row of its first input for each element of its second.
    Overwrite,      ///< Does not read its first input.
    ScatterInPlace, ///< Touches only the elements of its first input that the last tensor goes to.
    Stream,         ///< Reads its inputs and writes its outputs once.
};

/// What it computes outside matrix products.
enum class Work {
    None,
    PerOutput,      ///< One operation for each element of the first output.
    PerInput,       ///< One for each element of the first input.
    Softmax,        ///< Five for each element: maximum, difference, exponential, sum, quotient.
    Normalisation,  ///< Seven for each element: mean, difference, square, variance, quotient, scale, shift.
    RmsNormalisation,    ///< Four: square, sum, quotient, scale.
    BatchNormalisation,  ///< Two in evaluation (scale, shift), else seven. Whether it trains is the sixth argument.
    Window,         ///< One for each element of each window: outputs times the sizes of the second argument.
    Bag,            ///< One for each element of each further row of a bag.
};

struct ZeroRow {
    Traffic traffic = Traffic::Stream;
    Work work = Work::None;
};
/// The row of an operator that is zero by definition; nothing for any other.
[[nodiscard]] std::optional<ZeroRow> findZeroRow(std::string_view name);

/// Bytes that a call without a formula of its own family moves; nothing when unknown.
[[nodiscard]] std::optional<std::int64_t> bytesMoved(const OperatorCall& call, Traffic traffic);
/// FLOPs outside matrix products; nothing when shapes are missing.
[[nodiscard]] std::optional<std::int64_t> otherWork(const OperatorCall& call, Work work);

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
/// Product of a shape's sizes; nothing when it overflows or `shape` is null.
[[nodiscard]] std::optional<std::int64_t> elementsOf(const Shape* shape);
[[nodiscard]] std::optional<std::vector<std::int64_t>> integersAt(const OperatorCall& call, std::size_t position);

/// Multiplies `count` by each of `sizes`.
void multiplyAll(Count& count, std::span<const std::int64_t> sizes);

/// Sizes of two shapes broadcast together; nothing when they do not fit.
[[nodiscard]] std::optional<Shape> broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

}  // namespace modulelens::graph
