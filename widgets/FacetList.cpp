// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/FacetList.h"

#include "models/Format.h"
#include "models/RegistrySearch.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace modulelens::widgets {

namespace {
constexpr int kHeadHeight = 24;
constexpr int kEntryHeight = 20;
constexpr int kEntriesShown = 4;
}  // namespace

FacetList::FacetList(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Filters"));
    setFocusPolicy(Qt::TabFocus);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_open = {{QStringLiteral("model"), true}, {QStringLiteral("tag"), true}};
}

FacetList::~FacetList() = default;

void FacetList::setFacets(const QList<models::Facet>& facets) {
    m_facets = facets;
    layOut();
}

void FacetList::setOpen(const QString& field, bool open) {
    m_open[field] = open;
    layOut();
}

void FacetList::layOut() {
    m_rows.clear();
    int y = 0;
    for (const models::Facet& facet : m_facets) {
        if (facet.entries.isEmpty()) {
            continue;
        }
        const bool open = m_open.value(facet.field, false);
        QString summary;
        if (!open) {
            summary = facet.entries.size() <= 2 ? facet.entries.first().value
                                                : models::formatCount(facet.entries.size()) + tr(" values");
            if (facet.entries.size() == 2) {
                summary += QStringLiteral(", ") + facet.entries.last().value;
            }
        }
        m_rows.append({RowKind::Head, facet.field, facet.title, summary, open, false, y, kHeadHeight});
        y += kHeadHeight;
        if (!open) {
            continue;
        }
        const bool all = m_showAll.contains(facet.field);
        const qsizetype shown = all ? facet.entries.size() : std::min<qsizetype>(facet.entries.size(), kEntriesShown);
        for (qsizetype i = 0; i < shown; ++i) {
            const models::FacetEntry& entry = facet.entries[i];
            m_rows.append({RowKind::Entry, facet.field, entry.value, models::formatCount(entry.count), false, entry.chosen, y,
                           kEntryHeight});
            y += kEntryHeight;
        }
        if (shown < facet.entries.size()) {
            m_rows.append({RowKind::More,
                           facet.field,
                           models::formatCount(facet.entries.size() - shown) + tr(" more"),
                           {},
                           false,
                           false,
                           y,
                           kEntryHeight});
            y += kEntryHeight;
        }
    }
    m_focusRow = std::clamp(m_focusRow, 0, std::max(0, static_cast<int>(m_rows.size()) - 1));
    setFixedHeight(y);
    updateGeometry();
    update();
}

QSize FacetList::sizeHint() const {
    return {240, m_rows.isEmpty() ? 0 : m_rows.last().y + m_rows.last().height};
}

int FacetList::rowAt(int y) const {
    for (int i = 0; i < m_rows.size(); ++i) {
        if (y >= m_rows[i].y && y < m_rows[i].y + m_rows[i].height) {
            return i;
        }
    }
    return -1;
}

void FacetList::activate(int row) {
    if (row < 0 || row >= m_rows.size()) {
        return;
    }
    m_focusRow = row;
    const Row chosen = m_rows[row];
    switch (chosen.kind) {
        case RowKind::Head:
            setOpen(chosen.field, !chosen.open);
            break;
        case RowKind::More:
            m_showAll.insert(chosen.field);
            layOut();
            break;
        case RowKind::Entry:
            emit toggled(chosen.field, chosen.text);
            break;
    }
}

void FacetList::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), t.surface);
    for (int i = 0; i < m_rows.size(); ++i) {
        const Row& row = m_rows[i];
        if (i == m_hoverRow) {
            painter.fillRect(0, row.y, width(), row.height, t.hover);
        }
        const double middle = row.y + row.height / 2.0;
        if (row.kind == RowKind::Head) {
            paintIcon(painter, QRectF(12, middle - 7, 14, 14), row.open ? Icon::ChevronDown : Icon::ChevronRight, t.text2);
            const double used =
                drawText(painter, QRectF(30, row.y, 120, row.height), row.text, uiFont(12, QFont::DemiBold), t.text);
            drawText(painter, QRectF(38 + used, row.y, width() - 50 - used, row.height), row.right, uiFont(11), t.text3,
                     Qt::AlignRight, Qt::ElideMiddle);
        } else if (row.kind == RowKind::Entry) {
            painter.setRenderHint(QPainter::Antialiasing);
            painter.setPen(row.chosen ? t.accent : t.line2);
            painter.setBrush(row.chosen ? t.accent : t.surface);
            painter.drawRoundedRect(QRectF(30.5, middle - 6.5, 13, 13), 3, 3);
            if (row.chosen) {
                paintIcon(painter, QRectF(31, middle - 6, 12, 12), Icon::Check, t.onAccent);
            }
            drawText(painter, QRectF(52, row.y, width() - 116, row.height), row.text, uiFont(12), t.text, Qt::AlignLeft,
                     Qt::ElideMiddle);
            drawNumber(painter, QRectF(width() - 72, row.y, 60, row.height), row.right, uiFont(11), t.text2);
        } else {
            drawText(painter, QRectF(52, row.y, width() - 60, row.height), row.text, uiFont(11), t.text3);
        }
        if (hasFocus() && i == m_focusRow) {
            painter.setPen(QPen(t.accent, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRoundedRect(QRectF(5, row.y + 1, width() - 10, row.height - 2), 3, 3);
        }
    }
}

void FacetList::mousePressEvent(QMouseEvent* event) {
    activate(rowAt(static_cast<int>(event->position().y())));
}

void FacetList::mouseMoveEvent(QMouseEvent* event) {
    const int row = rowAt(static_cast<int>(event->position().y()));
    if (row != m_hoverRow) {
        m_hoverRow = row;
        update();
    }
}

void FacetList::leaveEvent(QEvent*) {
    m_hoverRow = -1;
    update();
}

void FacetList::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down) {
        const int step = event->key() == Qt::Key_Up ? -1 : 1;
        m_focusRow = std::clamp(m_focusRow + step, 0, std::max(0, static_cast<int>(m_rows.size()) - 1));
        update();
    } else if (event->key() == Qt::Key_Space || event->key() == Qt::Key_Return) {
        activate(m_focusRow);
    } else {
        QWidget::keyPressEvent(event);
    }
}

void FacetList::focusInEvent(QFocusEvent*) {
    update();
}

void FacetList::focusOutEvent(QFocusEvent*) {
    update();
}

} // namespace modulelens::widgets
