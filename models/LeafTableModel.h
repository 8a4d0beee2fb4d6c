// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QAbstractTableModel>
#include <QHash>

#include <string>
#include <vector>

namespace modulelens::protocol {
struct LeafResult;
}

namespace modulelens::models {

/// The compared outputs of a validation, one row each. Confined to its thread.
class LeafTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column {
        NameColumn,
        ShapeColumn,
        TypeColumn,
        VerdictColumn,
        AbsoluteColumn,
        RelativeColumn,
        UlpColumn,
        CosineColumn,
        MismatchedColumn,
        ColumnCount
    };

    explicit LeafTableModel(QObject* parent = nullptr);
    ~LeafTableModel() override;

    /// Names by JSON Pointer, where they are known better than the pointer tells.
    void setNames(const QHash<QString, QString>& names);
    [[nodiscard]] QString nameOf(const std::string& pointer) const;
    void setLeaves(std::vector<protocol::LeafResult> leaves);
    [[nodiscard]] const protocol::LeafResult* leafAt(int row) const;
    /// Row of the worst leaf: the failing one with most elements outside, else the greatest difference; -1 without leaves.
    [[nodiscard]] int worstRow() const;
    [[nodiscard]] int failedCount() const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QHash<QString, QString> m_names;
    std::vector<protocol::LeafResult> m_leaves;
};

} // namespace modulelens::models
