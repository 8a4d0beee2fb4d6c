// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QAbstractTableModel>
#include <QHash>

#include <vector>

namespace modulelens::operations {
struct TensorStatistics;
}

namespace modulelens::models {

/// "input_ids" for "/kwargs/input_ids", "args[0]" for "/args/0", "output[0]" for "/output/v/0", "output.last_hidden_state"
/// for a named member.
[[nodiscard]] QString tensorName(const std::string& pointer);

/// Inputs and outputs of one captured call with their statistics, under a heading each. Confined to its thread.
class TensorTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column {
        NameColumn,
        ShapeColumn,
        TypeColumn,
        SizeColumn,
        MinColumn,
        MeanColumn,
        MaxColumn,
        DeviationColumn,
        ZeroColumn,
        SpreadColumn,
        SpecialColumn,
        ColumnCount
    };

    explicit TensorTableModel(QObject* parent = nullptr);
    ~TensorTableModel() override;

    /// Names by JSON Pointer, where they are known better than the pointer tells.
    void setNames(const QHash<QString, QString>& names);
    [[nodiscard]] QString nameOf(const std::string& pointer) const;
    void setTensors(std::vector<operations::TensorStatistics> tensors);
    /// Statistics behind a row, null for headings.
    [[nodiscard]] const operations::TensorStatistics* tensorAt(int row) const;
    /// Tensors that hold a NaN.
    [[nodiscard]] int nanTensorCount() const;
    /// Tensors that hold an infinity, of either sign.
    [[nodiscard]] int infiniteTensorCount() const;
    [[nodiscard]] int tensorCount() const;
    /// Name of the first tensor that holds a NaN, or empty.
    [[nodiscard]] QString firstNanTensor() const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

private:
    struct Row {
        QString heading;       ///< Set for headings.
        int tensor = -1;
    };
    [[nodiscard]] QString text(const operations::TensorStatistics& tensor, int column) const;

    QHash<QString, QString> m_names;
    std::vector<operations::TensorStatistics> m_tensors;
    std::vector<Row> m_rows;
};

} // namespace modulelens::models
