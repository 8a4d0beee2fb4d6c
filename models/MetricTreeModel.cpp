// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/MetricTreeModel.h"

#include "models/Format.h"

#include <algorithm>
#include <cmath>

namespace modulelens::models {

using profile::ChildOrder;
using profile::ScopeId;
using profile::ScopeKind;

namespace {

QString fromView(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

constexpr QChar kNoBreakSpace(0x00A0);
constexpr QChar kEnDash(0x2013);

/// "0, 1, 3–5" of numbers, in their order; other names as they come.
QString namesText(const QStringList& names) {
    std::vector<int> numbers;
    numbers.reserve(static_cast<std::size_t>(names.size()));
    for (const QString& name : names) {
        bool isNumber = false;
        numbers.push_back(name.toInt(&isNumber));
        if (!isNumber) {
            return names.join(QStringLiteral(", "));
        }
    }
    std::sort(numbers.begin(), numbers.end());
    QStringList parts;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
            ++end;
        }
        if (end - i >= 3) {
            parts.append(QString::number(numbers[i]) + kEnDash + QString::number(numbers[end - 1]));
        } else {
            for (std::size_t k = i; k < end; ++k) {
                parts.append(QString::number(numbers[k]));
            }
        }
        i = end;
    }
    return parts.join(QStringLiteral(", "));
}

} // namespace

MetricTreeModel::MetricTreeModel(ProfileView* view, QObject* parent) : QAbstractItemModel(parent), m_view(view) {
    connect(view, &ProfileView::profileChanged, this, &MetricTreeModel::reset);
    connect(view, &ProfileView::valuesChanged, this, &MetricTreeModel::resort);
    connect(view, &ProfileView::orderChanged, this, &MetricTreeModel::resort);
    reset();
}

MetricTreeModel::~MetricTreeModel() = default;

void MetricTreeModel::reset() {
    beginResetModel();
    m_profile = m_view->profile();
    rebuild();
    endResetModel();
}

void MetricTreeModel::rebuild() {
    m_folds.reset();
    m_order = makeOrder();
    if (m_order != nullptr) {
        m_folds = std::make_unique<SiblingFolds>(m_profile, *m_order, m_view->hotspot());
    }
}

