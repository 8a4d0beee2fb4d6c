// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/FlameLayout.h"
#include "models/ProfileView.h"
#include "widgets/FlameGraphPainter.h"

#include <QAbstractScrollArea>
#include <QPointer>
#include <QVariantAnimation>

namespace modulelens::widgets {

class FlameGraphTip;

/// The flame graph of a ProfileView: one painted widget over the boxes that are wide enough to be seen. A click selects, a
/// double click zooms; arrows go to parent, child and siblings, Enter zooms, Escape and Backspace go up, + and - zoom by
/// one level. Confined to its thread.
class FlameGraph : public QAbstractScrollArea {
    Q_OBJECT

public:
    /// `view` must outlive the widget.
    explicit FlameGraph(models::ProfileView* view, QWidget* parent = nullptr);
    ~FlameGraph() override;

    /// Height that shows every row.
    [[nodiscard]] int contentHeight() const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

    /// Children narrower than this are merged into "n more"; 3 by default.
    void setFoldWidth(double pixels);
    /// No animation when true.
    void setReduceMotion(bool reduce) { m_reduceMotion = reduce; }

    /// The layout as it is drawn now.
    [[nodiscard]] const models::FlameLayout& flameLayout() const;
    /// Rectangle of a box in viewport coordinates.
    [[nodiscard]] QRect boxRect(int row, const models::FlameSpan& span) const;
    /// The box at a point of the viewport, or null.
    [[nodiscard]] const models::FlameSpan* spanAt(const QPoint& point) const;
    /// At most four lines: name, numbers, shares, what follows from them.
    [[nodiscard]] QStringList tipLines(const models::FlameSpan& span) const;
    /// What is said instead of a graph, "heading\nsentence"; empty when there is one.
    [[nodiscard]] QString emptyText() const;

signals:
    void contentHeightChanged(int height);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    bool viewportEvent(QEvent* event) override;

private:
    static constexpr int kInset = 16; ///< Left and right of the boxes.
    static constexpr int kTop = 4;    ///< Above the first row and below the last one.

    void invalidate();
    void updateScrollRange();
    void startZoomAnimation();
    void describeSelection();
    void ensureSelectionVisible();
    void zoomToSpan(const models::FlameSpan& span);
    void zoomToSelection();
    void zoomInOneLevel(profile::ScopeId towards);
    void moveSelection(int key);
    void selectSibling(int by);
    void hoverAt(const QPoint& point);
    void hideTip();
    void repaintHovered();
    void paintEmpty(QPainter& painter) const;
    [[nodiscard]] QString scopeText(profile::ScopeId scope) const;

    models::ProfileView* m_view;
    FlameGraphPainter m_painter;
    mutable models::FlameLayout m_layout;
    mutable bool m_isLayoutStale = true;
    double m_foldWidth = 3;
    bool m_reduceMotion = false;
    profile::ScopeId m_drawnRoot = 0;
    QVariantAnimation m_zoom;                ///< From the transform that shows the old picture to none.
    double m_fromStretch = 1;
    double m_fromShift = 0;
    QPointer<FlameGraphTip> m_tip;
    const models::FlameSpan* m_hoveredSpan = nullptr;
    std::vector<QRect> m_hoveredBoxes;       ///< What was drawn with the hover outline.
};

} // namespace modulelens::widgets
