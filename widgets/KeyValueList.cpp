// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/KeyValueList.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QPainter>

namespace modulelens::widgets {

namespace {
constexpr int kInset = 16;
constexpr int kTitleHeight = 28;
constexpr int kRowHeight = 22;
constexpr int kGroupGap = 17;
}  // namespace

KeyValueList::KeyValueList(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void KeyValueList::setNameWidth(int pixels) {
    m_nameWidth = pixels;
    update();
}

void KeyValueList::setGroups(QList<Group> groups) {
    m_groups = std::move(groups);
    setAccessibleDescription(asText());
    setFixedHeight(sizeHint().height());
    updateGeometry();
    update();
}

QString KeyValueList::asText() const {
    QString text;
    for (const Group& group : m_groups) {
        text += group.title + u'\n';
        for (const Row& row : group.rows) {
            text += row.name + u'\t' + row.value + u'\n';
        }
    }
    return text;
}

QSize KeyValueList::sizeHint() const {
    qsizetype height = 8;
    for (const Group& group : m_groups) {
        height += kTitleHeight + group.rows.size() * kRowHeight + kGroupGap;
    }
    return {320, static_cast<int>(height)};
}

void KeyValueList::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), t.surface);
    int y = 8;
    for (qsizetype i = 0; i < m_groups.size(); ++i) {
        const Group& group = m_groups[i];
        if (i > 0) {
            painter.fillRect(kInset, y - 9, width() - 2 * kInset, 1, t.line);
        }
        drawText(painter, QRectF(kInset, y, width() - 2 * kInset, 20), group.title, uiFont(13, QFont::DemiBold), t.text);
        y += kTitleHeight;
        for (const Row& row : group.rows) {
            drawText(painter, QRectF(kInset, y, m_nameWidth - 8, 20), row.name, uiFont(12), t.text2);
            const QFont font = row.monospace ? monoFont(12) : uiFont(12, QFont::Medium);
            drawText(painter, QRectF(kInset + m_nameWidth, y, width() - m_nameWidth - 2 * kInset, 20), row.value, font,
                     row.bad ? t.bad : t.text, Qt::AlignLeft, Qt::ElideMiddle);
            y += kRowHeight;
        }
        y += kGroupGap;
    }
}

NoteRow::NoteRow(QWidget* parent) : QWidget(parent) {
    setFixedHeight(32);
}

void NoteRow::setText(const QString& text) {
    m_text = text;
    setAccessibleName(text);
    setToolTip(text);
    setVisible(!text.isEmpty());
    update();
}

void NoteRow::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), t.window);
    painter.fillRect(0, height() - 1, width(), 1, t.line);
    paintIcon(painter, QRectF(kInset, 9, 14, 14), Icon::Info, t.text2);
    drawText(painter, QRectF(kInset + 22, 0, width() - 2 * kInset - 22, height() - 1), m_text, uiFont(12), t.text2);
}

} // namespace modulelens::widgets