void MetricTreeModel::resort() {
    if (m_profile == nullptr) {
        return;
    }
    emit layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
    rebuild();
    const QModelIndexList before = persistentIndexList();
    QModelIndexList after;
    after.reserve(before.size());
    for (const QModelIndex& index : before) {
        const ScopeId scope = scopeAt(index);
        if (isUnattributed(index)) {
            after += createIndex(static_cast<int>(m_folds->rows(scope).size()), index.column(), index.internalId());
        } else if (isFold(index)) {
            // Gone when its siblings are no fold any more, since one of them is the heaviest now.
            const SiblingFolds::Place place = m_folds->placeOf(scope);
            const bool isStillThere =
                place.member >= 0 &&
                m_folds->rows(m_profile->parent(scope))[static_cast<std::size_t>(place.row)].scope == scope;
            after += isStillThere ? createIndex(place.row, index.column(), index.internalId()) : QModelIndex();
        } else {
            after += indexOf(scope, index.column());
        }
    }
    changePersistentIndexList(before, after);
    emit layoutChanged({}, QAbstractItemModel::VerticalSortHint);
    emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

void MetricTreeModel::sort(int column, Qt::SortOrder order) {
    if (column >= columnCount() || (column == m_sortColumn && order == m_sortOrder)) {
        return;
    }
    m_sortColumn = column;
    m_sortOrder = order;
    resort();
}

std::unique_ptr<ChildOrder> MetricTreeModel::makeOrder() const {
    if (m_profile == nullptr) {
        return nullptr;
    }
    const int column = m_sortColumn;
    const bool isDescending = m_sortOrder == Qt::DescendingOrder;
    const bool followsView = column < 0;
    if (followsView && m_view->order() == ProfileView::Order::Time) {
        return std::make_unique<ChildOrder>(m_profile);
    }
    if (column == ModuleColumn || column == ClassColumn) {
        return std::make_unique<ChildOrder>(m_profile, [this, column, isDescending](ScopeId left, ScopeId right) {
            const int sign = QString::compare(text(left, false, column), text(right, false, column), Qt::CaseInsensitive);
            return isDescending ? sign > 0 : sign < 0;
        });
    }
    const int by = followsView ? static_cast<int>(DrivingColumn) : column;
    const bool descending = followsView || isDescending;
    return std::make_unique<ChildOrder>(m_profile, [this, by, descending](ScopeId left, ScopeId right) {
        const bool isRest = m_profile->kind(left) == ScopeKind::Unattributed;
        if (isRest != (m_profile->kind(right) == ScopeKind::Unattributed)) {
            return !isRest;
        }
        const std::optional<std::int64_t> a = number(left, false, by);
        const std::optional<std::int64_t> b = number(right, false, by);
        if (a.has_value() != b.has_value()) {
            return a.has_value();
        }
        return descending ? a > b : a < b;
    });
}

bool MetricTreeModel::hasUnattributed(ScopeId scope) const {
    if (!m_profile->hasChildren(scope) || m_profile->kind(scope) != ScopeKind::Module) {
        return false;
    }
    const auto columns = m_profile->columns();
    return std::any_of(columns.begin(), columns.end(), [&](const profile::Column& column) {
        return column.self[static_cast<std::size_t>(scope)] > 0 &&
               profile::findMetric(column.metric)->combine == profile::Combine::Sum;
    });
}

// An index holds the scope id; "not in any child" of a scope holds scope id + number of scopes; a row for equal siblings the
// scope id of the first + twice the number of scopes.

ScopeId MetricTreeModel::scopeAt(const QModelIndex& index) const {
    if (!index.isValid() || m_profile == nullptr) {
        return ProfileView::kNoScope;
    }
    const auto id = static_cast<std::int64_t>(index.internalId());
    const std::int64_t count = m_profile->scopeCount();
    return static_cast<ScopeId>(id % count);
}

bool MetricTreeModel::isUnattributed(const QModelIndex& index) const {
    return index.isValid() && m_profile != nullptr &&
           static_cast<std::int64_t>(index.internalId()) / m_profile->scopeCount() == 1;
}

bool MetricTreeModel::isFold(const QModelIndex& index) const {
    return index.isValid() && m_profile != nullptr &&
           static_cast<std::int64_t>(index.internalId()) / m_profile->scopeCount() == 2;
}

const std::vector<ScopeId>& MetricTreeModel::foldedAt(const QModelIndex& index) const {
    static const std::vector<ScopeId> kNone;
    if (!isFold(index)) {
        return kNone;
    }
    const ScopeId scope = scopeAt(index);
    return m_folds->rows(m_profile->parent(scope))[static_cast<std::size_t>(m_folds->placeOf(scope).row)].members;
}

int MetricTreeModel::depthOf(const QModelIndex& index) const {
    int depth = 0;
    for (QModelIndex above = index.parent(); above.isValid(); above = above.parent()) {
        ++depth;
    }
    return depth;
}

QModelIndex MetricTreeModel::indexOf(ScopeId scope, int column) const {
    if (m_profile == nullptr || scope < 0 || scope >= m_profile->scopeCount()) {
        return {};
    }
    const SiblingFolds::Place place = m_folds->placeOf(scope);
    return createIndex(place.member >= 0 ? place.member : place.row, column, static_cast<quintptr>(scope));
}

QModelIndex MetricTreeModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) {
        return {};
    }
    if (!parent.isValid()) {
        return createIndex(0, column, quintptr(0));
    }
    if (isFold(parent)) {
        return createIndex(row, column, static_cast<quintptr>(foldedAt(parent)[static_cast<std::size_t>(row)]));
    }
    const ScopeId scope = scopeAt(parent);
    const std::vector<SiblingFolds::Row>& rows = m_folds->rows(scope);
    if (static_cast<std::size_t>(row) < rows.size()) {
        const SiblingFolds::Row& found = rows[static_cast<std::size_t>(row)];
        const qint64 offset = found.members.empty() ? 0 : 2 * static_cast<qint64>(m_profile->scopeCount());
        return createIndex(row, column, static_cast<quintptr>(found.scope + offset));
    }
    return createIndex(row, column, static_cast<quintptr>(scope) + static_cast<quintptr>(m_profile->scopeCount()));
}

QModelIndex MetricTreeModel::parent(const QModelIndex& index) const {
    if (!index.isValid()) {
        return {};
    }
    const ScopeId scope = scopeAt(index);
    if (isUnattributed(index)) {
        return indexOf(scope);
    }
    const ScopeId above = m_profile->parent(scope);
    if (above < 0 || isFold(index)) {
        return indexOf(above);
    }
    const SiblingFolds::Place place = m_folds->placeOf(scope);
    if (place.member < 0) {
        return indexOf(above);
    }
    const ScopeId first = m_folds->rows(above)[static_cast<std::size_t>(place.row)].scope;
    return createIndex(place.row, 0, static_cast<quintptr>(first + 2 * static_cast<qint64>(m_profile->scopeCount())));
}

int MetricTreeModel::rowCount(const QModelIndex& parent) const {
    if (m_profile == nullptr || parent.column() > 0) {
        return 0;
    }
    if (!parent.isValid()) {
        return 1;
    }
    if (isUnattributed(parent)) {
        return 0;
    }
    if (isFold(parent)) {
        return static_cast<int>(foldedAt(parent).size());
    }
    const ScopeId scope = scopeAt(parent);
    return static_cast<int>(m_folds->rows(scope).size()) + (hasUnattributed(scope) ? 1 : 0);
}

