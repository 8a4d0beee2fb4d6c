// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/StatusStrip.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QCoreApplication>
#include <QPainter>

namespace modulelens::explorer {

StatusStrip::StatusStrip(QWidget* parent) : QStatusBar(parent) {
    setSizeGripEnabled(false);
    setFixedHeight(24);
    setAccessibleName(tr("Status"));
}

void StatusStrip::setWorker(const QString& text, bool ready) {
    m_worker = text;
    m_ready = ready;
    setAccessibleDescription(m_worker + QStringLiteral(", ") + m_registry);
    update();
}

void StatusStrip::setRegistry(const QString& text) {
    m_registry = text;
    setAccessibleDescription(m_worker + QStringLiteral(", ") + m_registry);
    update();
}

void StatusStrip::paintEvent(QPaintEvent*) {
    const widgets::Theme& t = widgets::Theme::current();
    const QFont font = widgets::uiFont(11);
    QPainter painter(this);
    painter.fillRect(rect(), t.window);
    painter.fillRect(0, 0, width(), 1, t.line);
    double x = 12;
    widgets::paintIcon(painter, QRectF(x, 6, 12, 12), m_ready ? widgets::Icon::Check : widgets::Icon::Ring,
                       m_ready ? t.ok : t.text3);
    x += 18;
    x += widgets::drawText(painter, QRectF(x, 1, width() * .45, 23), m_worker, font, t.text2) + 20;
    widgets::paintIcon(painter, QRectF(x, 6, 12, 12), widgets::Icon::Database, t.text2);
    x += 18;
    widgets::drawText(painter, QRectF(x, 1, width() - x - 120, 23), m_registry, font, t.text2, Qt::AlignLeft, Qt::ElideMiddle);
    widgets::drawText(painter, QRectF(0, 1, width() - 12, 23), QCoreApplication::applicationVersion(), font, t.text2,
                      Qt::AlignRight);
}

} // namespace modulelens::explorer
