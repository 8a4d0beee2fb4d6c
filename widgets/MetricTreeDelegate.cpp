// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/MetricTreeDelegate.h"

#include "models/Format.h"
#include "widgets/Chips.h"
#include "widgets/Colours.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

using models::MetricTreeModel;
using models::ProfileView;
using profile::ScopeId;
using profile::ScopeKind;
using profile::SearchState;

namespace {

constexpr int kBarHeight = 12;
constexpr int kValueWidth = 72;

void hatch(QPainter& painter, const QRect& area, const QColor& colour) {
    painter.save();
    painter.setClipRect(area, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colour, 1));
    constexpr int kGap = 4;
    for (int x = area.left() - area.height() - area.left() % kGap; x < area.right(); x += kGap) {
        painter.drawLine(QPointF(x, area.bottom() + 1), QPointF(x + area.height(), area.top()));
    }
    painter.restore();
}

double knownAt(const profile::Column* column, ScopeId scope, bool isSelf) {
    return column == nullptr ? 0
                             : static_cast<double>(std::max<std::int64_t>(
                                   0, (isSelf ? column->self : column->total)[static_cast<std::size_t>(scope)]));
}

/// How many matches lie below `scope`.
std::ptrdiff_t matchesBelow(const ProfileView& view, ScopeId scope) {
    const std::vector<ScopeId>& matches = view.searchResult().matches();
    const auto first = std::upper_bound(matches.begin(), matches.end(), scope);
    return std::lower_bound(first, matches.end(), view.profile()->subtreeEnd(scope)) - first;
}

} // namespace

MetricTreeDelegate::MetricTreeDelegate(MetricTreeModel* model, QObject* parent) : QStyledItemDelegate(parent), m_model(model) {}

QSize MetricTreeDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const {
    return {80, rowHeightFor(uiFont(12))};
}

bool MetricTreeDelegate::isHot(const QModelIndex& index) const {
    return !m_model->isUnattributed(index) && m_model->foldedAt(index).empty() &&
           m_model->scopeAt(index) == m_model->view()->hotspot();
}

bool MetricTreeDelegate::isWhollyHot(const QModelIndex& index) const {
    const ProfileView& view = *m_model->view();
    if (view.hotspot() == ProfileView::kNoScope || m_model->scopeAt(index) != view.hotspot()) {
        return false;
    }
    // The row of what no child explains is the heavy part of a module that has children.
    return m_model->isUnattributed(index) || view.share() == ProfileView::Share::Self ||
           view.self(view.hotspot()) == view.total(view.hotspot());
}

bool MetricTreeDelegate::isOnHotPath(const QModelIndex& index) const {
    const ProfileView& view = *m_model->view();
    const ScopeId scope = m_model->scopeAt(index);
    return view.hotspot() != ProfileView::kNoScope && !m_model->isUnattributed(index) && scope != view.hotspot() &&
           view.profile()->isInside(view.hotspot(), scope);
}

bool MetricTreeDelegate::isDimmed(const QModelIndex& index) const {
    const ProfileView& view = *m_model->view();
    return view.isSearching() && view.searchResult().state(m_model->scopeAt(index)) == SearchState::None;
}

double MetricTreeDelegate::fullScale() const {
    const ProfileView& view = *m_model->view();
    std::optional<std::int64_t> most = view.total(0);
    if (view.share() == ProfileView::Share::Self && view.hotspot() != ProfileView::kNoScope) {
        most = view.self(view.hotspot());
    }
    return std::max(1.0, static_cast<double>(most.value_or(1)));
}

void MetricTreeDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    painter->save();
    painter->setClipRect(option.rect, Qt::IntersectClip);
    const Theme& theme = Theme::current();
    switch (index.column()) {
        case MetricTreeModel::ModuleColumn:
            paintName(*painter, option, index);
            break;
        case MetricTreeModel::ClassColumn:
            drawText(*painter, QRectF(option.rect).adjusted(8, 0, -8, 0), index.data().toString(), uiFont(12),
                     isDimmed(index) ? theme.text3 : theme.text2, Qt::AlignLeft, Qt::ElideMiddle);
            break;
        case MetricTreeModel::DrivingColumn:
            paintBar(*painter, option.rect, index);
            break;
        default:
            paintNumber(*painter, option.rect, index);
            break;
    }
    painter->restore();
}

