// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/MetricTree.h"

#include "backend/profile/Export.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/MetricTreeDelegate.h"
#include "widgets/ScopeMenu.h"
#include "widgets/Theme.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>

#include <algorithm>
#include <array>

namespace modulelens::widgets {

using models::MetricTreeModel;
using models::ProfileView;
using profile::ScopeId;

namespace {

constexpr int kModuleWidth = 240;
constexpr int kNarrowModuleWidth = 300;
constexpr int kClassWidth = 160;
constexpr int kBarWidth = 264;
constexpr int kNumberWidth = 80;
constexpr int kSearchRowsOpened = 30;

/// The header: 24 px on the window's colour, the sorted column in the text colour with a chevron. Confined to its thread.
class MetricTreeHeader : public QHeaderView {
public:
    explicit MetricTreeHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
        setSectionResizeMode(QHeaderView::Fixed);
        setMinimumSectionSize(40);
        setContextMenuPolicy(Qt::CustomContextMenu);
    }

    QSize sizeHint() const override { return {QHeaderView::sizeHint().width(), 24}; }

protected:
    void paintSection(QPainter* painter, const QRect& rect, int section) const override {
        const Theme& theme = Theme::current();
        painter->fillRect(rect, theme.window);
        painter->fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), theme.line);
        const QString text = model()->headerData(section, Qt::Horizontal).toString();
        const bool isLeft = section <= MetricTreeModel::DrivingColumn;
        const bool isSorted = isSortIndicatorShown() && sortIndicatorSection() == section;
        const QFont font = uiFont(11, QFont::DemiBold);
        QRectF box = QRectF(rect).adjusted(section == 0 ? 16 : 8, 0, -8, -1);
        if (isSorted) {
            box.adjust(0, 0, isLeft ? -14 : 0, 0);
        }
        const double width =
            drawText(*painter, box, text, font, isSorted ? theme.text : theme.text2, isLeft ? Qt::AlignLeft : Qt::AlignRight);
        if (isSorted) {
            const double x = isLeft ? box.left() + width + 2 : box.right() - width - 14;
            paintIcon(*painter, QRectF(x, rect.top() + (rect.height() - 12) / 2.0, 12, 12),
                      sortIndicatorOrder() == Qt::DescendingOrder ? Icon::ChevronDown : Icon::ChevronUp, theme.text);
        }
    }

    void paintEvent(QPaintEvent* event) override {
        QPainter painter(viewport());
        painter.fillRect(rect(), Theme::current().window);
        painter.fillRect(QRect(0, height() - 1, width(), 1), Theme::current().line);
        painter.end();
        QHeaderView::paintEvent(event);
    }
};

} // namespace

