// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/FlameGraph.h"

#include "widgets/FlameGraphTip.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/ScopeMenu.h"

#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

using models::FlameInput;
using models::FlameLayout;
using models::FlameSpan;
using models::ProfileView;
using profile::ScopeId;

namespace {

constexpr int kZoomMilliseconds = 120;
constexpr int kLeastRows = 4;

} // namespace

FlameGraph::FlameGraph(ProfileView* view, QWidget* parent) : QAbstractScrollArea(parent), m_view(view) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Flame graph"));
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    m_zoom.setDuration(kZoomMilliseconds);
    m_zoom.setEasingCurve(QEasingCurve::OutCubic);
    m_zoom.setStartValue(0.0);
    m_zoom.setEndValue(1.0);
    connect(&m_zoom, &QVariantAnimation::valueChanged, viewport(), qOverload<>(&QWidget::update));
    connect(view, &ProfileView::profileChanged, this, [this] {
        m_zoom.stop();
        m_painter.reset();
        m_drawnRoot = m_view->zoomRoot();
        invalidate();
    });
    connect(view, &ProfileView::valuesChanged, this, &FlameGraph::invalidate);
    connect(view, &ProfileView::orderChanged, this, &FlameGraph::invalidate);
    connect(view, &ProfileView::zoomChanged, this, &FlameGraph::startZoomAnimation);
    connect(view, &ProfileView::hoverChanged, this, &FlameGraph::repaintHovered);
    connect(view, &ProfileView::searchChanged, viewport(), qOverload<>(&QWidget::update));
    connect(view, &ProfileView::selectionChanged, this, [this] {
        describeSelection();
        ensureSelectionVisible();
        viewport()->update();
    });
    describeSelection();
}

FlameGraph::~FlameGraph() {
    delete m_tip;
}

void FlameGraph::invalidate() {
    m_isLayoutStale = true;
    m_hoveredSpan = nullptr;
    hideTip();
    updateScrollRange();
    describeSelection();
    viewport()->update();
}

const FlameLayout& FlameGraph::flameLayout() const {
    if (!m_isLayoutStale) {
        return m_layout;
    }
    m_isLayoutStale = false;
    m_layout = FlameLayout();
    if (m_view->profile() == nullptr || !m_view->givesWidths()) {
        return m_layout;
    }
    FlameInput input;
    input.profile = m_view->profile().get();
    input.order = &m_view->childOrder();
    input.forward = m_view->forwardColumn();
    input.backward = m_view->backwardColumn();
    input.root = m_view->zoomRoot();
    input.width = std::max(0, viewport()->width() - 2 * kInset);
    input.foldWidth = m_foldWidth;
    input.isHeaviestFirst = m_view->order() == ProfileView::Order::Heaviest;
    m_layout = FlameLayout::compute(input);
    return m_layout;
}

void FlameGraph::setFoldWidth(double pixels) {
    m_foldWidth = std::max(1.0, pixels);
    invalidate();
}

int FlameGraph::contentHeight() const {
    return kTop + FlameGraphPainter::rowHeight() * std::max(kLeastRows, flameLayout().rowCount()) + kTop;
}

QSize FlameGraph::sizeHint() const {
    return {600, contentHeight()};
}

QSize FlameGraph::minimumSizeHint() const {
    return {200, kTop + FlameGraphPainter::rowHeight() * kLeastRows};
}

void FlameGraph::updateScrollRange() {
    const int height = contentHeight();
    verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(FlameGraphPainter::rowHeight());
    updateGeometry();
    emit contentHeightChanged(height);
}

QRect FlameGraph::boxRect(int row, const FlameSpan& span) const {
    const int left = static_cast<int>(std::lround(kInset + span.left));
    const int right = static_cast<int>(std::lround(kInset + span.right()));
    const int rowHeight = FlameGraphPainter::rowHeight();
    return {left, kTop + row * rowHeight - verticalScrollBar()->value(), std::max(1, right - left - 1), rowHeight - 1};
}

const FlameSpan* FlameGraph::spanAt(const QPoint& point) const {
    const int y = point.y() + verticalScrollBar()->value() - kTop;
    return y < 0 ? nullptr : flameLayout().hit(point.x() + 0.5 - kInset, y / FlameGraphPainter::rowHeight());
}

void FlameGraph::startZoomAnimation() {
    const ScopeId before = m_drawnRoot;
    const ScopeId now = m_view->zoomRoot();
    m_drawnRoot = now;
    m_zoom.stop();
    if (before == now) {
        invalidate();
        return;
    }
    const double width = std::max(1, viewport()->width() - 2 * kInset);
    // What the transform must be for the new layout to stand where the old one was.
    m_fromStretch = 1;
    m_fromShift = 0;
    bool isAnimated = !m_reduceMotion && isVisible() && m_view->profile() != nullptr;
    const auto boxIn = [&](ScopeId scope) -> const FlameSpan* {
        if (m_view->profile() == nullptr || scope >= m_view->profile()->scopeCount() || flameLayout().rowCount() == 0) {
            return nullptr;
        }
        const auto places = flameLayout().find(*m_view->profile(), m_view->childOrder(), scope);
        return places.empty() ? nullptr : &flameLayout().row(places.front().row)[places.front().index];
    };
    const FlameSpan* target = isAnimated ? boxIn(now) : nullptr; // In the old layout: zooming in.
    if (target != nullptr && target->width > 0) {
        m_fromStretch = target->width / width;
        m_fromShift = target->left;
        invalidate();
    } else {
        invalidate();
        const FlameSpan* source = isAnimated ? boxIn(before) : nullptr; // In the new layout: zooming out.
        if (source != nullptr && source->width > 0) {
            m_fromStretch = width / source->width;
            m_fromShift = -source->left * m_fromStretch;
        } else {
            isAnimated = false;
        }
    }
    verticalScrollBar()->setValue(0);
    if (isAnimated) {
        m_zoom.start();
    }
}

