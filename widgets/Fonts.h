// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QString>

class QColor;
class QFontMetricsF;
class QPainter;
class QRectF;

namespace modulelens::widgets {

/// The interface face at `pixels`: Inter where it is installed, else the platform's own.
[[nodiscard]] QFont uiFont(int pixels, QFont::Weight weight = QFont::Normal);
/// The face for names in the details strip, code and indices.
[[nodiscard]] QFont monoFont(int pixels, QFont::Weight weight = QFont::Normal);

/// Height of a table row for the font: at least 24, a multiple of 4.
[[nodiscard]] int rowHeightFor(const QFont& font);

/// Draws one line of text within `box`, elided where it does not fit; returns the width that it took.
double drawText(QPainter& painter, const QRectF& box, const QString& text, const QFont& font, const QColor& colour,
                Qt::Alignment alignment = Qt::AlignLeft, Qt::TextElideMode elide = Qt::ElideRight);

/// Draws a value so that digits stand in equal cells: columns of numbers line up in every face. Never elided.
void drawNumber(QPainter& painter, const QRectF& box, const QString& text, const QFont& font, const QColor& colour,
                Qt::Alignment alignment = Qt::AlignRight);
/// Width that drawNumber() needs.
[[nodiscard]] double numberWidth(const QString& text, const QFont& font);

} // namespace modulelens::widgets
