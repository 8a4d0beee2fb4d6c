// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/DifferenceView.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QClipboard>
#include <QFontMetricsF>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>
#include <utility>

namespace modulelens::widgets {

namespace {

using models::DifferenceRow;
using models::DifferenceSide;

constexpr int kLineHeight = 20;
constexpr int kHeadHeight = 24;
constexpr int kNumberWidth = 44;
constexpr int kTextLeft = 72;
constexpr int kBarWidth = 3;

double characterWidth() {
    return QFontMetricsF(monoFont(12)).horizontalAdvance(u'0');
}

/// The area where a side has no line.
void paintHatch(QPainter& painter, const QRect& box) {
    const Theme& t = Theme::current();
    painter.fillRect(box, t.window);
    painter.fillRect(box, QBrush(t.grid, Qt::BDiagPattern));
}

} // namespace

DifferenceView::DifferenceView(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Difference of the source"));
    verticalScrollBar()->setSingleStep(kLineHeight);
    horizontalScrollBar()->setSingleStep(kLineHeight);
}

void DifferenceView::setTitles(const QString& before, const QString& after) {
    m_before = before;
    m_after = after;
    viewport()->update();
}

void DifferenceView::setParts(const QList<Part>& parts) {
    m_rows.clear();
    m_text.clear();
    m_added = m_removed = 0;
    for (const Part& part : parts) {
        models::SourceDifference difference = models::sourceDifference(part.unified);
        if (parts.size() > 1) {
            DifferenceRow heading;
            heading.kind = DifferenceRow::Kind::Heading;
            heading.title = part.title;
            m_rows.push_back(heading);
        }
        m_added += difference.added;
        m_removed += difference.removed;
        std::move(difference.rows.begin(), difference.rows.end(), std::back_inserter(m_rows));
        m_text += part.unified + u'\n';
    }
    qsizetype longest = 0;
    for (DifferenceRow& row : m_rows) {
        longest = std::max({longest, row.before.text.size(), row.after.text.size()});
    }
    m_longest = static_cast<int>(longest);
    setAccessibleDescription(tr("%1 lines added, %2 removed").arg(m_added).arg(m_removed));
    fitScrollBars();
    viewport()->update();
}

void DifferenceView::fitScrollBars() {
    const int room = std::max(0, viewport()->height() - kHeadHeight);
    verticalScrollBar()->setPageStep(room);
    verticalScrollBar()->setRange(0, std::max(0, rowCount() * kLineHeight - room));
    const int width = viewport()->width() / 2 - kTextLeft;
    horizontalScrollBar()->setPageStep(std::max(1, width));
    horizontalScrollBar()->setRange(0, std::max(0, static_cast<int>(std::ceil((m_longest + 2) * characterWidth())) - width));
}

void DifferenceView::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    fitScrollBars();
}

void DifferenceView::scrollContentsBy(int, int) {
    viewport()->update();
}

void DifferenceView::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Copy)) {
        QGuiApplication::clipboard()->setText(m_text);
    } else if (event->key() == Qt::Key_Home || event->key() == Qt::Key_End) {
        verticalScrollBar()->setValue(event->key() == Qt::Key_Home ? 0 : verticalScrollBar()->maximum());
    } else {
        QAbstractScrollArea::keyPressEvent(event);
    }
}

void DifferenceView::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), t.surface);
    const int from = verticalScrollBar()->value();
    for (int row = from / kLineHeight; row < rowCount(); ++row) {
        const int top = kHeadHeight + row * kLineHeight - from;
        if (top >= viewport()->height()) {
            break;
        }
        paintRow(painter, m_rows[static_cast<std::size_t>(row)], top);
    }
    paintHead(painter);
    painter.fillRect(viewport()->width() / 2, 0, 1, viewport()->height(), t.line);
    if (hasFocus()) {
        painter.setPen(QPen(t.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
    }
}

void DifferenceView::paintHead(QPainter& painter) const {
    const Theme& t = Theme::current();
    const int half = viewport()->width() / 2;
    painter.fillRect(0, 0, viewport()->width(), kHeadHeight, t.window);
    painter.fillRect(0, kHeadHeight - 1, viewport()->width(), 1, t.line);
    const QFont font = uiFont(11, QFont::DemiBold);
    drawText(painter, QRectF(16, 0, half - 32, kHeadHeight - 1), m_before, font, t.text2);
    const QString counts = QStringLiteral("+%1  −%2").arg(m_added).arg(m_removed);
    const double wide = QFontMetricsF(font).horizontalAdvance(counts) + 4;
    drawText(painter, QRectF(half + 16, 0, half - 48 - wide, kHeadHeight - 1), m_after, font, t.text2);
    drawText(painter, QRectF(viewport()->width() - 16 - wide, 0, wide, kHeadHeight - 1), counts, font, t.text2, Qt::AlignRight);
}

void DifferenceView::paintRow(QPainter& painter, const DifferenceRow& row, int top) const {
    const Theme& t = Theme::current();
    const int half = viewport()->width() / 2;
    const QRect whole(0, top, viewport()->width(), kLineHeight);
    if (row.kind == DifferenceRow::Kind::Heading || row.kind == DifferenceRow::Kind::Fold) {
        const bool isHeading = row.kind == DifferenceRow::Kind::Heading;
        painter.fillRect(whole, t.window);
        drawText(painter, QRectF(isHeading ? 16 : kTextLeft, top, half, kLineHeight), row.title,
                 uiFont(11, isHeading ? QFont::DemiBold : QFont::Normal), isHeading ? t.text : t.text2);
        return;
    }
    paintSide(painter, row, false, QRect(0, top, half, kLineHeight));
    paintSide(painter, row, true, QRect(half + 1, top, viewport()->width() - half - 1, kLineHeight));
}

void DifferenceView::paintSide(QPainter& painter, const DifferenceRow& row, bool isAfter, const QRect& box) const {
    const Theme& t = Theme::current();
    const DifferenceSide& side = isAfter ? row.after : row.before;
    if (side.number == 0) {
        paintHatch(painter, box);
        return;
    }
    const bool isChanged = row.kind == DifferenceRow::Kind::Changed;
    if (isChanged) {
        painter.fillRect(box, isAfter ? t.warnSoft : t.band);
        painter.fillRect(QRect(box.left(), box.top(), kBarWidth, box.height()), isAfter ? t.warn : t.line2);
        drawText(painter, QRectF(box.left() + kNumberWidth + 8, box.top(), 12, box.height()),
                 isAfter ? QStringLiteral("+") : QStringLiteral("−"), monoFont(12), isAfter ? t.warn : t.text2);
    }
    drawText(painter, QRectF(box.left(), box.top(), kNumberWidth, box.height()), QString::number(side.number), monoFont(12),
             isChanged ? t.text2 : t.text3, Qt::AlignRight);
    painter.save();
    painter.setClipRect(box.adjusted(kTextLeft - 4, 0, 0, 0));
    const double left = box.left() + kTextLeft - horizontalScrollBar()->value();
    painter.setFont(monoFont(12));
    painter.setPen(t.text);
    painter.drawText(QRectF(left, box.top(), 100000, box.height()), Qt::AlignLeft | Qt::AlignVCenter, side.text);
    if (isAfter && side.changedTo > side.changedFrom) {
        const QFontMetricsF metrics(monoFont(12));
        const double from = metrics.horizontalAdvance(side.text.left(side.changedFrom));
        const double to = metrics.horizontalAdvance(side.text.left(side.changedTo));
        painter.fillRect(QRectF(left + from, box.bottom() - 2, to - from, 2), t.warn);
    }
    painter.restore();
}

} // namespace modulelens::widgets
