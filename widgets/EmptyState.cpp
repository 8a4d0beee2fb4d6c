// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/EmptyState.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPushButton>
#include <QStyleOption>
#include <algorithm>

#include "widgets/Fonts.h"
#include "widgets/Theme.h"

namespace modulelens::widgets {

namespace {

constexpr int kTop = 48;
constexpr int kIconSize = 32;
constexpr int kTitleTop = kTop + kIconSize + 12;
constexpr int kTitleHeight = 20;
constexpr int kInset = 24;
constexpr int kWidestText = 480;

} // namespace

EmptyState::EmptyState(QWidget* parent) : QWidget(parent), m_link(new QPushButton(this)) {
    m_link->setProperty("link", true);
    m_link->setCursor(Qt::PointingHandCursor);
    m_link->hide();
    connect(m_link, &QPushButton::clicked, this, &EmptyState::linkActivated);
}

void EmptyState::show(Icon icon, const QString& title, const QString& sentence, const QString& link) {
    m_icon = icon;
    m_title = title;
    m_sentence = sentence;
    setAccessibleName(title);
    setAccessibleDescription(sentence);
    m_link->setText(link);
    m_link->setVisible(!link.isEmpty());
    placeLink();
    update();
}

QRect EmptyState::sentenceRect() const {
    const int wide = std::min(kWidestText, width() - 2 * kInset);
    const QRect room((width() - wide) / 2, kTitleTop + kTitleHeight + 4, wide, 400);
    const QRect used = QFontMetrics(uiFont(12)).boundingRect(room, Qt::TextWordWrap | Qt::AlignHCenter, m_sentence);
    return {room.x(), room.y(), room.width(), m_sentence.isEmpty() ? 0 : used.height() + 4};
}

void EmptyState::placeLink() {
    const QSize size = m_link->sizeHint();
    m_link->setGeometry((width() - size.width()) / 2, sentenceRect().bottom() + 4, size.width(), size.height());
}

void EmptyState::resizeEvent(QResizeEvent*) {
    placeLink();
}

void EmptyState::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    QStyleOption option;
    option.initFrom(this);
    style()->drawPrimitive(QStyle::PE_Widget, &option, &painter, this);
    paintIcon(painter, QRectF((width() - kIconSize) / 2.0, kTop, kIconSize, kIconSize), m_icon, t.line2);
    drawText(painter, QRectF(kInset, kTitleTop, width() - 2 * kInset, kTitleHeight), m_title, uiFont(13, QFont::DemiBold),
             t.text, Qt::AlignHCenter);
    painter.setFont(uiFont(12));
    painter.setPen(t.text2);
    painter.drawText(sentenceRect(), Qt::TextWordWrap | Qt::AlignHCenter, m_sentence);
}

} // namespace modulelens::widgets
