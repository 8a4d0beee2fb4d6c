// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/SourceDifference.h"

#include <QAbstractScrollArea>

namespace modulelens::widgets {

/// Two texts side by side: what was removed, added and changed,
/// with equal lines folded. Ctrl+C copies the difference as text. Confined to its thread.
class DifferenceView : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit DifferenceView(QWidget* parent = nullptr);

    /// Titles of the two columns.
    void setTitles(const QString& before, const QString& after);
    /// One difference below the other; a title for each stands above it when there is more than one. `unified` is what is
    /// copied.
    struct Part {
        QString title;
        QString unified;
    };
    void setParts(const QList<Part>& parts);
    [[nodiscard]] int added() const { return m_added; }
    [[nodiscard]] int removed() const { return m_removed; }
    [[nodiscard]] int rowCount() const { return static_cast<int>(m_rows.size()); }
    [[nodiscard]] QString asText() const { return m_text; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;

private:
    void fitScrollBars();
    void paintHead(QPainter& painter) const;
    void paintRow(QPainter& painter, const models::DifferenceRow& row, int top) const;
    void paintSide(QPainter& painter, const models::DifferenceRow& row, bool isAfter, const QRect& box) const;

    std::vector<models::DifferenceRow> m_rows;
    QString m_before;
    QString m_after;
    QString m_text;
    int m_longest = 0;           ///< Characters of the longest line.
    int m_added = 0;
    int m_removed = 0;
};

} // namespace modulelens::widgets
