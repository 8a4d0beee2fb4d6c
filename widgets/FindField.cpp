// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/FindField.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <cmath>

namespace modulelens::widgets {

namespace {
constexpr int kIconRoom = 24;
constexpr int kArrowsRoom = 54;
}  // namespace

FindField::FindField(const QString& placeholder, const QString& shortcutHint, QWidget* parent)
    : QLineEdit(parent), m_hint(shortcutHint) {
    setPlaceholderText(placeholder);
    setAccessibleName(placeholder);
    setFixedHeight(28);
    updateMargins();
    connect(this, &QLineEdit::textChanged, this, &FindField::updateMargins);
}

void FindField::setCount(const QString& text) {
    m_count = text;
    setAccessibleDescription(text);
    updateMargins();
    update();
}

void FindField::updateMargins() {
    const QString right = text().isEmpty() ? m_hint : m_count;
    const int words = static_cast<int>(std::ceil(QFontMetricsF(uiFont(11)).horizontalAdvance(right)));
    setTextMargins(kIconRoom - 4, 0, words + 6 + (text().isEmpty() ? 0 : kArrowsRoom), 0);
}

void FindField::paintEvent(QPaintEvent* event) {
    QLineEdit::paintEvent(event);
    const Theme& t = Theme::current();
    QPainter painter(this);
    paintIcon(painter, QRectF(8, 6, 16, 16), Icon::Search, t.text2);
    if (text().isEmpty()) {
        drawText(painter, QRectF(rect()).adjusted(0, 0, -10, 0), m_hint, uiFont(11), t.text3, Qt::AlignRight);
        return;
    }
    drawText(painter, QRectF(rect()).adjusted(0, 0, -kArrowsRoom - 2, 0), m_count, uiFont(11), t.text2, Qt::AlignRight);
    paintIcon(painter, QRectF(width() - 52, 7, 14, 14), Icon::ChevronUp, t.text2);
    paintIcon(painter, QRectF(width() - 36, 7, 14, 14), Icon::ChevronDown, t.text2);
    paintIcon(painter, QRectF(width() - 20, 7, 14, 14), Icon::Close, t.text2);
}

void FindField::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_F3;
    if (enter) {
        if (event->modifiers().testFlag(Qt::ShiftModifier)) {
            emit previousRequested();
        } else {
            emit nextRequested();
        }
    } else if (event->key() == Qt::Key_Escape && !text().isEmpty()) {
        clear();
    } else {
        QLineEdit::keyPressEvent(event);
    }
}

void FindField::mousePressEvent(QMouseEvent* event) {
    const double fromRight = width() - event->position().x();
    if (text().isEmpty() || fromRight > kArrowsRoom) {
        QLineEdit::mousePressEvent(event);
    } else if (fromRight > 38) {
        emit previousRequested();
    } else if (fromRight > 21) {
        emit nextRequested();
    } else {
        clear();
    }
}

} // namespace modulelens::widgets
