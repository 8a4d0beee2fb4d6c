// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>
#include <QWidget>

namespace modulelens::widgets {

/// The inverted tooltip beside a mark: a child of the window, so that it needs no window of its own, as wide as its text.
/// Confined to its thread.
class FlameGraphTip : public QWidget {
    Q_OBJECT

public:
    /// `window` is the top-level widget that the tip is drawn in.
    explicit FlameGraphTip(QWidget* window);

    /// Shows at most four lines, the first one bold, 12 px right below `mark` (in coordinates of the window); goes to the
    /// other side at an edge.
    void showAt(const QPoint& mark, const QStringList& lines);
    [[nodiscard]] const QStringList& lines() const { return m_lines; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QStringList m_lines;
};

} // namespace modulelens::widgets
