// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTableView>

namespace modulelens::widgets {

/// A table of values after the roles of models/TableCells.h: chips, sparklines, numbers in equal digits, heading rows.
/// Rows of 24 px, no grid. Ctrl+C copies the chosen rows as tab-separated text. Confined to its thread.
class ValueTable : public QTableView {
    Q_OBJECT

public:
    explicit ValueTable(const QString& accessibleName, QWidget* parent = nullptr);

    /// Widths of the columns; 0 takes what is left.
    void setColumnWidths(const QList<int>& widths);
    /// Table text of all rows, columns separated by tabs.
    [[nodiscard]] QString asText() const;

signals:
    /// A click on a cell; Space or Enter stand for a click on the last cell of the current row.
    void cellActivated(const QModelIndex& index);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void applyWidths();

    QList<int> m_widths;
};

/// A progress bar 6 px high: `share` 0 to 1, or less than 0 while the end is unknown.
void paintProgress(QPainter& painter, const QRectF& box, double share);

} // namespace modulelens::widgets
