// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/ChildOrder.h"
#include "backend/profile/Profile.h"

#include <cstdint>
#include <span>
#include <vector>

namespace modulelens::models {

/// Which values give a box its width.
enum class FlameLane : std::uint8_t { Whole, Forward, Backward };

/// One box of a row. `left` and `width` are in the unit of the layout's width, usually pixels.
struct FlameSpan {
    double left = 0;
    double width = 0;
    profile::ScopeId scope = 0;     ///< The scope; for "n more" the parent of the merged children.
    std::int32_t hiddenFirst = 0;   ///< "n more": index of the first merged child in the parent's order.
    std::int32_t hiddenCount = 0;   ///< 0 for the box of a scope, else how many children are merged.
    FlameLane lane = FlameLane::Whole;
    bool isPass = false;            ///< "forward" or "backward": the zoom root once more, in one direction.

    [[nodiscard]] double right() const { return left + width; }
};

/// What a layout is made of. All pointers must be valid during compute() only.
struct FlameInput {
    const profile::Profile* profile = nullptr;
    const profile::ChildOrder* order = nullptr;
    const profile::Column* forward = nullptr;     ///< Null: not drawn. Both: two lanes below the root.
    const profile::Column* backward = nullptr;
    profile::ScopeId root = 0;
    double width = 0;
    double foldWidth = 3;           ///< Narrower children of one parent are merged into "n more".
    bool isHeaviestFirst = true;    ///< `order` sorts by the sum of both columns, greatest first, Unattributed last.
    int rowLimit = 32768;
};

/// Where the visible boxes of a flame graph lie: rows from the root down, boxes from left to right. Children that are too
/// narrow are merged and never visited, so the cost follows what is visible, not the size of the tree.
/// Invariants: boxes of a row do not overlap, children lie within their parent, no width is negative.
/// Immutable after construction.
class FlameLayout {
public:
    /// Empty when there is nothing to draw: no column, or a total at the root that is unknown or 0.
    [[nodiscard]] static FlameLayout compute(const FlameInput& input);

    [[nodiscard]] int rowCount() const { return static_cast<int>(m_rows.size()); }
    [[nodiscard]] std::span<const FlameSpan> row(int row) const { return m_rows[static_cast<std::size_t>(row)]; }
    [[nodiscard]] double width() const { return m_width; }
    [[nodiscard]] profile::ScopeId root() const { return m_root; }

    /// The box at `x` in `row`, or null. Binary search.
    [[nodiscard]] const FlameSpan* hit(double x, int row) const;
    /// Index of the first box in `row` whose right edge is beyond `x`.
    [[nodiscard]] std::size_t firstAfter(double x, int row) const;

    struct Place {
        int row = 0;
        std::size_t index = 0;      ///< In row(row).
    };
    /// The boxes that stand for `scope`: its own, one per lane, or "n more" that merges it or the ancestor it is in.
    [[nodiscard]] std::vector<Place> find(const profile::Profile& profile, const profile::ChildOrder& order,
                                          profile::ScopeId scope) const;

private:
    std::vector<std::vector<FlameSpan>> m_rows;
    double m_width = 0;
    profile::ScopeId m_root = 0;
    int m_firstChildRow = 1;        ///< Row of the root's children: one lower below two lanes.
};

} // namespace modulelens::models
