// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/MetricTiles.h"

#include "widgets/Colours.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

namespace {
constexpr int kHeight = 36;
constexpr int kGap = 4;
constexpr int kPadding = 10;
}  // namespace

MetricTiles::MetricTiles(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Metric"));
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setMouseTracking(true);
}

void MetricTiles::setTiles(QList<Tile> tiles) {
    m_tiles = std::move(tiles);
    updateGeometry();
    update();
}

void MetricTiles::setCurrent(const QString& id) {
    if (id != m_current) {
        m_current = id;
        const int index = currentIndex();
        setAccessibleDescription(index < 0 ? QString() : QString(m_tiles[index].name + u' ' + m_tiles[index].value));
        updateGeometry();
        update();
        emit currentChanged(id);
    }
}

void MetricTiles::setCompact(bool compact) {
    if (compact != m_compact) {
        m_compact = compact;
        updateGeometry();
        update();
    }
}

int MetricTiles::currentIndex() const {
    for (int i = 0; i < m_tiles.size(); ++i) {
        if (m_tiles[i].id == m_current) {
            return i;
        }
    }
    return -1;
}

int MetricTiles::tileWidth(const Tile& tile) const {
    const double name = QFontMetricsF(uiFont(11, QFont::DemiBold)).horizontalAdvance(tile.name);
    const double value = numberWidth(tile.value, uiFont(13, QFont::DemiBold));
    const double note = tile.note.isEmpty() ? 0 : 6 + QFontMetricsF(uiFont(11)).horizontalAdvance(tile.note);
    return 4 * static_cast<int>(std::ceil((2 * kPadding + std::max(name, value + note)) / 4)) + (m_compact ? 16 : 0);
}

QSize MetricTiles::sizeHint() const {
    if (m_compact) {
        const int index = std::max(0, currentIndex());
        return {m_tiles.isEmpty() ? 80 : tileWidth(m_tiles[index]), kHeight};
    }
    int width = 0;
    for (const Tile& tile : m_tiles) {
        width += tileWidth(tile) + kGap;
    }
    return {std::max(0, width - kGap), kHeight};
}

void MetricTiles::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    int x = 0;
    for (const Tile& tile : m_tiles) {
        const bool chosen = tile.id == m_current;
        if (m_compact && !chosen) {
            continue;
        }
        const int wide = tileWidth(tile);
        const bool ring = chosen && hasFocus();
        const double inset = ring ? 1 : .5;
        painter.setPen(QPen(chosen ? t.accent : mixed(t.line, t.line2, .2), ring ? 2 : 1));
        painter.setBrush(chosen ? QBrush(t.accentSoft) : QBrush(Qt::NoBrush));
        painter.drawRoundedRect(QRectF(x + inset, inset, wide - 2 * inset, kHeight - 2 * inset), 4, 4);
        drawText(painter, QRectF(x + kPadding, 3, wide - 16, 14), tile.name,
                 uiFont(11, chosen ? QFont::DemiBold : QFont::Normal), chosen ? t.accent : t.text2);
        const QFont valueFont = uiFont(13, QFont::DemiBold);
        drawNumber(painter, QRectF(x + kPadding, 17, wide - 16, 17), tile.value, valueFont, tile.enabled ? t.text : t.text3,
                   Qt::AlignLeft);
        if (!tile.note.isEmpty()) {
            drawText(painter, QRectF(x + kPadding + numberWidth(tile.value, valueFont) + 6, 17, wide, 18), tile.note,
                     uiFont(11), t.text2);
        }
        if (m_compact) {
            paintIcon(painter, QRectF(x + wide - 20, 11, 14, 14), Icon::ChevronDown, t.text2);
        }
        x += wide + kGap;
    }
}

int MetricTiles::tileAt(double x) const {
    int left = 0;
    for (int i = 0; i < m_tiles.size(); ++i) {
        const int right = left + tileWidth(m_tiles[i]);
        if (x >= left && x < right) {
            return i;
        }
        left = right + kGap;
    }
    return -1;
}

void MetricTiles::mousePressEvent(QMouseEvent* event) {
    if (m_compact) {
        showMenu();
        return;
    }
    const int index = tileAt(event->position().x());
    if (index >= 0 && m_tiles[index].enabled) {
        setCurrent(m_tiles[index].id);
    }
}

void MetricTiles::move(int step) {
    for (int index = currentIndex() + step; index >= 0 && index < m_tiles.size(); index += step) {
        if (m_tiles[index].enabled) {
            setCurrent(m_tiles[index].id);
            return;
        }
    }
}

void MetricTiles::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Left) {
        move(-1);
    } else if (event->key() == Qt::Key_Right) {
        move(1);
    } else if (m_compact && (event->key() == Qt::Key_Space || event->key() == Qt::Key_Return)) {
        showMenu();
    } else {
        QWidget::keyPressEvent(event);
    }
}

bool MetricTiles::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && !m_compact) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int index = tileAt(help->pos().x());
        QToolTip::showText(help->globalPos(), index < 0 ? QString() : m_tiles[index].reason, this);
        return true;
    }
    return QWidget::event(event);
}

void MetricTiles::showMenu() {
    QMenu menu(this);
    for (const Tile& tile : m_tiles) {
        QAction* action = menu.addAction(tile.name + QStringLiteral("   ") + tile.value);
        action->setEnabled(tile.enabled);
        connect(action, &QAction::triggered, this, [this, id = tile.id] { setCurrent(id); });
    }
    menu.exec(mapToGlobal(QPoint(0, height() + 2)));
}

} // namespace modulelens::widgets