void MetricTreeDelegate::paintName(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Theme& theme = Theme::current();
    const ProfileView& view = *m_model->view();
    const ScopeId scope = m_model->scopeAt(index);
    const bool isRest = m_model->isUnattributed(index);
    const int depth = m_model->depthOf(index);
    const std::size_t folded = m_model->foldedAt(index).size();
    const QRect cell = option.rect;
    for (int level = 0; level < depth; ++level) {
        painter.fillRect(QRect(cell.left() + chevronLeft(level) + 7, cell.top(), 1, cell.height()), theme.grid);
    }
    const double left = cell.left() + chevronLeft(depth);
    if (m_model->hasChildren(index)) {
        paintIcon(painter, QRectF(left, cell.top() + (cell.height() - kChevron) / 2.0, kChevron, kChevron),
                  option.state.testFlag(QStyle::State_Open) ? Icon::ChevronDown : Icon::ChevronRight, theme.text2);
    }
    const bool isBold = scope == 0 || option.state.testFlag(QStyle::State_Selected);
    const QFont font = uiFont(12, isBold && !isRest ? QFont::DemiBold : QFont::Normal);
    const QFontMetricsF metrics(font);
    const QString name = index.data().toString();
    double x = left + kChevron + 4;
    double room = cell.right() - 8 - x;
    const std::int64_t members = isRest ? 1 : folded > 0 ? static_cast<std::int64_t>(folded) : view.members(scope);
    const Chip chip{QChar(0x00D7) + models::formatCount(members), ChipKind::Neutral, {}, false};
    room -= (isHot(index) ? 20 : 0) + (members > 1 ? chipWidth(chip) + 6 : 0);
    if (view.isSearching() && !isRest && metrics.horizontalAdvance(name) <= room) {
        const qsizetype at = name.indexOf(view.searchText(), 0, Qt::CaseInsensitive);
        if (at >= 0) {
            const double from = x + metrics.horizontalAdvance(name.left(at));
            const double to = x + metrics.horizontalAdvance(name.left(at + view.searchText().size()));
            painter.fillRect(QRectF(from - 1, cell.top() + 4, to - from + 2, cell.height() - 8), theme.mark);
        }
    }
    const bool isModule = view.profile()->kind(scope) == ScopeKind::Module && !isRest;
    const QColor colour = isDimmed(index) ? theme.text3 : isModule ? theme.text : theme.text2;
    x += drawText(painter, QRectF(x, cell.top(), std::max(0.0, room), cell.height()), name, font, colour, Qt::AlignLeft,
                  Qt::ElideMiddle);
    if (isHot(index)) {
        paintIcon(painter, QRectF(x + 6, cell.top() + (cell.height() - 14) / 2.0, 14, 14), Icon::Hot, theme.hot);
        x += 20;
    }
    if (members > 1) {
        x += 6 + paintChip(painter, static_cast<int>(std::lround(x + 6)), QRectF(cell).center().y(), chip);
    }
    if (folded > 0 && !view.isSearching()) {
        const QString spread = index.data(MetricTreeModel::SpreadRole).toString();
        if (QFontMetricsF(uiFont(11)).horizontalAdvance(spread) <= cell.right() - x - 12) {
            drawText(painter, QRectF(x + 8, cell.top(), cell.right() - x - 12, cell.height()), spread, uiFont(11), theme.text2);
        }
    }
    if (view.isSearching() && !isRest && !option.state.testFlag(QStyle::State_Open)) {
        if (const std::ptrdiff_t below = matchesBelow(view, scope); below > 0) {
            const QString note = below == 1 ? tr("1 match") : tr("%1 matches").arg(models::formatCount(below));
            drawText(painter, QRectF(x + 8, cell.top(), cell.right() - x - 12, cell.height()), note, uiFont(11), theme.text3);
        }
    }
}

