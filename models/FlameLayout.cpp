// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/FlameLayout.h"

#include <algorithm>

namespace modulelens::models {

using profile::Column;
using profile::Profile;
using profile::ScopeId;

namespace {

constexpr double kLeastMergedWidth = 1.5; ///< Narrower "n more" boxes are not drawn.

double known(const std::vector<std::int64_t>& values, ScopeId scope) {
    // kUnknown is negative; nothing else is.
    return static_cast<double>(std::max<std::int64_t>(0, values[static_cast<std::size_t>(scope)]));
}

/// Lays out the subtree of one root in one lane.
class LaneLayout {
public:
    LaneLayout(const FlameInput& input, FlameLane lane, double scale, std::vector<std::vector<FlameSpan>>& rows)
        : m_input(input), m_lane(lane), m_scale(scale), m_rows(rows) {}

    double total(ScopeId scope) const {
        return (m_lane != FlameLane::Backward && m_input.forward != nullptr ? known(m_input.forward->total, scope) : 0) +
               (m_lane != FlameLane::Forward && m_input.backward != nullptr ? known(m_input.backward->total, scope) : 0);
    }

    /// The children of the root go to `firstRow`; they start at `left` and end at `right` at most.
    void run(double left, double right, int firstRow) {
        open(m_input.root, left, right);
        while (!m_open.empty()) {
            const int row = firstRow + static_cast<int>(m_open.size()) - 1;
            Frame& frame = m_open.back();
            if (frame.next >= frame.children->size() || row >= m_input.rowLimit) {
                m_open.pop_back();
                continue;
            }
            const ScopeId child = (*frame.children)[frame.next];
            const double width = std::min(total(child) * m_scale, frame.right - frame.left);
            if (width < m_input.foldWidth) {
                merge(frame, row);
                continue;
            }
            const double from = frame.left;
            frame.left += width;
            ++frame.next;
            add(row, {from, width, child, 0, 0, m_lane, false});
            if (m_input.profile->hasChildren(child)) {
                open(child, from, from + width);
            }
        }
    }

private:
    struct Frame {
        ScopeId scope;
        const std::vector<ScopeId>* children;
        std::size_t next;
        double start;
        double left; ///< Where the next child starts.
        double right;
    };

    void open(ScopeId scope, double left, double right) {
        m_open.push_back({scope, &m_input.order->children(scope), 0, left, left, right});
    }

    void add(int row, FlameSpan span) {
        if (m_rows.size() <= static_cast<std::size_t>(row)) {
            m_rows.resize(static_cast<std::size_t>(row) + 1);
        }
        m_rows[static_cast<std::size_t>(row)].push_back(span);
    }

    /// Merges the run of narrow children that starts at the frame's next one.
    void merge(Frame& frame, int row) {
        const std::size_t first = frame.next;
        double width = 0;
        // What no child explains stands last and may be wide.
        const bool isShortcutAllowed =
            m_input.isHeaviestFirst && m_input.profile->kind(frame.children->back()) != profile::ScopeKind::Unattributed;
        while (frame.next < frame.children->size()) {
            const ScopeId child = (*frame.children)[frame.next];
            const double childWidth = total(child) * m_scale;
            if (childWidth >= m_input.foldWidth) {
                break;
            }
            if (isShortcutAllowed && bothTotal(child) * m_scale < m_input.foldWidth) {
                // No later child is wider: what is left over is what they share.
                width = std::max(0.0, childrenTotal(frame.scope) * m_scale - (frame.left - frame.start));
                frame.next = frame.children->size();
                break;
            }
            width += childWidth;
            ++frame.next;
        }
        width = std::min(width, frame.right - frame.left);
        if (width >= kLeastMergedWidth) {
            add(row, {frame.left, width, frame.scope, static_cast<std::int32_t>(first),
                      static_cast<std::int32_t>(frame.next - first), m_lane, false});
        }
        frame.left += std::max(0.0, width);
    }

    double bothTotal(ScopeId scope) const {
        return (m_input.forward != nullptr ? known(m_input.forward->total, scope) : 0) +
               (m_input.backward != nullptr ? known(m_input.backward->total, scope) : 0);
    }

