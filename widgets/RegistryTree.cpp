// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/RegistryTree.h"

#include "models/Format.h"
#include "models/RegistryTreeModel.h"
#include "widgets/Chips.h"
#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QStyledItemDelegate>

#include <algorithm>

namespace modulelens::widgets {

namespace {

using models::RegistryTreeModel;
using RowKind = models::RegistryTreeModel::RowKind;

constexpr int kRowHeight = 24;
constexpr int kIndent = 16;
constexpr int kInset = 10;   ///< Of everything, beyond the tree's own indentation.

RowKind kindOf(const QModelIndex& index) {
    return static_cast<RowKind>(index.data(RegistryTreeModel::KindRole).toInt());
}

/// Icon of the newest validation; a ring when there was none.
std::pair<Icon, QColor> verdictIcon(const models::VersionInfo& version) {
    const Theme& t = Theme::current();
    using Kind = models::VerdictWords::Kind;
    switch (models::verdictWords(version.verdict, version.exact).kind) {
        case Kind::Good:
            return {Icon::Check, t.ok};
        case Kind::Bad:
            return {Icon::Failed, t.bad};
        case Kind::Warning:
            return {Icon::Warning, t.warn};
        case Kind::Neutral:
            return {Icon::Gap, t.text3};
        case Kind::None:
            break;
    }
    return {Icon::Ring, t.text3};
}

/// Paints the content of a row right of its branch area.
class RegistryDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        painter->save();
        painter->setClipRect(option.rect);
        const Theme& t = Theme::current();
        const QRect box = option.rect.adjusted(kInset, 0, 0, 0);
        const QString text = index.data(Qt::DisplayRole).toString();
        const RowKind kind = kindOf(index);
        if (kind == RowKind::Version) {
            paintVersion(*painter, option, index.data(RegistryTreeModel::VersionRole).value<models::VersionInfo>(), text);
        } else if (kind == RowKind::More || kind == RowKind::Message) {
            drawText(*painter, box.adjusted(4, 0, -12, 0), text, uiFont(12), kind == RowKind::More ? t.text2 : t.bad);
        } else {
            const bool isModel = kind == RowKind::Model;
            paintIcon(*painter, QRectF(box.x() + 2, box.y() + 5, 14, 14), isModel ? Icon::Cube : Icon::Module, t.text2);
            const QString count = models::formatCount(index.data(RegistryTreeModel::CountRole).toLongLong());
            const double countWidth = numberWidth(count, uiFont(11));
            drawNumber(*painter, box.adjusted(0, 0, -12, 0), count, uiFont(11), t.text2);
            drawText(*painter, QRectF(box.x() + 22, box.y(), box.width() - 22 - 24 - countWidth, box.height()), text,
                     uiFont(12, isModel ? QFont::DemiBold : QFont::Normal), t.text, Qt::AlignLeft, Qt::ElideMiddle);
        }
        painter->restore();
    }

    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {120, kRowHeight}; }

private:
    static void paintVersion(QPainter& painter, const QStyleOptionViewItem& option, const models::VersionInfo& version,
                             const QString& text) {
        const Theme& t = Theme::current();
        const QRect box = option.rect.adjusted(kInset, 0, 0, 0);
        const auto [icon, colour] = verdictIcon(version);
        paintIcon(painter, QRectF(box.x() - 2, box.y() + 5, 14, 14), icon, colour);
        const bool selected = option.state.testFlag(QStyle::State_Selected);
        const QString age = models::formatAge(version.created.toStdString(), models::utcNow());
        const double ageWidth = numberWidth(age, uiFont(11));
        drawNumber(painter, box.adjusted(0, 0, -12, 0), age, uiFont(11), t.text2);
        const int right = box.right() - 12 - static_cast<int>(ageWidth) - 8;
        int x = box.x() + 18;
        x += static_cast<int>(drawText(painter, QRectF(x, box.y(), right - x, box.height()), text,
                                       uiFont(12, selected ? QFont::DemiBold : QFont::Normal), t.text)) +
             8;
        const double middle = box.y() + box.height() / 2.0;
        QList<Chip> chips;
        for (const QString& alias : version.aliases) {
            chips.append({alias, ChipKind::Alias, {}, false});
        }
        for (const QString& tag : version.tags) {
            chips.append({tag, ChipKind::Tag, {}, false});
        }
        for (qsizetype i = 0; i < chips.size(); ++i) {
            // Room for "+n" stays until the last chip.
            const int reserve = i + 1 < chips.size() ? 24 : 0;
            if (x + chipWidth(chips[i]) + reserve > right) {
                drawText(painter, QRectF(x, box.y(), right - x + 4, box.height()), u'+' + QString::number(chips.size() - i),
                         uiFont(11), t.text2);
                break;
            }
            x += paintChip(painter, x, middle, chips[i]) + 4;
        }
    }
};

} // namespace