void FlameGraph::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    painter.fillRect(event->rect(), Theme::current().surface);
    if (flameLayout().rowCount() == 0) {
        paintEmpty(painter);
        return;
    }
    FlameGraphPainter::Scene scene;
    scene.view = m_view;
    scene.layout = &flameLayout();
    scene.clip = event->rect();
    scene.originX = kInset;
    scene.originY = kTop - verticalScrollBar()->value();
    scene.hasFocus = hasFocus();
    if (m_zoom.state() == QAbstractAnimation::Running) {
        const double left = 1 - m_zoom.currentValue().toDouble();
        scene.stretch = 1 + (m_fromStretch - 1) * left;
        scene.originX += m_fromShift * left;
        painter.setClipRect(
            event->rect().intersected(QRect(kInset, 0, std::max(0, viewport()->width() - 2 * kInset), viewport()->height())));
    }
    m_painter.paint(painter, scene);
}

void FlameGraph::paintEmpty(QPainter& painter) const {
    const Theme& theme = Theme::current();
    const QStringList lines = emptyText().split(u'\n');
    const QRectF area = viewport()->rect();
    const double top = std::max(4.0, area.center().y() - 42);
    paintIcon(painter, QRectF(area.center().x() - 16, top, 32, 32), Icon::Gap, theme.text3);
    drawText(painter, QRectF(kInset, top + 36, area.width() - 2 * kInset, 20), lines.value(0), uiFont(13, QFont::DemiBold),
             theme.text, Qt::AlignHCenter);
    drawText(painter, QRectF(kInset, top + 58, area.width() - 2 * kInset, 20), lines.value(1), uiFont(12), theme.text2,
             Qt::AlignHCenter);
}

void FlameGraph::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    m_zoom.stop();
    invalidate();
}

void FlameGraph::scrollContentsBy(int, int) {
    hideTip();
    viewport()->update();
}

void FlameGraph::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange || event->type() == QEvent::FontChange) {
        m_painter.reset();
        viewport()->update();
    }
}

bool FlameGraph::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave || event->type() == QEvent::Hide) {
        m_hoveredSpan = nullptr;
        m_view->hover(ProfileView::kNoScope);
        hideTip();
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void FlameGraph::hideTip() {
    if (m_tip != nullptr) {
        m_tip->hide();
    }
}

void FlameGraph::repaintHovered() {
    for (const QRect& box : m_hoveredBoxes) {
        viewport()->update(box);
    }
    m_hoveredBoxes.clear();
    if (m_view->profile() == nullptr || m_view->hovered() == ProfileView::kNoScope) {
        return;
    }
    for (const FlameLayout::Place& place : flameLayout().find(*m_view->profile(), m_view->childOrder(), m_view->hovered())) {
        m_hoveredBoxes.push_back(boxRect(place.row, flameLayout().row(place.row)[place.index]).adjusted(-1, -1, 1, 1));
        viewport()->update(m_hoveredBoxes.back());
    }
}

void FlameGraph::mousePressEvent(QMouseEvent* event) {
    hideTip();
    if (event->button() == Qt::BackButton) {
        m_view->goBack();
    } else if (event->button() == Qt::ForwardButton) {
        m_view->goForward();
    } else if (const FlameSpan* span = spanAt(event->pos())) {
        m_view->select(span->scope);
    }
}

void FlameGraph::mouseReleaseEvent(QMouseEvent* event) {
    event->accept();
}

void FlameGraph::mouseDoubleClickEvent(QMouseEvent* event) {
    const FlameSpan* span = event->button() == Qt::LeftButton ? spanAt(event->pos()) : nullptr;
    if (span != nullptr) {
        zoomToSpan(*span);
    }
}

void FlameGraph::mouseMoveEvent(QMouseEvent* event) {
    hoverAt(event->pos());
}

void FlameGraph::hoverAt(const QPoint& point) {
    const FlameSpan* span = spanAt(point);
    if (span == nullptr) {
        m_hoveredSpan = nullptr;
        m_view->hover(ProfileView::kNoScope);
        hideTip();
        return;
    }
    m_view->hover(span->hiddenCount > 0 ? ProfileView::kNoScope : span->scope);
    if (m_tip == nullptr || m_tip->parentWidget() != window()) {
        delete m_tip;
        m_tip = new FlameGraphTip(window());
    }
    const QStringList lines = span == m_hoveredSpan ? m_tip->lines() : tipLines(*span);
    m_hoveredSpan = span;
    m_tip->showAt(viewport()->mapTo(window(), point), lines);
}

void FlameGraph::contextMenuEvent(QContextMenuEvent* event) {
    hideTip();
    if (m_view->profile() == nullptr) {
        return;
    }
    QPoint at = event->pos();
    if (event->reason() == QContextMenuEvent::Keyboard) {
        const auto places = flameLayout().find(*m_view->profile(), m_view->childOrder(), m_view->selection());
        if (places.empty()) {
            return;
        }
        at = boxRect(places.front().row, flameLayout().row(places.front().row)[places.front().index]).bottomLeft();
    } else if (const FlameSpan* span = spanAt(at)) {
        m_view->select(span->scope);
    } else {
        return;
    }
    QMenu* menu = makeScopeMenu(m_view, m_view->selection(), this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(viewport()->mapToGlobal(at));
}

void FlameGraph::focusInEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusInEvent(event);
    if (m_view->profile() != nullptr && m_view->selection() == ProfileView::kNoScope &&
        (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason)) {
        m_view->select(m_view->zoomRoot());
    }
    viewport()->update();
}

void FlameGraph::focusOutEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

} // namespace modulelens::widgets
