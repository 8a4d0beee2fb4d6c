// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/EmptyState.h"

#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace modulelens::widgets {

namespace {
constexpr int kIconSize = 32;
constexpr int kIconRoom = 44;
}  // namespace

EmptyState::EmptyState(QWidget* parent)
    : QWidget(parent), m_title(new QLabel(this)), m_sentence(new QLabel(this)), m_link(new QPushButton(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 48 + kIconRoom, 16, 16);
    layout->setSpacing(4);
    m_title->setFont(uiFont(13, QFont::DemiBold));
    m_title->setAlignment(Qt::AlignHCenter);
    m_title->setWordWrap(true);
    m_sentence->setAlignment(Qt::AlignHCenter);
    m_sentence->setWordWrap(true);
    m_link->setFlat(true);
    m_link->setCursor(Qt::PointingHandCursor);
    layout->addWidget(m_title);
    layout->addWidget(m_sentence);
    layout->addWidget(m_link, 0, Qt::AlignHCenter);
    layout->addStretch(1);
    connect(m_link, &QPushButton::clicked, this, &EmptyState::linkActivated);
    recolour();
}

void EmptyState::show(Icon icon, const QString& title, const QString& sentence, const QString& link) {
    m_icon = icon;
    m_title->setText(title);
    m_sentence->setText(sentence);
    m_link->setText(link);
    m_link->setVisible(!link.isEmpty());
    update();
}

QString EmptyState::title() const {
    return m_title->text();
}

void EmptyState::recolour() {
    const Theme& t = Theme::current();
    const auto colour = [](QWidget* widget, const QColor& text) {
        QPalette palette = widget->palette();
        palette.setColor(QPalette::WindowText, text);
        widget->setPalette(palette);
    };
    colour(m_title, t.text);
    colour(m_sentence, t.text2);
    m_link->setStyleSheet(QStringLiteral("QPushButton { border: 0; background: transparent; color: %1; } "
                                         "QPushButton:focus { border: 2px solid %1; }")
                              .arg(t.accent.name()));
}

void EmptyState::changeEvent(QEvent* event) {
    if (event->type() == QEvent::ApplicationPaletteChange) {
        recolour();
    }
    QWidget::changeEvent(event);
}

void EmptyState::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    paintIcon(painter, QRectF((width() - kIconSize) / 2.0, 48, kIconSize, kIconSize), m_icon, Theme::current().line2);
}

} // namespace modulelens::widgets
