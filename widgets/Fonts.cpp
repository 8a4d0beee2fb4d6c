// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/Fonts.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

namespace {

QFont faceOf(const QStringList& families, int pixels, QFont::Weight weight) {
    QFont font;
    font.setFamilies(families);
    font.setStyleHint(QFont::SansSerif);
    font.setPixelSize(pixels);
    font.setWeight(weight);
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

double widestDigit(const QFontMetricsF& metrics) {
    double widest = 0;
    for (char16_t digit = u'0'; digit <= u'9'; ++digit) {
        widest = std::max(widest, metrics.horizontalAdvance(QChar(digit)));
    }
    return widest;
}

bool digitsAreEqual(const QFontMetricsF& metrics) {
    return std::abs(metrics.horizontalAdvance(u'1') - metrics.horizontalAdvance(u'4')) < 0.01 &&
           std::abs(metrics.horizontalAdvance(u'1') - metrics.horizontalAdvance(u'0')) < 0.01;
}

} // namespace

QFont uiFont(int pixels, QFont::Weight weight) {
    static const QStringList families = [] {
        QStringList list(QStringLiteral("Inter"));
        list.append(QFontDatabase::systemFont(QFontDatabase::GeneralFont).families());
        return list;
    }();
    return faceOf(families, pixels, weight);
}

QFont monoFont(int pixels, QFont::Weight weight) {
    static const QStringList families = [] {
        QStringList list(QStringLiteral("JetBrains Mono"));
        list.append(QFontDatabase::systemFont(QFontDatabase::FixedFont).families());
        return list;
    }();
    QFont font = faceOf(families, pixels, weight);
    font.setStyleHint(QFont::Monospace);
    return font;
}

int rowHeightFor(const QFont& font) {
    const double wanted = QFontMetricsF(font).height() + 8;
    return std::max(24, 4 * static_cast<int>(std::ceil(wanted / 4)));
}

double drawText(QPainter& painter, const QRectF& box, const QString& text, const QFont& font, const QColor& colour,
                Qt::Alignment alignment, Qt::TextElideMode elide) {
    const QFontMetricsF metrics(font);
    const double width = metrics.horizontalAdvance(text);
    painter.setFont(font);
    painter.setPen(colour);
    const QString shown = width > box.width() + 0.6 ? metrics.elidedText(text, elide, box.width()) : text;
    painter.drawText(box, static_cast<int>(alignment | Qt::AlignVCenter | Qt::TextSingleLine), shown);
    return std::min(width, box.width());
}

double numberWidth(const QString& text, const QFont& font) {
    const QFontMetricsF metrics(font);
    if (digitsAreEqual(metrics)) {
        return metrics.horizontalAdvance(text);
    }
    const double cell = widestDigit(metrics);
    double width = 0;
    for (const QChar character : text) {
        width += character.isDigit() ? cell : metrics.horizontalAdvance(character);
    }
    return width;
}

void drawNumber(QPainter& painter, const QRectF& box, const QString& text, const QFont& font, const QColor& colour,
                Qt::Alignment alignment) {
    painter.setFont(font);
    painter.setPen(colour);
    const QFontMetricsF metrics(font);
    if (digitsAreEqual(metrics)) {
        painter.drawText(box, static_cast<int>(alignment | Qt::AlignVCenter | Qt::TextSingleLine | Qt::TextDontClip), text);
        return;
    }
    const double cell = widestDigit(metrics);
    double x = alignment.testFlag(Qt::AlignRight) ? box.right() - numberWidth(text, font) : box.left();
    const double baseline = box.center().y() + (metrics.ascent() - metrics.descent()) / 2;
    for (const QChar character : text) {
        const double advance = metrics.horizontalAdvance(character);
        const double room = character.isDigit() ? cell : advance;
        painter.drawText(QPointF(x + (room - advance) / 2, baseline), QString(character));
        x += room;
    }
}

} // namespace modulelens::widgets
