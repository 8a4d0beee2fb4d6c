// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/WelcomeParts.h"

#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QApplication>
#include <QClipboard>
#include <QFontMetricsF>
#include <QPainter>
#include <QToolButton>

namespace modulelens::widgets {

namespace {
constexpr int kCodeLine = 19;
constexpr int kCodePadding = 12;
}  // namespace

ActionRow::ActionRow(Icon icon, const QString& title, const QString& sentence, const QString& shortcut, QWidget* parent)
    : QAbstractButton(parent), m_icon(icon), m_sentence(sentence), m_shortcut(shortcut) {
    setText(title);
    setAccessibleName(title);
    setAccessibleDescription(sentence);
    setFixedHeight(56);
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
}

void ActionRow::setSentence(const QString& sentence) {
    m_sentence = sentence;
    setAccessibleDescription(sentence);
    update();
}

void ActionRow::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    const bool focus = hasFocus();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double inset = focus ? 1 : .5;
    painter.setPen(QPen(focus ? t.accent : t.line, focus ? 2 : 1));
    painter.setBrush(underMouse() ? t.hover : t.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), 4, 4);
    painter.setPen(Qt::NoPen);
    painter.setBrush(focus ? t.accentSoft : t.sunken);
    painter.drawRoundedRect(QRectF(12, 12, 32, 32), 4, 4);
    paintIcon(painter, QRectF(20, 20, 16, 16), m_icon, focus ? t.accent : t.text2);
    const double shortcut = QFontMetricsF(uiFont(11)).horizontalAdvance(m_shortcut);
    drawText(painter, QRectF(60, 9, width() - 84 - shortcut, 20), text(), uiFont(13, QFont::DemiBold), t.text);
    drawText(painter, QRectF(60, 29, width() - 84 - shortcut, 18), m_sentence, uiFont(12), t.text2);
    drawText(painter, QRectF(0, 0, width() - 16, height()), m_shortcut, uiFont(11), t.text2, Qt::AlignRight);
}

void ActionRow::enterEvent(QEnterEvent*) {
    update();
}

void ActionRow::leaveEvent(QEvent*) {
    update();
}

CodeBlock::CodeBlock(const QStringList& lines, QWidget* parent) : QWidget(parent), m_lines(lines) {
    setFixedHeight(sizeHint().height());
    auto* copy = new QToolButton(this);
    copy->setIcon(themedIcon(Icon::Copy));
    copy->setToolTip(tr("Copy the code"));
    copy->setAccessibleName(tr("Copy the code"));
    copy->setGeometry(0, 8, 24, 24);
    connect(copy, &QToolButton::clicked, this, [this] {
        QStringList plain;
        for (const QString& line : m_lines) {
            plain.append(line.startsWith(QStringLiteral("$ ")) ? line.mid(2) : line);
        }
        QApplication::clipboard()->setText(plain.join(u'\n'));
    });
    copy->setObjectName(QStringLiteral("copyCode"));
}

QSize CodeBlock::sizeHint() const {
    return {720, static_cast<int>(m_lines.size()) * kCodeLine + 2 * kCodePadding};
}

void CodeBlock::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(t.sunken);
    painter.drawRoundedRect(rect(), 4, 4);
    for (int i = 0; i < m_lines.size(); ++i) {
        const bool command = m_lines[i].startsWith(QStringLiteral("$ "));
        drawText(painter, QRectF(16, kCodePadding + i * kCodeLine, width() - 56, kCodeLine),
                 command ? m_lines[i].mid(2) : m_lines[i], monoFont(12), command ? t.text2 : t.text);
    }
    if (auto* copy = findChild<QToolButton*>(QStringLiteral("copyCode"))) {
        copy->move(width() - 34, 8);
    }
}

DropArea::DropArea(const QString& text, QWidget* parent) : QWidget(parent), m_text(text) {
    setFixedHeight(72);
    setAccessibleName(text);
}

void DropArea::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(t.line2, 1, Qt::DashLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(rect()).adjusted(.5, .5, -.5, -.5), 4, 4);
    const double text = QFontMetricsF(uiFont(13)).horizontalAdvance(m_text);
    const double x = (width() - text - 24) / 2;
    paintIcon(painter, QRectF(x, height() / 2.0 - 8, 16, 16), Icon::Tray, t.text2);
    drawText(painter, QRectF(x + 24, 0, text + 2, height()), m_text, uiFont(13), t.text2);
}

} // namespace modulelens::widgets