void MetricTreeDelegate::paintBar(QPainter& painter, const QRect& cell, const QModelIndex& index) const {
    const Theme& theme = Theme::current();
    const ProfileView& view = *m_model->view();
    const ScopeId scope = m_model->scopeAt(index);
    const std::optional<std::int64_t> value = m_model->drivingValue(index);
    const QRectF valueBox(cell.right() - 8 - kValueWidth, cell.top(), kValueWidth, cell.height());
    if (!value) {
        drawText(painter, QRectF(cell).adjusted(8, 0, -8, 0), models::notCaptured(), uiFont(12), theme.text3, Qt::AlignRight);
        return;
    }
    const bool isSelf = m_model->isUnattributed(index) || view.share() == ProfileView::Share::Self;
    const double width = cell.width() - 16 - kValueWidth;
    const double pixels = width / fullScale();
    const auto length = [&](double amount) { return static_cast<int>(std::lround(std::min(amount * pixels, width))); };
    double forward = knownAt(view.forwardColumn(), scope, isSelf);
    double backward = knownAt(view.backwardColumn(), scope, isSelf);
    const std::vector<ScopeId>& folded = m_model->foldedAt(index);
    if (!folded.empty() && view.givesWidths()) {
        forward = 0;
        backward = 0;
        for (const ScopeId member : folded) {
            forward += knownAt(view.forwardColumn(), member, isSelf);
            backward += knownAt(view.backwardColumn(), member, isSelf);
        }
    }
    const bool isHotBar = isWhollyHot(index);
    const bool dimmed = isDimmed(index) && !isHotBar;
    QColor colour = isHotBar ? theme.hot : theme.bar;
    if (dimmed) {
        colour = mixed(theme.surface, colour, .45);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    const int left = cell.left() + 8;
    const int top = cell.top() + (cell.height() - kBarHeight) / 2;
    int x = left;
    if (forward > 0) {
        const QRect bar(x, top, std::max(1, length(forward)), kBarHeight);
        painter.fillRect(bar, colour);
        x += bar.width() + (bar.width() > 1 ? 1 : 0);
    }
    if (backward > 0) {
        const QRect bar(x, top, std::max(1, length(backward)), kBarHeight);
        painter.fillRect(bar, mixed(theme.surface, colour, .25));
        hatch(painter, bar, mixed(theme.surface, colour, .75));
        painter.setPen(colour);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(bar.adjusted(0, 0, -1, -1));
    }
    const bool isPartlyHot = isHot(index) && !isHotBar;
    if ((isOnHotPath(index) || isPartlyHot) && view.share() == ProfileView::Share::Total) {
        const double hot = static_cast<double>(view.self(view.hotspot()).value_or(0));
        painter.fillRect(QRect(left, top + kBarHeight + 1, std::max(1, length(hot)), 2), theme.hot);
    }
    const bool isBold = isHotBar || scope == 0;
    drawNumber(painter, valueBox, index.data().toString(), uiFont(12, isBold ? QFont::DemiBold : QFont::Normal),
               isHotBar ? theme.hotText
               : dimmed ? theme.text3
                        : theme.text);
}

void MetricTreeDelegate::paintNumber(QPainter& painter, const QRect& cell, const QModelIndex& index) const {
    const Theme& theme = Theme::current();
    const QString text = index.data().toString();
    const QRectF box = QRectF(cell).adjusted(8, 0, -8, 0);
    if (text == models::notApplicable() || text == models::notCaptured()) {
        // Words take the whole cell, and keep their beginning where a wide typeface leaves too little room.
        drawText(painter, box.adjusted(-9, 0, 0, 0), text, uiFont(12), theme.text3, Qt::AlignRight, Qt::ElideRight);
        return;
    }
    const bool isHotSelf = index.column() == MetricTreeModel::SelfColumn && isHot(index) && !isWhollyHot(index);
    drawNumber(painter, box, text, uiFont(12, isHotSelf ? QFont::DemiBold : QFont::Normal),
               isHotSelf         ? theme.hotText
               : isDimmed(index) ? theme.text3
                                 : theme.text);
}

} // namespace modulelens::widgets
