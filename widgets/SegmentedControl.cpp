// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/SegmentedControl.h"

#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

namespace {
constexpr int kHeight = 28;
}

SegmentedControl::SegmentedControl(const QString& accessibleName, QWidget* parent) : QWidget(parent) {
    setAccessibleName(accessibleName);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void SegmentedControl::setSegments(QList<Segment> segments) {
    m_segments = std::move(segments);
    m_current = std::clamp(m_current, 0, std::max(0, static_cast<int>(m_segments.size()) - 1));
    updateGeometry();
    update();
}

void SegmentedControl::setCurrent(int index) {
    if (index != m_current && index >= 0 && index < m_segments.size()) {
        m_current = index;
        setAccessibleDescription(m_segments[index].text);
        update();
        emit currentChanged(index);
    }
}

int SegmentedControl::segmentWidth(const Segment& segment) const {
    const double text = QFontMetricsF(uiFont(12, QFont::DemiBold)).horizontalAdvance(segment.text);
    return static_cast<int>(std::ceil(text)) + 20 + (segment.icon ? 22 : 0);
}

QSize SegmentedControl::sizeHint() const {
    int width = 0;
    for (const Segment& segment : m_segments) {
        width += segmentWidth(segment);
    }
    return {width, kHeight};
}

void SegmentedControl::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(t.controlBorder);
    painter.setBrush(t.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(.5, .5, -.5, -.5), 4, 4);
    int x = 0;
    for (int i = 0; i < m_segments.size(); ++i) {
        // The last one takes what is left when the control is stretched.
        const int wide =
            i + 1 == m_segments.size() ? std::max(width() - x, segmentWidth(m_segments[i])) : segmentWidth(m_segments[i]);
        const bool chosen = i == m_current;
        if (chosen) {
            painter.setPen(QPen(hasFocus() ? t.accent : t.line2, hasFocus() ? 2 : 1));
            painter.setBrush(t.sel);
            const double inset = hasFocus() ? 1 : .5;
            painter.drawRoundedRect(QRectF(x + inset, inset, wide - 2 * inset, height() - 2 * inset), 4, 4);
        } else if (i > 0 && i - 1 != m_current) {
            painter.fillRect(x, 6, 1, height() - 12, t.line);
        }
        const QColor colour = chosen ? t.text : t.text2;
        const QFont font = uiFont(12, chosen ? QFont::DemiBold : QFont::Normal);
        double left = x + 10;
        if (m_segments[i].icon) {
            paintIcon(painter, QRectF(left, (height() - 16) / 2.0, 16, 16), *m_segments[i].icon, colour);
            left += 22;
        }
        const Qt::Alignment alignment = m_segments[i].icon ? Qt::AlignLeft : Qt::AlignHCenter;
        drawText(painter, QRectF(left, 0, x + wide - 10 - left + 1, height()), m_segments[i].text, font, colour, alignment);
        x += wide;
    }
}

void SegmentedControl::mousePressEvent(QMouseEvent* event) {
    int x = 0;
    for (int i = 0; i < m_segments.size(); ++i) {
        x += segmentWidth(m_segments[i]);
        if (event->position().x() < x || i + 1 == m_segments.size()) {
            setCurrent(i);
            return;
        }
    }
}

void SegmentedControl::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Left) {
        setCurrent(m_current - 1);
    } else if (event->key() == Qt::Key_Right) {
        setCurrent(m_current + 1);
    } else {
        QWidget::keyPressEvent(event);
    }
}

} // namespace modulelens::widgets