MetricTree::MetricTree(ProfileView* view, QWidget* parent)
    : QTreeView(parent),
      m_view(view),
      m_model(new MetricTreeModel(view, this)),
      m_delegate(new MetricTreeDelegate(m_model, this)) {
    setFrameShape(QFrame::NoFrame);
    setHeader(new MetricTreeHeader(this));
    header()->setSectionsClickable(true); // setHeader() turns it off, since sorting is ours.
    setUniformRowHeights(true);
    setIndentation(MetricTreeDelegate::kIndent);
    setItemDelegate(m_delegate);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setExpandsOnDoubleClick(false);
    setAllColumnsShowFocus(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setMouseTracking(true);
    setAccessibleName(tr("Metric tree"));
    setModel(m_model);
    header()->setSectionResizeMode(QHeaderView::Fixed);
    header()->setStretchLastSection(false);
    connect(header(), &QHeaderView::sectionClicked, this, &MetricTree::sortByHeader);
    connect(header(), &QHeaderView::customContextMenuRequested, this, &MetricTree::showColumnMenu);
    connect(verticalScrollBar(), &QScrollBar::actionTriggered, this, [this] { m_keepsInSight = false; });
    connect(view, &ProfileView::profileChanged, this, [this] {
        updateColumns();
        expandHotPath();
        verticalScrollBar()->setValue(0);
    });
    connect(view, &ProfileView::valuesChanged, this, &MetricTree::updateColumns);
    connect(view, &ProfileView::orderChanged, this, &MetricTree::updateColumns);
    connect(view, &ProfileView::selectionChanged, this, &MetricTree::followSelection);
    connect(view, &ProfileView::hoverChanged, this, &MetricTree::repaintHovered);
    connect(view, &ProfileView::searchChanged, this, &MetricTree::followSearch);
    updateColumns();
    expandHotPath();
    followSelection();
}

MetricTree::~MetricTree() = default;

void MetricTree::expandHotPath() {
    if (m_view->profile() == nullptr) {
        return;
    }
    collapseAll();
    ScopeId last = m_view->hotspot();
    if (last == ProfileView::kNoScope) {
        last = 0;
        for (int level = 0; level < 3 && !m_view->childOrder().children(last).empty(); ++level) {
            last = m_view->childOrder().children(last).front();
        }
    }
    // Where the heaviest self is a module's own, the way on is the heaviest child, as far as that was measured.
    if (m_view->hotspot() != ProfileView::kNoScope) {
        const auto heaviestChild = [this](ScopeId scope) {
            const auto children = m_view->childOrder().children(scope);
            const bool isMeasured = !children.empty() && m_view->total(children.front()).value_or(0) > 0;
            return isMeasured && m_view->profile()->kind(children.front()) != profile::ScopeKind::Unattributed
                       ? children.front()
                       : ProfileView::kNoScope;
        };
        for (ScopeId next = heaviestChild(last); next != ProfileView::kNoScope; next = heaviestChild(next)) {
            last = next;
        }
    }
    reveal(last);
    expand(m_model->indexOf(0));
}

void MetricTree::reveal(ScopeId scope) {
    // From the top: a row for equal siblings may stand between two scopes.
    std::vector<QModelIndex> above;
    for (QModelIndex index = m_model->indexOf(scope).parent(); index.isValid(); index = index.parent()) {
        above.push_back(index);
    }
    std::for_each(above.rbegin(), above.rend(), [this](const QModelIndex& index) { expand(index); });
}

void MetricTree::followSelection() {
    const ScopeId selected = m_view->selection();
    if (selected == ProfileView::kNoScope) {
        clearSelection();
        return;
    }
    if (m_model->scopeAt(currentIndex()) == selected && selectionModel()->isSelected(currentIndex())) {
        return;
    }
    m_isFollowing = true;
    reveal(selected);
    const QModelIndex index = m_model->indexOf(selected);
    // Making it current would scroll to it.
    const bool wasScrolling = hasAutoScroll();
    setAutoScroll(false);
    selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    setAutoScroll(wasScrolling);
    if (!isInSight(index)) {
        showFromTop();
    }
    m_keepsInSight = true;
    m_isFollowing = false;
}

bool MetricTree::isInSight(const QModelIndex& index) const {
    const QRect row = visualRect(index);
    return row.isValid() && row.top() >= 0 && row.bottom() < viewport()->height();
}

void MetricTree::showFromTop() {
    const QModelIndex index = currentIndex();
    if (!index.isValid()) {
        return;
    }
    verticalScrollBar()->setValue(0);
    if (!isInSight(index)) {
        scrollTo(index, QAbstractItemView::PositionAtCenter);
    }
}

void MetricTree::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
    QTreeView::currentChanged(current, previous);
    if (!m_isFollowing && current.isValid()) {
        m_keepsInSight = false;
        m_view->select(m_model->scopeAt(current));
    }
}

void MetricTree::followSearch() {
    const std::vector<ScopeId>& matches = m_view->searchResult().outermost();
    const std::size_t shown = std::min<std::size_t>(matches.size(), kSearchRowsOpened);
    for (std::size_t i = 0; i < shown; ++i) {
        reveal(matches[i]);
    }
    viewport()->update();
}

void MetricTree::repaintHovered() {
    const auto repaint = [this](ScopeId scope) {
        if (m_view->profile() == nullptr || scope == ProfileView::kNoScope || scope >= m_view->profile()->scopeCount()) {
            return;
        }
        // A row inside a closed one has no place; asking for it would build it.
        for (QModelIndex above = m_model->indexOf(scope).parent(); above.isValid(); above = above.parent()) {
            if (!isExpanded(above)) {
                return;
            }
        }
        const QRect row = visualRect(m_model->indexOf(scope));
        viewport()->update(0, row.top(), viewport()->width(), row.height());
    };
    repaint(m_hoveredRow);
    m_hoveredRow = m_view->hovered();
    repaint(m_hoveredRow);
}

void MetricTree::setColumnWanted(int column, bool wanted) {
    if (wanted) {
        m_unwanted.erase(column);
    } else {
        m_unwanted.insert(column);
    }
    updateColumns();
}

