// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/DropDown.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

namespace {
constexpr int kPadding = 8;
constexpr int kChevronRoom = 24;
constexpr int kIconRoom = 22;
}  // namespace

DropDown::DropDown(const QString& label, int height, QWidget* parent) : QComboBox(parent), m_label(label), m_height(height) {
    setAccessibleName(label);
    setFixedHeight(height);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize DropDown::sizeHint() const {
    double widest = 40;
    for (int i = 0; i < count(); ++i) {
        widest = std::max(widest, QFontMetricsF(uiFont(12, QFont::Medium)).horizontalAdvance(itemText(i)));
    }
    const double label = m_label.isEmpty() ? 0 : QFontMetricsF(uiFont(12)).horizontalAdvance(m_label) + 6;
    const int icon = count() > 0 && !itemIcon(0).isNull() ? kIconRoom : 0;
    return {static_cast<int>(std::ceil(widest + label)) + icon + kPadding + kChevronRoom + 2, m_height};
}

void DropDown::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool focus = hasFocus();
    const double inset = focus ? 1 : .5;
    painter.setPen(QPen(focus ? t.accent : t.controlBorder, focus ? 2 : 1));
    painter.setBrush(underMouse() && isEnabled() ? t.hover : t.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), 4, 4);
    double x = kPadding;
    if (const QIcon icon = itemIcon(currentIndex()); !icon.isNull()) {
        icon.paint(&painter, static_cast<int>(x), (height() - 16) / 2, 16, 16);
        x += kIconRoom;
    }
    if (!m_label.isEmpty()) {
        x += drawText(painter, QRectF(x, 0, width() - x, height()), m_label, uiFont(12), t.text2) + 6;
    }
    drawText(painter, QRectF(x, 0, width() - x - kChevronRoom + 4, height()), currentText(), uiFont(12, QFont::Medium),
             isEnabled() ? t.text : t.text3);
    paintIcon(painter, QRectF(width() - 20, (height() - 14) / 2.0, 14, 14), Icon::ChevronDown, t.text2);
}

} // namespace modulelens::widgets
