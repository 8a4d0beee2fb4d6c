// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "models/ProfileView.h"
#include "models/SiblingFolds.h"

#include <QAbstractItemModel>

#include <memory>

namespace modulelens::models {

/// The shown profile of a ProfileView as a tree of rows. An index holds nothing but a scope id, so a million scopes cost
/// only the rows that a view opens. Below a module whose self value of a summed metric is above 0 and that has children
/// stands a last row, "not in any child". Equal siblings, such as the layers of a model, stand below one row for all of them
/// (SiblingFolds). Confined to its thread.
class MetricTreeModel : public QAbstractItemModel {
    Q_OBJECT

public:
    /// Columns before those of the single metrics. Driving is the metric that the view shows.
    enum Column { ModuleColumn, ClassColumn, DrivingColumn, SelfColumn, OfParentColumn, ForwardColumn, BackwardColumn };
    static constexpr int kFixedColumns = 7;

    enum Role {
        SortRole = Qt::UserRole, ///< Number or text to sort by; invalid where unknown.
        ScopeRole,               ///< ScopeId; that of the module for the row "not in any child".
        SpreadRole,              ///< "1.47–1.49 ms", least and greatest of a row for equal siblings; else invalid.
    };

    /// `view` must outlive the model.
    explicit MetricTreeModel(ProfileView* view, QObject* parent = nullptr);
    ~MetricTreeModel() override;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] bool hasChildren(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    /// Sorts siblings by one column; unknown values and "not in any child" come last. Column -1 follows the view's order.
    void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

    [[nodiscard]] ProfileView* view() const { return m_view; }
    [[nodiscard]] QModelIndex indexOf(profile::ScopeId scope, int column = ModuleColumn) const;
    /// The scope of a row; that of the module for "not in any child", the first of equal siblings for theirs; kNoScope for an
    /// invalid index.
    [[nodiscard]] profile::ScopeId scopeAt(const QModelIndex& index) const;
    [[nodiscard]] bool isUnattributed(const QModelIndex& index) const;
    /// The scopes of a row for equal siblings; empty for any other.
    [[nodiscard]] const std::vector<profile::ScopeId>& foldedAt(const QModelIndex& index) const;
    /// Rows above this one up to the top.
    [[nodiscard]] int depthOf(const QModelIndex& index) const;
    /// The metric of a column, null for the columns before them.
    [[nodiscard]] const profile::Metric* metricOf(int column) const;
    /// False for columns that say nothing now: an unknown metric, the driving metric a second time, a single direction.
    [[nodiscard]] bool isColumnUseful(int column) const;
    /// Value of the driving metric that a row stands for: total or self as the view says, self for "not in any child".
    [[nodiscard]] std::optional<std::int64_t> drivingValue(const QModelIndex& index) const;

private:
    void reset();
    void resort();
    [[nodiscard]] bool isFold(const QModelIndex& index) const;
    [[nodiscard]] bool hasUnattributed(profile::ScopeId scope) const;
    [[nodiscard]] std::optional<std::int64_t> number(profile::ScopeId scope, bool isUnattributed, int column) const;
    /// The same for all scopes of a row together.
    [[nodiscard]] std::optional<std::int64_t> number(const QModelIndex& index) const;
    [[nodiscard]] QString text(profile::ScopeId scope, bool isUnattributed, int column) const;
    [[nodiscard]] QString textOf(std::optional<std::int64_t> value, profile::ScopeId scope, int column) const;
    [[nodiscard]] QString foldedText(const QModelIndex& index) const;
    [[nodiscard]] QString spreadText(const QModelIndex& index) const;
    void rebuild();
    [[nodiscard]] std::unique_ptr<profile::ChildOrder> makeOrder() const;

    ProfileView* m_view;
    int m_sortColumn = -1;
    Qt::SortOrder m_sortOrder = Qt::DescendingOrder;
    /// The profile and order that rows are taken from: the view's may already be newer while it tells us so.
    std::shared_ptr<const profile::Profile> m_profile;
    std::unique_ptr<profile::ChildOrder> m_order;
    std::unique_ptr<SiblingFolds> m_folds;
};

} // namespace modulelens::models
