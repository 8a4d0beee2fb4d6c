// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/Chips.h"

#include "widgets/Colours.h"
#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <cmath>

namespace modulelens::widgets {

namespace {

constexpr int kPadding = 6;
constexpr int kIconRoom = 14;

QFont chipFont(ChipKind kind) {
    return uiFont(11, kind == ChipKind::Tag ? QFont::Normal : QFont::Medium);
}

struct ChipColours {
    QColor fill;
    QColor edge;
    QColor text;
};

ChipColours coloursOf(ChipKind kind) {
    const Theme& t = Theme::current();
    switch (kind) {
        case ChipKind::Tag:
            return {QColor(), mixed(t.line, t.line2, .55), t.text2};
        case ChipKind::Alias:
            return {t.accentSoft, mixed(t.accentSoft, t.accent, .4), t.accent};
        case ChipKind::Good:
            return {t.okSoft, mixed(t.okSoft, t.ok, .2), t.ok};
        case ChipKind::Warning:
            return {t.warnSoft, mixed(t.warnSoft, t.warn, .2), t.warn};
        case ChipKind::Bad:
            return {t.badSoft, mixed(t.badSoft, t.bad, .2), t.bad};
        case ChipKind::Neutral:
            return {t.sel, mixed(t.sel, t.text2, .2), t.text2};
        case ChipKind::Token:
            return {t.accentSoft, mixed(t.accentSoft, t.text, .2), t.text};
    }
    return {};
}

} // namespace

int chipWidth(const Chip& chip) {
    const double text = QFontMetricsF(chipFont(chip.kind)).horizontalAdvance(chip.text);
    return static_cast<int>(std::ceil(2 * kPadding + text)) + (chip.icon ? kIconRoom : 0) + (chip.closable ? kIconRoom : 0);
}

int paintChip(QPainter& painter, int x, double centreY, const Chip& chip, int height) {
    const int width = chipWidth(chip);
    const double top = std::round(centreY - height / 2.0);
    const ChipColours colours = coloursOf(chip.kind);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(colours.edge);
    painter.setBrush(colours.fill.isValid() ? QBrush(colours.fill) : QBrush(Qt::NoBrush));
    painter.drawRoundedRect(QRectF(x + .5, top + .5, width - 1, height - 1), 4, 4);
    double at = x + kPadding;
    if (chip.icon) {
        paintIcon(painter, QRectF(at - 1, top + height / 2.0 - 6, 12, 12), *chip.icon, colours.text);
        at += kIconRoom;
    }
    const double room = width - (at - x) - kPadding - (chip.closable ? kIconRoom : 0) + 1;
    drawText(painter, QRectF(at, top, room, height), chip.text, chipFont(chip.kind), colours.text);
    if (chip.closable) {
        paintIcon(painter, QRectF(x + width - 16, top + height / 2.0 - 6, 12, 12), Icon::Close, Theme::current().text2);
    }
    painter.restore();
    return width;
}

} // namespace modulelens::widgets