    double childrenTotal(ScopeId scope) const {
        double self = 0;
        self += m_lane != FlameLane::Backward && m_input.forward != nullptr ? known(m_input.forward->self, scope) : 0;
        self += m_lane != FlameLane::Forward && m_input.backward != nullptr ? known(m_input.backward->self, scope) : 0;
        return std::max(0.0, total(scope) - self);
    }

    const FlameInput& m_input;
    FlameLane m_lane;
    double m_scale;
    std::vector<std::vector<FlameSpan>>& m_rows;
    std::vector<Frame> m_open;
};

} // namespace

FlameLayout FlameLayout::compute(const FlameInput& input) {
    FlameLayout layout;
    layout.m_width = input.width;
    layout.m_root = input.root;
    std::vector<std::vector<FlameSpan>>& rows = layout.m_rows;
    const double forward = input.forward == nullptr ? 0 : known(input.forward->total, input.root);
    const double backward = input.backward == nullptr ? 0 : known(input.backward->total, input.root);
    if (input.profile == nullptr || forward + backward <= 0 || input.width <= 0) {
        return layout;
    }
    const double scale = input.width / (forward + backward);
    rows.push_back({{0, input.width, input.root, 0, 0, FlameLane::Whole, false}});
    if (input.forward == nullptr || input.backward == nullptr) {
        LaneLayout(input, FlameLane::Whole, scale, rows).run(0, input.width, 1);
        return layout;
    }
    layout.m_firstChildRow = 2;
    const double middle = forward * scale;
    rows.push_back({});
    if (forward > 0) {
        rows[1].push_back({0, middle, input.root, 0, 0, FlameLane::Forward, true});
    }
    if (backward > 0) {
        rows[1].push_back({middle, input.width - middle, input.root, 0, 0, FlameLane::Backward, true});
    }
    LaneLayout(input, FlameLane::Forward, scale, rows).run(0, middle, 2);
    LaneLayout(input, FlameLane::Backward, scale, rows).run(middle, input.width, 2);
    return layout;
}

std::size_t FlameLayout::firstAfter(double x, int row) const {
    const std::vector<FlameSpan>& spans = m_rows[static_cast<std::size_t>(row)];
    const auto found =
        std::partition_point(spans.begin(), spans.end(), [x](const FlameSpan& span) { return span.right() <= x; });
    return static_cast<std::size_t>(found - spans.begin());
}

const FlameSpan* FlameLayout::hit(double x, int row) const {
    if (row < 0 || row >= rowCount()) {
        return nullptr;
    }
    const std::vector<FlameSpan>& spans = m_rows[static_cast<std::size_t>(row)];
    const std::size_t index = firstAfter(x, row);
    return index < spans.size() && spans[index].left <= x ? &spans[index] : nullptr;
}

std::vector<FlameLayout::Place> FlameLayout::find(const Profile& profile, const profile::ChildOrder& order,
                                                  ScopeId scope) const {
    std::vector<Place> places;
    if (m_rows.empty() || scope < 0 || !profile.isInside(scope, m_root)) {
        return places;
    }
    const auto rowOf = [&](ScopeId at) {
        return at == m_root ? 0 : m_firstChildRow + profile.depth(at) - profile.depth(m_root) - 1;
    };
    const auto collect = [&](int row, auto&& isWanted) {
        if (row < rowCount()) {
            const std::vector<FlameSpan>& spans = m_rows[static_cast<std::size_t>(row)];
            for (std::size_t i = 0; i < spans.size(); ++i) {
                if (isWanted(spans[i])) {
                    places.push_back({row, i});
                }
            }
        }
    };
    collect(rowOf(scope), [&](const FlameSpan& span) { return span.scope == scope && span.hiddenCount == 0; });
    // A lane that does not show the scope merges it, or an ancestor, below the deepest ancestor that it shows.
    for (ScopeId child = scope; child != m_root; child = profile.parent(child)) {
        const ScopeId parent = profile.parent(child);
        const std::int32_t at = order.row(child);
        collect(rowOf(child), [&](const FlameSpan& span) {
            return span.scope == parent && span.hiddenCount > 0 && at >= span.hiddenFirst &&
                   at < span.hiddenFirst + span.hiddenCount;
        });
    }
    return places;
}

} // namespace modulelens::models
