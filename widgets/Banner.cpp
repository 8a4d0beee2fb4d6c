// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/Banner.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>

#include <algorithm>

namespace modulelens::widgets {

namespace {

constexpr int kTextLeft = 48;
constexpr int kLeastHeight = 56;
constexpr int kLeastText = 120;
constexpr int kMostHeight = 200;
constexpr int kWrap = Qt::TextWordWrap | Qt::TextWrapAnywhere;   ///< A path has no blanks to break at.

int wrappedHeight(const QString& text, const QFont& font, int width) {
    return text.isEmpty() ? 0 : QFontMetrics(font).boundingRect(QRect(0, 0, width, 10000), kWrap, text).height();
}

} // namespace

Banner::Banner(QWidget* parent) : QWidget(parent), m_actions(new QHBoxLayout(this)) {
    setFixedHeight(kLeastHeight);
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
    fitHeight();
    update();
}

int Banner::textWidth() const {
    int right = width() - 16;
    for (int i = 0; i < m_actions->count(); ++i) {
        if (const QWidget* button = m_actions->itemAt(i)->widget(); button != nullptr && !button->isHidden()) {
            right -= button->sizeHint().width() + 8;
        }
    }
    return std::max(kLeastText, right - kTextLeft);
}

void Banner::fitHeight() {
    m_sentenceHeight = wrappedHeight(m_sentence, uiFont(15, QFont::DemiBold), textWidth());
    const int detail = wrappedHeight(m_detail, uiFont(12), textWidth());
    setFixedHeight(std::clamp(m_sentenceHeight + detail + 20, kLeastHeight, kMostHeight));
}

void Banner::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitHeight();
}

bool Banner::event(QEvent* event) {
    if (event->type() == QEvent::LayoutRequest) {
        fitHeight();
    }
    return QWidget::event(event);
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
    painter.setPen(t.text);
    painter.setFont(uiFont(15, QFont::DemiBold));
    const int detailHeight = wrappedHeight(m_detail, uiFont(12), textWidth());
    const int top = std::max(8, (height() - m_sentenceHeight - detailHeight) / 2);
    painter.drawText(QRect(kTextLeft, top, textWidth(), m_sentenceHeight), kWrap, m_sentence);
    painter.setFont(uiFont(12));
    painter.drawText(QRect(kTextLeft, top + m_sentenceHeight, textWidth(), height() - top - m_sentenceHeight), kWrap, m_detail);
}

} // namespace modulelens::widgets
