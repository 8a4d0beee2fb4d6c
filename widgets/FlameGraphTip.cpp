// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/FlameGraphTip.h"

#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

namespace {

constexpr int kDistance = 12;
constexpr int kMaxLines = 4;
constexpr int kLineHeight = 18;
constexpr int kPadding = 8;
constexpr int kMaxWidth = 480;

QFont lineFont(qsizetype line) {
    return line == 0 ? uiFont(12, QFont::DemiBold) : uiFont(12);
}

} // namespace

FlameGraphTip::FlameGraphTip(QWidget* window) : QWidget(window) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    hide();
}

void FlameGraphTip::showAt(const QPoint& mark, const QStringList& lines) {
    m_lines = lines.mid(0, kMaxLines);
    double width = 0;
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        width = std::max(width, QFontMetricsF(lineFont(i)).horizontalAdvance(m_lines[i]));
    }
    const QSize size(std::min(kMaxWidth, static_cast<int>(std::ceil(width)) + 2 * kPadding + 1),
                     static_cast<int>(m_lines.size()) * kLineHeight + kPadding + 2);
    QPoint corner = mark + QPoint(kDistance, kDistance);
    const QRect room = parentWidget()->rect();
    if (corner.x() + size.width() > room.right()) {
        corner.setX(std::max(0, mark.x() - kDistance - size.width()));
    }
    if (corner.y() + size.height() > room.bottom()) {
        corner.setY(std::max(0, mark.y() - kDistance - size.height()));
    }
    setGeometry(QRect(corner, size));
    raise();
    show();
    update();
}

void FlameGraphTip::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.tip);
    painter.drawRoundedRect(QRectF(rect()), 4, 4);
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        drawText(painter, QRectF(kPadding, 5 + static_cast<double>(i) * kLineHeight, width() - 2 * kPadding, kLineHeight),
                 m_lines[i], lineFont(i), i == 0 ? theme.tipText : theme.tipText2, Qt::AlignLeft, Qt::ElideMiddle);
    }
}

} // namespace modulelens::widgets