bool MetricTreeModel::hasChildren(const QModelIndex& parent) const {
    if (m_profile == nullptr || parent.column() > 0) {
        return false;
    }
    return !parent.isValid() || isFold(parent) || (!isUnattributed(parent) && m_profile->hasChildren(scopeAt(parent)));
}

int MetricTreeModel::columnCount(const QModelIndex&) const {
    return kFixedColumns + static_cast<int>(profile::knownMetrics().size());
}

const profile::Metric* MetricTreeModel::metricOf(int column) const {
    const int at = column - kFixedColumns;
    const auto metrics = profile::knownMetrics();
    return at < 0 || at >= static_cast<int>(metrics.size()) ? nullptr : &metrics[static_cast<std::size_t>(at)];
}

bool MetricTreeModel::isColumnUseful(int column) const {
    if (column == ForwardColumn || column == BackwardColumn) {
        return m_view->forwardColumn() != nullptr && m_view->backwardColumn() != nullptr;
    }
    if (column == SelfColumn || column == OfParentColumn) {
        return m_view->isKnown();
    }
    if (const profile::Metric* metric = metricOf(column)) {
        return metric->id != m_view->metric() && m_profile != nullptr && m_view->totalOf(metric->id, 0).has_value();
    }
    return true;
}

std::optional<std::int64_t> MetricTreeModel::drivingValue(const QModelIndex& index) const {
    return index.isValid() ? number(index.siblingAtColumn(DrivingColumn)) : std::nullopt;
}

std::optional<std::int64_t> MetricTreeModel::number(ScopeId scope, bool isUnattributed, int column) const {
    const auto valueIn = [&](const profile::Column* values) -> std::optional<std::int64_t> {
        if (values == nullptr) {
            return std::nullopt;
        }
        const bool isSelf = isUnattributed || m_view->share() == ProfileView::Share::Self;
        const std::int64_t value = (isSelf ? values->self : values->total)[static_cast<std::size_t>(scope)];
        return value == profile::kUnknown ? std::nullopt : std::optional(value);
    };
    switch (column) {
        case DrivingColumn:
            return isUnattributed ? m_view->self(scope) : m_view->value(scope);
        case SelfColumn:
            return m_view->self(scope);
        case OfParentColumn: {
            // In millionths, so that rows of one parent sort as their values do.
            const ScopeId parent = isUnattributed ? scope : m_profile->parent(scope);
            const std::optional<std::int64_t> own = isUnattributed ? m_view->self(scope) : m_view->total(scope);
            const std::optional<std::int64_t> whole = parent < 0 ? own : m_view->total(parent);
            if (!own || !whole || *whole <= 0 || !m_view->givesWidths()) {
                return std::nullopt;
            }
            return std::llround(1e6 * static_cast<double>(*own) / static_cast<double>(*whole));
        }
        case ForwardColumn:
            return valueIn(m_view->forwardColumn());
        case BackwardColumn:
            return valueIn(m_view->backwardColumn());
        default:
            break;
    }
    const profile::Metric* metric = metricOf(column);
    if (metric == nullptr || isUnattributed) {
        return std::nullopt;
    }
    return m_view->totalOf(metric->id, scope);
}

std::optional<std::int64_t> MetricTreeModel::number(const QModelIndex& index) const {
    const std::vector<ScopeId>& folded = foldedAt(index);
    if (folded.empty()) {
        return number(scopeAt(index), isUnattributed(index), index.column());
    }
    const profile::Metric* metric = metricOf(index.column());
    metric = metric == nullptr ? profile::findMetric(m_view->metric()) : metric;
    const bool isGreatest = metric != nullptr && metric->combine == profile::Combine::Max;
    std::int64_t all = 0;
    for (const ScopeId scope : folded) {
        const std::optional<std::int64_t> value = number(scope, false, index.column());
        if (!value) {
            return std::nullopt;
        }
        all = isGreatest ? std::max(all, *value) : all + *value;
    }
    return all;
}

QString MetricTreeModel::foldedText(const QModelIndex& index) const {
    if (index.column() == ModuleColumn) {
        QStringList names;
        for (const ScopeId scope : foldedAt(index)) {
            names.append(m_view->displayName(scope));
        }
        return namesText(names);
    }
    return index.column() == ClassColumn ? text(scopeAt(index), false, ClassColumn)
                                         : textOf(number(index), scopeAt(index), index.column());
}

