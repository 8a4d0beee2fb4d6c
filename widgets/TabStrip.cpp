// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/TabStrip.h"

#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>

#include <cmath>

namespace modulelens::widgets {

namespace {

constexpr int kHeight = 32;

/// What a tab carries beyond its text, kept in QTabBar's own per-tab data so that moving and closing keep it in step.
struct TabData {
    Icon icon = Icon::Module;
    QString trouble;
    ChipKind troubleKind = ChipKind::Bad;
};

} // namespace

} // namespace modulelens::widgets

Q_DECLARE_METATYPE(modulelens::widgets::TabData)

namespace modulelens::widgets {

TabStrip::TabStrip(Kind kind, QWidget* parent) : QTabBar(parent), m_kind(kind) {
    setDrawBase(false);
    setExpanding(false);
    setUsesScrollButtons(true);
    setElideMode(Qt::ElideMiddle);
    setMovable(kind == Kind::Documents);
    setFixedHeight(kHeight);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFocusPolicy(Qt::TabFocus);
}

int TabStrip::addTabWithIcon(Icon icon, const QString& text) {
    const int index = addTab(text);
    setTabData(index, QVariant::fromValue(TabData{icon, {}, ChipKind::Bad}));
    return index;
}

void TabStrip::setTrouble(int index, const QString& text, ChipKind kind) {
    TabData entry = tabData(index).value<TabData>();
    entry.trouble = text;
    entry.troubleKind = kind;
    setTabData(index, QVariant::fromValue(entry));
    // QTabBar lays its tabs out again only when a text changes.
    setTabText(index, tabText(index));
    updateGeometry();
    update();
}

Icon TabStrip::iconOf(int index) const {
    return tabData(index).value<TabData>().icon;
}

QSize TabStrip::tabSizeHint(int index) const {
    const double text = std::min(260.0, QFontMetricsF(uiFont(12, QFont::DemiBold)).horizontalAdvance(tabText(index)));
    int width = static_cast<int>(std::ceil(text)) + (m_kind == Kind::Documents ? 64 : 46);
    const TabData entry = tabData(index).value<TabData>();
    if (!entry.trouble.isEmpty()) {
        width += chipWidth(Chip{entry.trouble, entry.troubleKind, {}, false}) + 6;
    }
    return {width, kHeight};
}

QRect TabStrip::closeRect(int index) const {
    const QRect tab = tabRect(index);
    return {tab.right() - 24, tab.top() + 6, 20, 20};
}

void TabStrip::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    const bool documents = m_kind == Kind::Documents;
    QPainter painter(this);
    painter.fillRect(rect(), documents ? t.window : t.surface);
    painter.fillRect(0, height() - 1, width(), 1, t.line);
    for (int i = 0; i < count(); ++i) {
        const QRect tab = tabRect(i);
        const bool chosen = i == currentIndex();
        const QFont font = uiFont(12, chosen ? QFont::DemiBold : QFont::Normal);
        if (chosen && documents) {
            painter.fillRect(tab, t.surface);
            painter.fillRect(tab.x(), 0, tab.width(), 2, t.accent);
        } else if (chosen) {
            painter.fillRect(tab.x() + 8, height() - 2, tab.width() - 12, 2, t.accent);
        }
        const int iconX = tab.x() + (documents ? 10 : 14);
        paintIcon(painter, QRectF(iconX, 8, 16, 16), iconOf(i), chosen ? t.accent : t.text2);
        const double textX = iconX + 22;
        const double room = documents ? closeRect(i).left() - textX - 2 : tab.right() - textX;
        const double used = drawText(painter, QRectF(textX, 0, room, height() - 1), tabText(i), font, chosen ? t.text : t.text2,
                                     Qt::AlignLeft, Qt::ElideMiddle);
        const TabData entry = tabData(i).value<TabData>();
        if (!entry.trouble.isEmpty()) {
            paintChip(painter, static_cast<int>(textX + used) + 6, height() / 2.0 - 1,
                      Chip{entry.trouble, entry.troubleKind, {}, false});
        }
        if (documents) {
            paintIcon(painter, QRectF(tab.right() - 21, 9, 14, 14), Icon::Close, t.text2);
            painter.fillRect(tab.right(), chosen ? 0 : 8, 1, chosen ? height() : height() - 16, t.line);
        }
        if (chosen && hasFocus()) {
            painter.setPen(QPen(t.accent, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(tab.adjusted(documents ? 2 : 5, 4, -3, -5));
        }
    }
}

void TabStrip::mousePressEvent(QMouseEvent* event) {
    if (m_kind == Kind::Documents) {
        const int index = tabAt(event->pos());
        if (index >= 0 && (event->button() == Qt::MiddleButton || closeRect(index).contains(event->pos()))) {
            emit closeRequested(index);
            return;
        }
    }
    QTabBar::mousePressEvent(event);
}

} // namespace modulelens::widgets
