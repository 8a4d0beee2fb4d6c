// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/MetricTreeModel.h"

#include <QTreeView>

#include <set>

namespace modulelens::widgets {

class MetricTreeDelegate;

/// The metric tree of a ProfileView: a row for each scope with the bar of the driving metric and its numbers. Opens along
/// the path to the heaviest self, follows the one selection, shows as many columns as fit. Confined to its thread.
class MetricTree : public QTreeView {
    Q_OBJECT

public:
    /// `view` must outlive the widget.
    explicit MetricTree(models::ProfileView* view, QWidget* parent = nullptr);
    ~MetricTree() override;

    [[nodiscard]] models::MetricTreeModel* treeModel() const { return m_model; }
    /// Hides or shows a column for good, by MetricTreeModel's number; the module and the driving metric always show.
    void setColumnWanted(int column, bool wanted);
    [[nodiscard]] bool isColumnWanted(int column) const { return !m_unwanted.contains(column); }
    /// Opens the rows that lead to the hotspot and closes the rest.
    void expandHotPath();

protected:
    void drawRow(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

private:
    void followSelection();
    void followSearch();
    /// Scrolls no further from the top than the selected row needs: what it stands in is in sight where there is room.
    void showFromTop();
    [[nodiscard]] bool isInSight(const QModelIndex& index) const;
    void repaintHovered();
    void updateColumns();
    void showColumnMenu(const QPoint& at);
    void reveal(profile::ScopeId scope);
    void sortByHeader(int column);
    void showSortIndicator();
    /// The row whose chevron is at `point`, or an invalid index.
    [[nodiscard]] QModelIndex chevronAt(const QPoint& point) const;

    models::ProfileView* m_view;
    models::MetricTreeModel* m_model;
    MetricTreeDelegate* m_delegate;
    std::set<int> m_unwanted;
    int m_sortColumn = -1; ///< As clicked; -1 follows the view's order. The header turns its indicator before it tells.
    Qt::SortOrder m_sortOrder = Qt::DescendingOrder;
    profile::ScopeId m_hoveredRow = models::ProfileView::kNoScope;
    bool m_isFollowing = false;
    bool m_keepsInSight = false;   ///< The selected row, when the size changes; until a person scrolls.
};

} // namespace modulelens::widgets
