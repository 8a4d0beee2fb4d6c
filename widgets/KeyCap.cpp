// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/KeyCap.h"

#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

namespace {
constexpr double kPadding = 5;
constexpr double kRadius = 3;
} // namespace

double keyCapWidth(const QString& key) {
    const double text = QFontMetricsF(uiFont(11, QFont::Medium)).horizontalAdvance(key);
    return std::ceil(std::max<double>(kKeyCapHeight, text + 2 * kPadding));
}

double paintKeyCap(QPainter& painter, const QPointF& topRight, const QString& key) {
    const Theme& t = Theme::current();
    const double width = keyCapWidth(key);
    const QRectF box(topRight.x() - width, topRight.y(), width, kKeyCapHeight);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(t.line2);
    painter.setBrush(t.sunken);
    painter.drawRoundedRect(box.adjusted(.5, .5, -.5, -.5), kRadius, kRadius);
    painter.restore();
    drawText(painter, box, key, uiFont(11, QFont::Medium), t.text, Qt::AlignHCenter);
    return width;
}

} // namespace modulelens::widgets
