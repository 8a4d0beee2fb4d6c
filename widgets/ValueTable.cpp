// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/ValueTable.h"

#include "models/TableCells.h"
#include "widgets/Chips.h"
#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>

#include <algorithm>

namespace modulelens::widgets {

namespace {

using models::Tone;

constexpr int kRowHeight = 24;
constexpr int kInset = 16;
constexpr int kPadding = 8;
constexpr int kProgressWidth = 180;

QColor colourOf(Tone tone) {
    const Theme& t = Theme::current();
    switch (tone) {
        case Tone::Secondary:
            return t.text2;
        case Tone::Dim:
            return t.text3;
        case Tone::Good:
            return t.ok;
        case Tone::Warning:
            return t.warn;
        case Tone::Bad:
            return t.bad;
        case Tone::Accent:
            return t.accent;
        case Tone::Normal:
        case Tone::Neutral:
        case Tone::Tag:
            break;
    }
    return t.text;
}

Chip chipOf(const models::CellChip& cell) {
    switch (cell.tone) {
        case Tone::Good:
            return {cell.text, ChipKind::Good, Icon::Check, false};
        case Tone::Warning:
            return {cell.text, ChipKind::Warning, Icon::Warning, false};
        case Tone::Bad:
            return {cell.text, ChipKind::Bad, Icon::Failed, false};
        case Tone::Tag:
            return {cell.text, ChipKind::Tag, {}, false};
        default:
            return {cell.text, ChipKind::Neutral, Icon::Equal, false};
    }
}

Icon statusIcon(Tone tone) {
    switch (tone) {
        case Tone::Good:
            return Icon::Check;
        case Tone::Warning:
            return Icon::Warning;
        case Tone::Bad:
            return Icon::Failed;
        case Tone::Accent:
            return Icon::Play;
        default:
            return Icon::Ring;
    }
}

void paintSparkline(QPainter& painter, const QRectF& box, const QList<qint64>& bins) {
    const qint64 highest = bins.isEmpty() ? 0 : *std::max_element(bins.begin(), bins.end());
    if (highest <= 0) {
        return;
    }
    const double wide = box.width() / static_cast<double>(bins.size());
    for (qsizetype i = 0; i < bins.size(); ++i) {
        if (bins[i] > 0) {
            const double high = std::max(1.0, box.height() * static_cast<double>(bins[i]) / static_cast<double>(highest));
            painter.fillRect(QRectF(box.x() + wide * static_cast<double>(i), box.bottom() - high, wide - 1, high),
                             Theme::current().bar);
        }
    }
}

class ValueDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    int hoverRow = -1;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        painter->save();
        painter->setClipRect(option.rect);
        const Theme& t = Theme::current();
        const bool group = index.data(models::GroupRole).toBool();
        const bool selected = option.state.testFlag(QStyle::State_Selected) && !group;
        const QColor ground = selected ? t.accentSoft : group ? t.window : index.row() == hoverRow ? t.hover : t.surface;
        painter->fillRect(option.rect, ground);
        if (selected && index.column() == 0) {
            painter->fillRect(option.rect.x(), option.rect.y(), 3, option.rect.height(), t.accent);
        }
        paintContent(*painter, option, index, group);
        painter->restore();
    }

private:
    static void paintContent(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, bool group) {
        QRectF box = QRectF(option.rect).adjusted(index.column() == 0 ? kInset : kPadding, 0, -kPadding, 0);
        const double middle = box.center().y();
        if (const QVariant status = index.data(models::StatusIconRole); status.isValid()) {
            const auto tone = static_cast<Tone>(status.toInt());
            paintIcon(painter, QRectF(box.x() - 4, middle - 7, 14, 14), statusIcon(tone), colourOf(tone));
            box.setLeft(box.x() + 18);
        }
        if (const QVariant progress = index.data(models::ProgressRole); progress.isValid()) {
            const double wide = std::min<double>(kProgressWidth, box.width() / 2);
            paintProgress(painter, QRectF(box.x(), middle - 3, wide, 6), progress.toDouble());
            box.setLeft(box.x() + wide + 12);
        }
        const auto chips = index.data(models::ChipsRole).value<models::CellChips>();
        for (const models::CellChip& cell : chips) {
            box.setLeft(box.x() + paintChip(painter, static_cast<int>(box.x()), middle, chipOf(cell)) + 4);
        }
        const QVariant bins = index.data(models::HistogramRole);
        if (bins.isValid()) {
            paintSparkline(painter, QRectF(box.x(), option.rect.y() + 4, std::min(68.0, box.width()), option.rect.height() - 8),
                           bins.value<QList<qint64>>());
            return;
        }
        const QString text = index.data(Qt::DisplayRole).toString();
        const bool strong = group || index.data(models::StrongRole).toBool();
        const QFont::Weight weight = strong ? QFont::DemiBold : QFont::Normal;
        const QColor colour = colourOf(static_cast<Tone>(index.data(models::ToneRole).toInt()));
        const auto alignment = static_cast<Qt::Alignment>(index.data(Qt::TextAlignmentRole).toInt());
        if (index.data(models::NumberRole).toBool()) {
            drawNumber(painter, box, text, uiFont(12, weight), colour, Qt::AlignRight);
            return;
        }
        const QFont font = index.data(models::MonospaceRole).toBool() ? monoFont(11, weight) : uiFont(12, weight);
        drawText(painter, box, text, font, colour, alignment.testFlag(Qt::AlignRight) ? Qt::AlignRight : Qt::AlignLeft,
                 Qt::ElideMiddle);
    }
};

} // namespace

