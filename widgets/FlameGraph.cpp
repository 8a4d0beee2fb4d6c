// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/FlameGraph.h"

#include "models/Format.h"
#include "widgets/FlameGraphTip.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/ScopeMenu.h"

#include <QAccessible>
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

constexpr int kInset = 16;
constexpr int kTop = 4;
constexpr int kZoomMilliseconds = 120;
constexpr int kLeastRows = 4;

QString fromView(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

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

const FlameLayout& FlameGraph::layout() const {
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
    return kTop + FlameGraphPainter::rowHeight() * std::max(kLeastRows, layout().rowCount()) + kTop;
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
    return y < 0 ? nullptr : layout().hit(point.x() + 0.5 - kInset, y / FlameGraphPainter::rowHeight());
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
        if (m_view->profile() == nullptr || scope >= m_view->profile()->scopeCount() || layout().rowCount() == 0) {
            return nullptr;
        }
        const auto places = layout().find(*m_view->profile(), m_view->childOrder(), scope);
        return places.empty() ? nullptr : &layout().row(places.front().row)[places.front().index];
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
    if (layout().rowCount() == 0) {
        paintEmpty(painter);
        return;
    }
    FlameGraphPainter::Scene scene;
    scene.view = m_view;
    scene.layout = &layout();
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

QString FlameGraph::emptyText() const {
    if (m_view->profile() == nullptr) {
        return tr("No profile yet\nProfile this version to see where its time, its FLOPs and its memory go.");
    }
    const QString title = models::metricTitle(m_view->metric());
    if (!m_view->givesWidths()) {
        return tr("%1 has no flame graph\nThe values of modules do not add up to that of their parent; the table shows them.")
            .arg(title);
    }
    if (!m_view->isKnown()) {
        const QString sentence = m_view->unknownSentence();
        const qsizetype colon = sentence.indexOf(QLatin1String(": "));
        const QString reason = sentence.mid(colon + 2);
        return sentence.left(colon) + u'\n' + reason.left(1).toUpper() + reason.mid(1) +
               (reason.endsWith(u'.') ? QString() : QStringLiteral("."));
    }
    if (layout().rowCount() == 0) {
        return tr("%1 is 0 here\nIt was measured, and nothing below %2 has any.")
            .arg(title, m_view->displayName(m_view->zoomRoot()));
    }
    return {};
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
    for (const FlameLayout::Place& place : layout().find(*m_view->profile(), m_view->childOrder(), m_view->hovered())) {
        m_hoveredBoxes.push_back(boxRect(place.row, layout().row(place.row)[place.index]).adjusted(-1, -1, 1, 1));
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

void FlameGraph::zoomToSpan(const FlameSpan& span) {
    // The box of the zoomed scope itself leads back out.
    if (span.scope == m_view->zoomRoot() && span.hiddenCount == 0) {
        m_view->zoomUp();
    } else {
        m_view->zoomTo(span.scope);
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

void FlameGraph::wheelEvent(QWheelEvent* event) {
    if (!event->modifiers().testFlag(Qt::ControlModifier)) {
        QAbstractScrollArea::wheelEvent(event);
        return;
    }
    if (event->angleDelta().y() < 0) {
        m_view->zoomUp();
    } else if (const FlameSpan* span = spanAt(event->position().toPoint())) {
        zoomInOneLevel(span->scope);
    }
    event->accept();
}

void FlameGraph::contextMenuEvent(QContextMenuEvent* event) {
    hideTip();
    if (m_view->profile() == nullptr) {
        return;
    }
    QPoint at = event->pos();
    if (event->reason() == QContextMenuEvent::Keyboard) {
        const auto places = layout().find(*m_view->profile(), m_view->childOrder(), m_view->selection());
        if (places.empty()) {
            return;
        }
        at = boxRect(places.front().row, layout().row(places.front().row)[places.front().index]).bottomLeft();
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

void FlameGraph::keyPressEvent(QKeyEvent* event) {
    hideTip();
    const bool hasProfile = m_view->profile() != nullptr;
    switch (event->key()) {
        case Qt::Key_Left:
        case Qt::Key_Right:
            if (event->modifiers().testFlag(Qt::AltModifier)) {
                event->key() == Qt::Key_Left ? m_view->goBack() : m_view->goForward();
                return;
            }
            [[fallthrough]];
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_Home:
            if (hasProfile) {
                moveSelection(event->key());
            }
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (hasProfile) {
                zoomToSelection();
            }
            return;
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            if (hasProfile) {
                zoomInOneLevel(m_view->selection());
            }
            return;
        case Qt::Key_Escape:
        case Qt::Key_Backspace:
        case Qt::Key_Minus:
            if (m_view->zoomRoot() != 0) {
                m_view->zoomUp();
                return;
            }
            break; // Nothing to leave here: the page may want the key.
        default:
            break;
    }
    event->ignore();
}

void FlameGraph::moveSelection(int key) {
    const ScopeId selected = m_view->selection();
    const profile::Profile& shown = *m_view->profile();
    if (selected == ProfileView::kNoScope || !shown.isInside(selected, m_view->zoomRoot()) || key == Qt::Key_Home) {
        m_view->select(m_view->zoomRoot());
        return;
    }
    if (key == Qt::Key_Up) {
        if (selected == m_view->zoomRoot()) {
            m_view->zoomUp();
        }
        if (shown.parent(selected) >= 0) {
            m_view->select(shown.parent(selected));
        }
    } else if (key == Qt::Key_Down) {
        const std::vector<ScopeId>& children = m_view->childOrder().children(selected);
        if (!children.empty()) {
            m_view->select(children.front());
        }
    } else {
        selectSibling(key == Qt::Key_Left ? -1 : 1);
    }
}

void FlameGraph::selectSibling(int by) {
    const ScopeId selected = m_view->selection();
    if (selected == m_view->zoomRoot()) {
        return;
    }
    const std::vector<ScopeId>& siblings = m_view->childOrder().children(m_view->profile()->parent(selected));
    const int row = m_view->childOrder().row(selected) + by;
    if (row >= 0 && row < static_cast<int>(siblings.size())) {
        m_view->select(siblings[static_cast<std::size_t>(row)]);
    }
}

void FlameGraph::zoomToSelection() {
    const ScopeId selected = m_view->selection();
    if (selected == ProfileView::kNoScope) {
        return;
    }
    const auto places = layout().find(*m_view->profile(), m_view->childOrder(), selected);
    const bool isMerged = !places.empty() && std::all_of(places.begin(), places.end(), [&](const auto& place) {
        return layout().row(place.row)[place.index].hiddenCount > 0;
    });
    m_view->zoomTo(isMerged ? layout().row(places.front().row)[places.front().index].scope : selected);
}

void FlameGraph::zoomInOneLevel(ScopeId towards) {
    const profile::Profile& shown = *m_view->profile();
    const ScopeId root = m_view->zoomRoot();
    ScopeId child = towards;
    if (towards == ProfileView::kNoScope || !shown.isInside(towards, root) || towards == root) {
        const std::vector<ScopeId>& children = m_view->childOrder().children(root);
        child = children.empty() ? root : children.front();
    } else {
        while (shown.parent(child) != root) {
            child = shown.parent(child);
        }
    }
    m_view->zoomTo(child);
}

void FlameGraph::ensureSelectionVisible() {
    if (m_view->profile() == nullptr || layout().rowCount() == 0) {
        return;
    }
    const auto places = layout().find(*m_view->profile(), m_view->childOrder(), m_view->selection());
    if (places.empty()) {
        return;
    }
    const int rowHeight = FlameGraphPainter::rowHeight();
    const int top = places.front().row * rowHeight;
    const int value = verticalScrollBar()->value();
    if (top < value) {
        verticalScrollBar()->setValue(top);
    } else if (top + rowHeight + 2 * kTop > value + viewport()->height()) {
        verticalScrollBar()->setValue(top + rowHeight + 2 * kTop - viewport()->height());
    }
}

QString FlameGraph::scopeText(ScopeId scope) const {
    const std::optional<std::int64_t> total = m_view->total(scope);
    const std::optional<std::int64_t> whole = m_view->total(0);
    QString text = m_view->displayName(scope);
    const QString path = fromView(m_view->profile()->path(scope));
    if (!path.isEmpty() && path != text) {
        text += tr(" in %1").arg(path);
    }
    const QString title = models::metricTitle(m_view->metric());
    if (!total) {
        return text + tr(", %1 unknown").arg(title);
    }
    text += tr(", %1 %2").arg(title, models::formatMetric(profile::findMetric(m_view->metric())->unit, *total));
    if (whole.value_or(0) > 0 && m_view->givesWidths()) {
        text += tr(", %1 of all").arg(models::formatShare(static_cast<double>(*total) / static_cast<double>(*whole)));
    }
    return text;
}

void FlameGraph::describeSelection() {
    QString text;
    if (m_view->profile() == nullptr || !emptyText().isEmpty()) {
        text = emptyText().replace(u'\n', QStringLiteral(": "));
    } else if (m_view->selection() == ProfileView::kNoScope) {
        text = tr("Nothing selected. Arrow keys go from box to box.");
    } else {
        text = scopeText(m_view->selection());
    }
    if (text != accessibleDescription()) {
        setAccessibleDescription(text);
        QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
        QAccessible::updateAccessibility(&changed);
    }
}

QStringList FlameGraph::tipLines(const FlameSpan& span) const {
    const profile::Profile& shown = *m_view->profile();
    const std::string& unit = profile::findMetric(m_view->metric())->unit;
    const auto value = [&](std::optional<std::int64_t> number) {
        return number ? models::formatMetric(unit, *number) : models::notCaptured();
    };
    if (span.hiddenCount > 0) {
        QStringList lines = {tr("%1 more in %2").arg(models::formatCount(span.hiddenCount), m_view->displayName(span.scope))};
        const std::vector<ScopeId>& children = m_view->childOrder().children(span.scope);
        constexpr int kNamed = 2;
        for (int i = 0; i < std::min<int>(kNamed, span.hiddenCount); ++i) {
            const ScopeId child = children[static_cast<std::size_t>(span.hiddenFirst + i)];
            lines += m_view->displayName(child) + QStringLiteral("  ") + value(m_view->total(child));
        }
        if (span.hiddenCount > kNamed) {
            lines += tr("and %1 others; Enter zooms to %2")
                         .arg(models::formatCount(span.hiddenCount - kNamed), m_view->displayName(span.scope));
        }
        return lines;
    }
    const ScopeId scope = span.scope;
    const QString path = fromView(shown.path(scope));
    const bool isModule = shown.kind(scope) == profile::ScopeKind::Module;
    QString first = isModule && !path.isEmpty() ? path : m_view->displayName(scope);
    if (isModule && scope != 0) {
        first += QStringLiteral("  ") + models::bareClassName(shown.className(scope));
    } else if (!isModule && !path.isEmpty()) {
        first += tr(" in %1").arg(path);
    }
    QStringList lines = {first, tr("%1 total, %2 self").arg(value(m_view->total(scope)), value(m_view->self(scope)))};
    const auto share = [&](ScopeId of) {
        const double whole = static_cast<double>(m_view->total(of).value_or(0));
        return whole <= 0 ? models::notApplicable()
                          : models::formatShare(static_cast<double>(m_view->total(scope).value_or(0)) / whole);
    };
    const ScopeId parent = shown.parent(scope);
    lines += parent <= 0 ? tr("%1 of all").arg(share(0))
                         : tr("%1 of all, %2 of %3").arg(share(0), share(parent), m_view->displayName(parent));
    if (scope == m_view->hotspot()) {
        lines += tr("The heaviest self of this profile");
    } else if (m_view->members(scope) > 1) {
        lines += tr("Stands for %1 calls").arg(models::formatCount(m_view->members(scope)));
    }
    return lines;
}

} // namespace modulelens::widgets