RegistryTree::RegistryTree(QWidget* parent) : QTreeView(parent) {
    setAccessibleName(tr("Models, modules and versions"));
    setHeaderHidden(true);
    setIndentation(kIndent);
    setUniformRowHeights(true);
    setItemDelegate(new RegistryDelegate(this));
    setMouseTracking(true);
    setVerticalScrollMode(ScrollPerPixel);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setExpandsOnDoubleClick(true);
    setFrameShape(QFrame::NoFrame);
    connect(this, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        if (kindOf(index) == RowKind::More || kindOf(index) == RowKind::Version) {
            activate(index);
        }
    });
}

void RegistryTree::activate(const QModelIndex& index) {
    if (!index.isValid()) {
        return;
    }
    if (kindOf(index) == RowKind::Version) {
        emit versionActivated(index);
    } else if (kindOf(index) == RowKind::More) {
        emit moreActivated(index);
    }
}

void RegistryTree::drawRow(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Theme& t = Theme::current();
    const QRect row(0, option.rect.y(), viewport()->width(), option.rect.height());
    const bool selected = selectionModel() != nullptr && selectionModel()->isSelected(index);
    painter->fillRect(row, selected ? t.accentSoft : index == m_hover ? t.hover : t.surface);
    if (selected) {
        painter->fillRect(row.x(), row.y(), 3, row.height(), t.accent);
    }
    QTreeView::drawRow(painter, option, index);
    if (hasFocus() && index == currentIndex()) {
        painter->setPen(QPen(t.accent, 2));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(row.adjusted(1, 1, -1, -1));
    }
}

void RegistryTree::drawBranches(QPainter* painter, const QRect& rect, const QModelIndex& index) const {
    if (model()->hasChildren(index)) {
        const Theme& t = Theme::current();
        paintIcon(*painter, QRectF(rect.right() - 15 + kInset, rect.y() + 5, 14, 14),
                  isExpanded(index) ? Icon::ChevronDown : Icon::ChevronRight, t.text2);
    }
}

void RegistryTree::mousePressEvent(QMouseEvent* event) {
    // The chevron stands a little right of the area that Qt takes for it.
    const QModelIndex index = indexAt(event->pos());
    if (index.isValid() && model()->hasChildren(index) && event->position().x() < visualRect(index).x() + kInset) {
        setExpanded(index, !isExpanded(index));
        return;
    }
    QTreeView::mousePressEvent(event);
}

void RegistryTree::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        const QModelIndex index = currentIndex();
        if (index.isValid() && model()->hasChildren(index)) {
            setExpanded(index, !isExpanded(index));
        } else {
            activate(index);
        }
        return;
    }
    QTreeView::keyPressEvent(event);
}

void RegistryTree::mouseMoveEvent(QMouseEvent* event) {
    const QModelIndex index = indexAt(event->pos());
    if (index != m_hover) {
        m_hover = index;
        viewport()->update();
    }
    QTreeView::mouseMoveEvent(event);
}

void RegistryTree::leaveEvent(QEvent* event) {
    m_hover = QPersistentModelIndex();
    viewport()->update();
    QTreeView::leaveEvent(event);
}

} // namespace modulelens::widgets