void paintProgress(QPainter& painter, const QRectF& box, double share) {
    const Theme& t = Theme::current();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(t.sunken);
    painter.drawRoundedRect(box, 3, 3);
    painter.setBrush(t.accent);
    if (share < 0) {
        painter.drawRoundedRect(QRectF(box.x() + box.width() * .35, box.y(), box.width() * .3, box.height()), 3, 3);
    } else if (share > 0) {
        painter.drawRoundedRect(QRectF(box.x(), box.y(), std::max(6.0, box.width() * std::min(1.0, share)), box.height()), 3,
                                3);
    }
}

ValueTable::ValueTable(const QString& accessibleName, QWidget* parent) : QTableView(parent) {
    setAccessibleName(accessibleName);
    setItemDelegate(new ValueDelegate(this));
    setShowGrid(false);
    setFrameShape(QFrame::NoFrame);
    setSelectionBehavior(SelectRows);
    setSelectionMode(ExtendedSelection);
    setEditTriggers(NoEditTriggers);
    setVerticalScrollMode(ScrollPerPixel);
    setHorizontalScrollMode(ScrollPerPixel);
    setWordWrap(false);
    setTabKeyNavigation(false);
    setMouseTracking(true);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(kRowHeight);
    verticalHeader()->setMinimumSectionSize(kRowHeight);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setFixedHeight(kRowHeight);
    horizontalHeader()->setMinimumSectionSize(24);
    connect(this, &QTableView::clicked, this, &ValueTable::cellActivated);
}

void ValueTable::setColumnWidths(const QList<int>& widths) {
    m_widths = widths;
    applyWidths();
}

void ValueTable::applyWidths() {
    if (model() == nullptr) {
        return;
    }
    int fixed = 0;
    int flexible = 0;
    for (const int width : m_widths) {
        fixed += width;
        flexible += width == 0 ? 1 : 0;
    }
    constexpr int kLeastFlexible = 120;
    const int each = flexible == 0 ? 0 : std::max(kLeastFlexible, (viewport()->width() - fixed) / flexible);
    for (int column = 0; column < m_widths.size() && column < model()->columnCount(); ++column) {
        setColumnWidth(column, m_widths[column] == 0 ? each : m_widths[column]);
    }
}

QString ValueTable::asText() const {
    QString text;
    for (int row = 0; row < model()->rowCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < model()->columnCount(); ++column) {
            cells.append(model()->index(row, column).data().toString());
        }
        text += cells.join(u'\t') + u'\n';
    }
    return text;
}

void ValueTable::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    applyWidths();
}

void ValueTable::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Copy) && selectionModel() != nullptr) {
        QString text;
        for (const QModelIndex& row : selectionModel()->selectedRows()) {
            QStringList cells;
            for (int column = 0; column < model()->columnCount(); ++column) {
                cells.append(row.siblingAtColumn(column).data().toString());
            }
            text += cells.join(u'\t') + u'\n';
        }
        QApplication::clipboard()->setText(text);
    } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Space) {
        // Of a row that is selected whole, the action stands in the last column.
        emit cellActivated(currentIndex().siblingAtColumn(model()->columnCount() - 1));
    } else {
        QTableView::keyPressEvent(event);
    }
}

void ValueTable::mouseMoveEvent(QMouseEvent* event) {
    auto* delegate = static_cast<ValueDelegate*>(itemDelegate());
    const int row = indexAt(event->pos()).row();
    if (row != delegate->hoverRow) {
        delegate->hoverRow = row;
        viewport()->update();
    }
    QTableView::mouseMoveEvent(event);
}

void ValueTable::leaveEvent(QEvent* event) {
    static_cast<ValueDelegate*>(itemDelegate())->hoverRow = -1;
    viewport()->update();
    QTableView::leaveEvent(event);
}

} // namespace modulelens::widgets
