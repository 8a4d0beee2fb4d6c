// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/Banner.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>

namespace modulelens::widgets {

Banner::Banner(QWidget* parent) : QWidget(parent), m_actions(new QHBoxLayout(this)) {
    setFixedHeight(56);
    m_actions->setContentsMargins(16, 0, 16, 0);
    m_actions->setSpacing(8);
    m_actions->addStretch(1);
}

void Banner::show(Kind kind, const QString& sentence, const QString& detail) {
    m_kind = kind;
    m_sentence = sentence;
    m_detail = detail;
    setAccessibleName(sentence);
    setAccessibleDescription(detail);
    setToolTip(detail);
    update();
}

QPushButton* Banner::addButton(const QString& text) {
    auto* button = new QPushButton(text, this);
    m_actions->addWidget(button);
    return button;
}

void Banner::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QColor ground = t.window;
    QColor mark = t.text2;
    Icon icon = Icon::Info;
    switch (m_kind) {
        case Kind::Good:
            ground = t.okSoft;
            mark = t.ok;
            icon = Icon::Check;
            break;
        case Kind::Neutral:
            break;
        case Kind::Warning:
            ground = t.warnSoft;
            mark = t.warn;
            icon = Icon::Warning;
            break;
        case Kind::Bad:
            ground = t.badSoft;
            mark = t.bad;
            icon = Icon::Failed;
            break;
    }
    QPainter painter(this);
    painter.fillRect(rect(), ground);
    painter.fillRect(0, 0, 4, height(), mark);
    paintIcon(painter, QRectF(16, 14, 20, 20), icon, mark);
    int right = width() - 16;
    for (int i = 0; i < m_actions->count(); ++i) {
        if (const QWidget* button = m_actions->itemAt(i)->widget(); button != nullptr && button->isVisible()) {
            right = std::min(right, button->x() - 16);
        }
    }
    const bool oneLine = m_detail.isEmpty();
    drawText(painter, QRectF(48, oneLine ? 0 : 7, right - 48, oneLine ? height() : 22), m_sentence, uiFont(15, QFont::DemiBold),
             t.text);
    drawText(painter, QRectF(48, 30, right - 48, 18), m_detail, uiFont(12), t.text);
}

} // namespace modulelens::widgets
