// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/MetricTreeModel.h"

#include <QStyledItemDelegate>

namespace modulelens::widgets {

/// Paints the cells of a MetricTree: name with hit marks and glyphs, class, the bar of the driving metric, numbers. Paints
/// no background. Confined to its thread.
class MetricTreeDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    static constexpr int kIndent = 16;
    static constexpr int kChevron = 14;

    explicit MetricTreeDelegate(models::MetricTreeModel* model, QObject* parent = nullptr);

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

    /// Where the chevron of a row at `depth` stands, from the left edge of the first column.
    [[nodiscard]] static int chevronLeft(int depth) { return 12 + depth * kIndent; }
    /// Scopes between the hotspot and the root carry a line as long as the hotspot's bar. True for those.
    [[nodiscard]] bool isOnHotPath(const QModelIndex& index) const;
    /// The row's bar is the heaviest self and nothing else: not that of a module whose children take a part of it.
    [[nodiscard]] bool isWhollyHot(const QModelIndex& index) const;
    /// Value that fills the whole width of the bar column.
    [[nodiscard]] double fullScale() const;

private:
    void paintName(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const;
    void paintBar(QPainter& painter, const QRect& cell, const QModelIndex& index) const;
    void paintNumber(QPainter& painter, const QRect& cell, const QModelIndex& index) const;
    [[nodiscard]] bool isHot(const QModelIndex& index) const;
    [[nodiscard]] bool isDimmed(const QModelIndex& index) const;

    models::MetricTreeModel* m_model;
};

} // namespace modulelens::widgets
