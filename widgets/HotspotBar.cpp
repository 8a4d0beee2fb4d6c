// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/HotspotBar.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace modulelens::widgets {

namespace {
constexpr int kInset = 16;
constexpr int kChevronRoom = 14;
constexpr double kLongestPathShare = .45;
}  // namespace

HotspotBar::HotspotBar(QWidget* parent) : QWidget(parent) {
    setFixedHeight(32);
    setMouseTracking(true);
    setAccessibleName(tr("Path and hotspot"));
}

void HotspotBar::setPath(const QStringList& parts) {
    m_parts = parts;
    update();
}

void HotspotBar::setHotspot(const QString& sentence, const QString& brief) {
    m_sentence = sentence;
    m_brief = brief;
    setAccessibleDescription(sentence);
    setToolTip(sentence);
    update();
}

template <class Visit>
double HotspotBar::layOutPath(Visit visit) const {
    const auto widthOf = [this](qsizetype i) {
        return QFontMetricsF(uiFont(12, i + 1 == m_parts.size() ? QFont::DemiBold : QFont::Normal))
            .horizontalAdvance(m_parts[i]);
    };
    // A deep path keeps its root and as many of the last parts as fit.
    const double limit = width() * kLongestPathShare;
    qsizetype first = m_parts.size();
    double used = m_parts.isEmpty() ? 0 : widthOf(0) + 2 * kChevronRoom;
    while (first > 1 && used + widthOf(first - 1) + kChevronRoom < limit) {
        --first;
        used += widthOf(first) + kChevronRoom;
    }
    if (first == m_parts.size() && first > 1) {
        --first;
    }
    double x = kInset;
    for (qsizetype i = 0; i < m_parts.size(); ++i) {
        if (i == 1 && first > 1) {
            visit(-1, x, 10.0);
            x += 10 + kChevronRoom;
            i = first;
        }
        const double wide = widthOf(i);
        visit(static_cast<int>(i), x, wide);
        x += wide + (i + 1 < m_parts.size() ? kChevronRoom : 0);
    }
    return x;
}

void HotspotBar::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), t.window);
    painter.fillRect(0, height() - 1, width(), 1, t.line);
    const double end = layOutPath([&](int index, double x, double wide) {
        const bool last = index + 1 == m_parts.size();
        drawText(painter, QRectF(x, 0, wide + 2, height() - 1), index < 0 ? QStringLiteral("…") : m_parts[index],
                 uiFont(12, last ? QFont::DemiBold : QFont::Normal), last ? t.text : t.text2);
        if (!last) {
            paintIcon(painter, QRectF(x + wide + 1, (height() - 12) / 2.0, 12, 12), Icon::ChevronRight, t.text3);
        }
    });
    if (m_sentence.isEmpty()) {
        return;
    }
    const double x = end + kInset;
    const QFont font = uiFont(12, QFont::Medium);
    const double room = width() - x - 18 - kInset;
    const bool fits = QFontMetricsF(font).horizontalAdvance(m_sentence) <= room;
    paintIcon(painter, QRectF(x, (height() - 14) / 2.0, 14, 14), Icon::Hot, t.hot);
    drawText(painter, QRectF(x + 18, 0, room, height() - 1), fits ? m_sentence : m_brief, font, t.hotText);
}

void HotspotBar::mousePressEvent(QMouseEvent* event) {
    const double at = event->position().x();
    int chosen = -1;
    const double end = layOutPath([&](int index, double x, double wide) {
        if (index >= 0 && at >= x - 4 && at <= x + wide + 4) {
            chosen = index;
        }
    });
    if (chosen >= 0) {
        emit partActivated(chosen);
    } else if (at > end + kInset && !m_sentence.isEmpty()) {
        emit hotspotActivated();
    }
}

DetailsStrip::DetailsStrip(QWidget* parent) : QWidget(parent) {
    setFixedHeight(48);
    setAccessibleName(tr("Details of the selection"));
}

void DetailsStrip::show(const QString& name, const QString& form, QList<Item> items) {
    m_name = name;
    m_form = form;
    m_items = std::move(items);
    QStringList spoken(name);
    for (const Item& item : m_items) {
        spoken.append(item.title + u' ' + item.value);
    }
    setAccessibleDescription(spoken.join(QStringLiteral(", ")));
    update();
}

void DetailsStrip::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), t.window);
    painter.fillRect(0, 0, width(), 1, t.line);
    const double nameRoom = std::clamp(width() * .3, 200.0, 420.0);
    drawText(painter, QRectF(kInset, 4, nameRoom - kInset, 20), m_name, monoFont(12, QFont::DemiBold), t.text, Qt::AlignLeft,
             Qt::ElideMiddle);
    drawText(painter, QRectF(kInset, 24, nameRoom - kInset, 20), m_form, uiFont(12), t.text2);
    double x = nameRoom + 16;
    const QFont valueFont = uiFont(12, QFont::DemiBold);
    for (const Item& item : m_items) {
        const double title = QFontMetricsF(uiFont(11)).horizontalAdvance(item.title);
        const double value = numberWidth(item.value, valueFont);
        const double note = item.note.isEmpty() ? 0 : 6 + QFontMetricsF(uiFont(11)).horizontalAdvance(item.note);
        const double wide = std::max(title, value + note);
        if (x + wide > width() - kInset) {
            break;
        }
        drawText(painter, QRectF(x, 4, wide + 1, 20), item.title, uiFont(11), t.text2);
        drawNumber(painter, QRectF(x, 24, value + 1, 20), item.value, valueFont, t.text, Qt::AlignLeft);
        drawText(painter, QRectF(x + value + 6, 24, note, 20), item.note, uiFont(11), t.text2);
        x += wide + 24;
    }
}

} // namespace modulelens::widgets