void MetricTree::updateColumns() {
    // Dropped in this order when there is no room for all; metrics that are not named here go first.
    std::vector<int> order;
    std::vector<int> last;
    for (int column = MetricTreeModel::kFixedColumns; column < m_model->columnCount(); ++column) {
        static constexpr std::array<std::string_view, 4> kKeptLonger = {"activation", "parameters", "flops", "latency"};
        const auto kept = std::find(kKeptLonger.begin(), kKeptLonger.end(), m_model->metricOf(column)->id);
        (kept == kKeptLonger.end() ? order : last).push_back(column);
    }
    std::reverse(last.begin(), last.end());
    order.insert(order.end(), {MetricTreeModel::ClassColumn, MetricTreeModel::ForwardColumn, MetricTreeModel::BackwardColumn});
    order.insert(order.end(), last.begin(), last.end());
    order.insert(order.end(), {MetricTreeModel::OfParentColumn, MetricTreeModel::SelfColumn});
    const auto widthOf = [](int column) {
        return column == MetricTreeModel::ModuleColumn    ? kModuleWidth
               : column == MetricTreeModel::ClassColumn   ? kClassWidth
               : column == MetricTreeModel::DrivingColumn ? kBarWidth
                                                          : kNumberWidth;
    };
    std::vector<bool> isShown(static_cast<std::size_t>(m_model->columnCount()));
    int needed = 0;
    for (int column = 0; column < m_model->columnCount(); ++column) {
        const bool isFixed = column == MetricTreeModel::ModuleColumn || column == MetricTreeModel::DrivingColumn;
        isShown[static_cast<std::size_t>(column)] = m_model->isColumnUseful(column) && (isFixed || isColumnWanted(column));
        needed += isShown[static_cast<std::size_t>(column)] ? widthOf(column) : 0;
    }
    const int room = viewport()->width();
    for (const int column : order) {
        if (needed > room && isShown[static_cast<std::size_t>(column)]) {
            isShown[static_cast<std::size_t>(column)] = false;
            needed -= widthOf(column);
        }
    }
    // The names take the slack; in a narrow window the bars do.
    const bool isNarrow = !isShown[MetricTreeModel::ClassColumn] && isColumnWanted(MetricTreeModel::ClassColumn);
    const int slack = std::max(0, room - needed);
    const int toNames = isNarrow ? std::min(slack, kNarrowModuleWidth - kModuleWidth) : slack;
    for (int column = 0; column < m_model->columnCount(); ++column) {
        header()->setSectionHidden(column, !isShown[static_cast<std::size_t>(column)]);
        const int extra = column == MetricTreeModel::ModuleColumn    ? toNames
                          : column == MetricTreeModel::DrivingColumn ? slack - toNames
                                                                     : 0;
        header()->resizeSection(column, widthOf(column) + extra);
    }
    if (m_sortColumn >= 0 && header()->isSectionHidden(m_sortColumn)) {
        m_sortColumn = -1;
        m_model->sort(-1);
    }
    showSortIndicator();
}

void MetricTree::showSortIndicator() {
    const bool isHeaviest = m_sortColumn < 0 && m_view->order() == ProfileView::Order::Heaviest;
    header()->setSortIndicatorShown(m_sortColumn >= 0 || isHeaviest);
    if (isHeaviest) {
        header()->setSortIndicator(MetricTreeModel::DrivingColumn, Qt::DescendingOrder);
    } else if (m_sortColumn >= 0) {
        header()->setSortIndicator(m_sortColumn, m_sortOrder);
    }
}

void MetricTree::sortByHeader(int column) {
    const bool wasHeaviest = m_sortColumn < 0 && m_view->order() == ProfileView::Order::Heaviest;
    const bool isSame = column == m_sortColumn || (wasHeaviest && column == MetricTreeModel::DrivingColumn);
    const Qt::SortOrder before = m_sortColumn < 0 ? Qt::DescendingOrder : m_sortOrder;
    const bool isText = column <= MetricTreeModel::ClassColumn;
    m_sortOrder = isSame ? (before == Qt::AscendingOrder ? Qt::DescendingOrder : Qt::AscendingOrder)
                         : (isText ? Qt::AscendingOrder : Qt::DescendingOrder);
    m_sortColumn = column;
    if (column == MetricTreeModel::DrivingColumn && m_sortOrder == Qt::DescendingOrder) {
        m_sortColumn = -1;
        m_view->setOrder(ProfileView::Order::Heaviest);
    }
    m_model->sort(m_sortColumn, m_sortOrder);
    showSortIndicator();
}

void MetricTree::showColumnMenu(const QPoint& at) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (int column = 0; column < m_model->columnCount(); ++column) {
        if (column == MetricTreeModel::ModuleColumn || column == MetricTreeModel::DrivingColumn ||
            !m_model->isColumnUseful(column)) {
            continue;
        }
        QAction* action = menu->addAction(m_model->headerData(column, Qt::Horizontal).toString());
        action->setCheckable(true);
        action->setChecked(isColumnWanted(column));
        connect(action, &QAction::toggled, this, [this, column](bool wanted) { setColumnWanted(column, wanted); });
    }
    menu->popup(header()->mapToGlobal(at));
}

