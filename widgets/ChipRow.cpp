// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/ChipRow.h"

#include "widgets/Chips.h"
#include "widgets/Theme.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace modulelens::widgets {

namespace {
constexpr int kGap = 4;
constexpr int kPlusRoom = 24;
constexpr int kEditWidth = 140;
}  // namespace

ChipRow::ChipRow(QWidget* parent) : QWidget(parent), m_edit(new QLineEdit(this)) {
    setFixedHeight(24);
    setAccessibleName(tr("Aliases and tags"));
    setFocusPolicy(Qt::TabFocus);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    m_edit->setPlaceholderText(tr("tag, or @alias"));
    m_edit->setAccessibleName(tr("New tag, or @ and a new alias"));
    m_edit->setProperty("bare", true);
    m_edit->hide();
    m_edit->installEventFilter(this);
    connect(m_edit, &QLineEdit::returnPressed, this, [this] { finishAdding(true); });
}

void ChipRow::setChips(const QStringList& aliases, const QStringList& tags) {
    m_entries.clear();
    for (const QString& alias : aliases) {
        m_entries.append({alias, true, alias != QStringLiteral("latest"), 0, 0});
    }
    for (const QString& tag : tags) {
        m_entries.append({tag, false, true, 0, 0});
    }
    setAccessibleDescription((aliases + tags).join(QStringLiteral(", ")));
    m_hover = -1;
    m_focus = std::min(m_focus, static_cast<int>(m_entries.size()) - 1);
    layOut();
}

void ChipRow::startAdding() {
    m_edit->clear();
    m_edit->show();
    layOut();
    m_edit->setFocus();
}

void ChipRow::finishAdding(bool accept) {
    if (!m_edit->isVisible()) {
        return;
    }
    const QString text = m_edit->text().trimmed();
    m_edit->hide();
    layOut();
    setFocus();
    if (!accept || text.isEmpty()) {
        return;
    }
    if (text.startsWith(u'@')) {
        emit aliasAdded(text.mid(1).trimmed());
    } else {
        emit tagAdded(text);
    }
}

void ChipRow::layOut() {
    int x = 0;
    for (Entry& entry : m_entries) {
        entry.x = x;
        entry.width = chipWidth(Chip{entry.text, entry.alias ? ChipKind::Alias : ChipKind::Tag, {}, false});
        x += entry.width + kGap;
    }
    m_plusX = x;
    m_edit->setGeometry(x + 6, 2, kEditWidth, 20);
    updateGeometry();
    update();
}

QSize ChipRow::sizeHint() const {
    return {m_plusX + (m_edit->isVisible() ? kEditWidth + 10 : kPlusRoom), 24};
}

void ChipRow::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    for (int i = 0; i < m_entries.size(); ++i) {
        const Entry& entry = m_entries[i];
        paintChip(painter, entry.x, 12, Chip{entry.text, entry.alias ? ChipKind::Alias : ChipKind::Tag, {}, false},
                  kHeaderChipHeight);
        if (entry.removable && (i == m_hover || (hasFocus() && i == m_focus))) {
            // The cross covers the end of the chip only while it is pointed at.
            const QRectF cross(entry.x + entry.width - 17, 4, 15, 16);
            painter.fillRect(cross, entry.alias ? t.accentSoft : t.surface);
            paintIcon(painter, QRectF(cross.x() + 2, 6, 12, 12), Icon::Close, t.text);
        }
        if (hasFocus() && i == m_focus) {
            painter.setRenderHint(QPainter::Antialiasing);
            painter.setPen(QPen(t.accent, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRoundedRect(QRectF(entry.x + 1, 3, entry.width - 2, 18), 4, 4);
        }
    }
    if (m_edit->isVisible()) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(t.accent, 2));
        painter.setBrush(t.surface);
        painter.drawRoundedRect(QRectF(m_plusX + 1, 1, kEditWidth + 8, 22), 4, 4);
    } else {
        const bool chosen = hasFocus() && m_focus < 0;
        paintIcon(painter, QRectF(m_plusX + 4, 5, 14, 14), Icon::Plus, chosen ? t.accent : t.text3);
        if (chosen) {
            painter.setRenderHint(QPainter::Antialiasing);
            painter.setPen(QPen(t.accent, 2));
            painter.drawRoundedRect(QRectF(m_plusX + 1, 2, 20, 20), 4, 4);
        }
    }
}

int ChipRow::entryAt(int x) const {
    for (int i = 0; i < m_entries.size(); ++i) {
        if (x >= m_entries[i].x && x < m_entries[i].x + m_entries[i].width) {
            return i;
        }
    }
    return -1;
}

void ChipRow::removeEntry(int index) {
    if (index < 0 || index >= m_entries.size() || !m_entries[index].removable) {
        return;
    }
    const Entry entry = m_entries[index];
    if (entry.alias) {
        emit aliasRemoved(entry.text);
    } else {
        emit tagRemoved(entry.text);
    }
}

void ChipRow::mousePressEvent(QMouseEvent* event) {
    const int x = static_cast<int>(event->position().x());
    const int index = entryAt(x);
    if (index >= 0 && x > m_entries[index].x + m_entries[index].width - 18) {
        removeEntry(index);
    } else if (index < 0 && x >= m_plusX && !m_edit->isVisible()) {
        startAdding();
    }
}

void ChipRow::mouseMoveEvent(QMouseEvent* event) {
    const int index = entryAt(static_cast<int>(event->position().x()));
    if (index != m_hover) {
        m_hover = index;
        update();
    }
}

void ChipRow::leaveEvent(QEvent*) {
    m_hover = -1;
    update();
}

void ChipRow::keyPressEvent(QKeyEvent* event) {
    const int last = static_cast<int>(m_entries.size()) - 1;
    switch (event->key()) {
        case Qt::Key_Left:
            m_focus = m_focus < 0 ? last : std::max(0, m_focus - 1);
            break;
        case Qt::Key_Right:
            m_focus = m_focus < 0 || m_focus == last ? -1 : m_focus + 1;
            break;
        case Qt::Key_Delete:
        case Qt::Key_Backspace:
            removeEntry(m_focus);
            break;
        case Qt::Key_Return:
        case Qt::Key_Space:
            if (m_focus < 0) {
                startAdding();
            }
            break;
        default:
            QWidget::keyPressEvent(event);
            return;
    }
    update();
}

void ChipRow::focusInEvent(QFocusEvent*) {
    update();
}

void ChipRow::focusOutEvent(QFocusEvent*) {
    update();
}

bool ChipRow::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        finishAdding(false);
        return true;
    }
    if (event->type() == QEvent::FocusOut) {
        finishAdding(false);
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace modulelens::widgets