QString MetricTreeModel::spreadText(const QModelIndex& index) const {
    const std::vector<ScopeId>& folded = foldedAt(index);
    const profile::Metric* metric = profile::findMetric(m_view->metric());
    std::optional<std::int64_t> least;
    std::int64_t most = 0;
    for (const ScopeId scope : folded) {
        const std::optional<std::int64_t> value = number(scope, false, DrivingColumn);
        if (!value || metric == nullptr) {
            return {};
        }
        least = std::min(least.value_or(*value), *value);
        most = std::max(most, *value);
    }
    if (!least) {
        return {};
    }
    const QString from = formatMetric(metric->unit, *least);
    QString to = formatMetric(metric->unit, most);
    if (from == to) {
        return to;
    }
    // One unit is enough where both have the same.
    const qsizetype unit = to.lastIndexOf(kNoBreakSpace);
    const bool isSameUnit = unit >= 0 && from.endsWith(to.mid(unit));
    return (isSameUnit ? from.left(from.size() - (to.size() - unit)) : from) + kEnDash + to;
}

QString MetricTreeModel::text(ScopeId scope, bool isUnattributed, int column) const {
    switch (column) {
        case ModuleColumn:
            return isUnattributed ? tr("not in any child") : m_view->displayName(scope);
        case ClassColumn:
            if (isUnattributed) {
                return {};
            }
            return m_profile->kind(scope) == ScopeKind::Operator ? tr("operator") : bareClassName(m_profile->className(scope));
        default:
            break;
    }
    if (metricOf(column) != nullptr && isUnattributed) {
        return notApplicable();
    }
    return textOf(number(scope, isUnattributed, column), scope, column);
}

/// A number of `column` as it is shown for a scope of this kind.
QString MetricTreeModel::textOf(std::optional<std::int64_t> value, ScopeId scope, int column) const {
    if (column == OfParentColumn) {
        return value ? formatShare(static_cast<double>(*value) / 1e6) : notApplicable();
    }
    const profile::Metric* metric = metricOf(column);
    const bool isParameter = (metric != nullptr ? metric->id : m_view->metric()) == "parameters";
    if (metric == nullptr) {
        metric = profile::findMetric(m_view->metric());
    }
    const ScopeKind kind = m_profile->kind(scope);
    if (value.value_or(0) == 0 && ((isParameter && kind == ScopeKind::Operator) || kind == ScopeKind::Unattributed)) {
        return notApplicable();
    }
    return value ? formatMetric(metric->unit, *value) : notCaptured();
}

QVariant MetricTreeModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) {
        return {};
    }
    const ScopeId scope = scopeAt(index);
    const int column = index.column();
    switch (role) {
        case Qt::DisplayRole:
            return isFold(index) ? foldedText(index) : text(scope, isUnattributed(index), column);
        case Qt::TextAlignmentRole:
            return QVariant((column <= ClassColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
        case Qt::ToolTipRole:
            return isFold(index) && column == ModuleColumn
                       ? QVariant(foldedText(index) + u'\n' + tr("%1 each").arg(spreadText(index)))
                   : column == ModuleColumn ? fromView(m_profile->path(scope))
                   : column == ClassColumn  ? fromView(m_profile->className(scope))
                                            : QVariant();
        case Qt::AccessibleTextRole:
            return QString(headerData(column, Qt::Horizontal).toString() + u' ' + index.data().toString());
        case SortRole:
            if (column <= ClassColumn) {
                return index.data();
            }
            if (const auto value = number(index)) {
                return QVariant::fromValue<qlonglong>(*value);
            }
            return {};
        case ScopeRole:
            return scope;
        case SpreadRole:
            return isFold(index) ? QVariant(spreadText(index)) : QVariant();
        default:
            return {};
    }
}

QVariant MetricTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return QVariant((section <= DrivingColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    switch (section) {
        case ModuleColumn:
            return tr("Module");
        case ClassColumn:
            return tr("Class");
        case DrivingColumn:
            return m_view->share() == ProfileView::Share::Self ? tr("%1, self").arg(metricTitle(m_view->metric()))
                                                               : tr("%1, total").arg(metricTitle(m_view->metric()));
        case SelfColumn:
            return tr("Self");
        case OfParentColumn:
            return tr("Of parent");
        case ForwardColumn:
            return tr("Forward");
        case BackwardColumn:
            return tr("Backward");
        default:
            break;
    }
    const profile::Metric* metric = metricOf(section);
    return metric == nullptr ? QVariant() : QVariant(metricTitle(metric->id));
}

Qt::ItemFlags MetricTreeModel::flags(const QModelIndex& index) const {
    Qt::ItemFlags flags = QAbstractItemModel::flags(index);
    if (index.isValid() && (isUnattributed(index) || (!isFold(index) && !m_profile->hasChildren(scopeAt(index))))) {
        flags |= Qt::ItemNeverHasChildren;
    }
    return flags;
}

} // namespace modulelens::models