void MetricTree::resizeEvent(QResizeEvent* event) {
    QTreeView::resizeEvent(event);
    updateColumns();
    if (m_keepsInSight) {
        showFromTop();
    }
}

void MetricTree::wheelEvent(QWheelEvent* event) {
    m_keepsInSight = false;
    QTreeView::wheelEvent(event);
}

void MetricTree::drawRow(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Theme& theme = Theme::current();
    const bool isSelected = selectionModel()->isSelected(index);
    const QRect row(0, option.rect.top(), viewport()->width(), option.rect.height());
    const bool isHovered = !m_model->isUnattributed(index) && m_view->hovered() == m_model->scopeAt(index);
    painter->fillRect(row, isSelected ? theme.accentSoft : isHovered ? theme.hover : theme.surface);
    QStyleOptionViewItem cell(option);
    cell.state.setFlag(QStyle::State_Selected, isSelected);
    cell.state.setFlag(QStyle::State_Open, isExpanded(index));
    for (int visual = 0; visual < header()->count(); ++visual) {
        const int column = header()->logicalIndex(visual);
        if (header()->isSectionHidden(column)) {
            continue;
        }
        cell.rect =
            QRect(columnViewportPosition(column), option.rect.top(), header()->sectionSize(column), option.rect.height());
        m_delegate->paint(painter, cell, index.siblingAtColumn(column));
    }
    if (isSelected) {
        painter->fillRect(QRect(0, row.top(), 3, row.height()), theme.accent);
    }
}

QModelIndex MetricTree::chevronAt(const QPoint& point) const {
    const QModelIndex index = indexAt(point).siblingAtColumn(0);
    if (!index.isValid() || !m_model->hasChildren(index)) {
        return {};
    }
    const int left = columnViewportPosition(0) + MetricTreeDelegate::chevronLeft(m_model->depthOf(index));
    return point.x() >= left - 4 && point.x() < left + MetricTreeDelegate::kChevron + 2 ? index : QModelIndex();
}

void MetricTree::mousePressEvent(QMouseEvent* event) {
    const QModelIndex chevron = event->button() == Qt::LeftButton ? chevronAt(event->pos()) : QModelIndex();
    if (chevron.isValid()) {
        setExpanded(chevron, !isExpanded(chevron));
        return;
    }
    QTreeView::mousePressEvent(event);
}

void MetricTree::mouseDoubleClickEvent(QMouseEvent* event) {
    if (const QModelIndex chevron = chevronAt(event->pos()); chevron.isValid()) {
        setExpanded(chevron, !isExpanded(chevron));
    } else if (const QModelIndex index = indexAt(event->pos()); index.isValid()) {
        m_view->zoomTo(m_model->scopeAt(index));
    }
}

void MetricTree::mouseMoveEvent(QMouseEvent* event) {
    const QModelIndex index = indexAt(event->pos());
    m_view->hover(m_model->isUnattributed(index) ? ProfileView::kNoScope : m_model->scopeAt(index));
    QTreeView::mouseMoveEvent(event);
}

void MetricTree::leaveEvent(QEvent* event) {
    m_view->hover(ProfileView::kNoScope);
    QTreeView::leaveEvent(event);
}

void MetricTree::keyPressEvent(QKeyEvent* event) {
    const ScopeId selected = m_view->selection();
    if (event->matches(QKeySequence::Copy) && selected != ProfileView::kNoScope) {
        QGuiApplication::clipboard()->setText(QString::fromStdString(profile::markdown(*m_view->profile(), selected, 1)));
        return;
    }
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && selected != ProfileView::kNoScope) {
        m_view->zoomTo(selected);
        return;
    }
    if (event->key() == Qt::Key_Backspace && m_view->zoomRoot() != 0) {
        m_view->zoomUp();
        return;
    }
    QTreeView::keyPressEvent(event);
}

void MetricTree::contextMenuEvent(QContextMenuEvent* event) {
    const QModelIndex index = event->reason() == QContextMenuEvent::Keyboard ? currentIndex() : indexAt(event->pos());
    if (!index.isValid()) {
        return;
    }
    setCurrentIndex(index);
    QMenu* menu = makeScopeMenu(m_view, m_model->scopeAt(index), this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(event->reason() == QContextMenuEvent::Keyboard ? viewport()->mapToGlobal(visualRect(index).bottomLeft())
                                                               : event->globalPos());
}

} // namespace modulelens::widgets
