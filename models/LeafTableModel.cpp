// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/LeafTableModel.h"

#include "backend/protocol/WorkerMessages.h"
#include "models/Format.h"
#include "models/TableCells.h"
#include "models/TensorTableModel.h"

#include <algorithm>

namespace modulelens::models {

namespace {

using protocol::LeafResult;

CellChip verdictChip(const LeafResult& leaf) {
    if (leaf.verdict == "exact") {
        return {LeafTableModel::tr("Bit-exact"), Tone::Good};
    }
    if (leaf.verdict == "close") {
        return {LeafTableModel::tr("Within tolerance"), Tone::Good};
    }
    if (leaf.verdict == "fail") {
        return {LeafTableModel::tr("Drifts"), Tone::Bad};
    }
    return {LeafTableModel::tr("Not comparable"), Tone::Warning};
}

QString real(const std::optional<double>& value) {
    return value ? formatReal(*value) : notApplicable();
}

bool isWorse(const LeafResult& a, const LeafResult& b) {
    const auto rank = [](const LeafResult& leaf) {
        return leaf.verdict == "fail" ? 2 : leaf.verdict == "not_comparable" ? 1 : 0;
    };
    if (rank(a) != rank(b)) {
        return rank(a) > rank(b);
    }
    if (a.mismatched != b.mismatched) {
        return a.mismatched > b.mismatched;
    }
    return a.maxAbsDiff.value_or(0) > b.maxAbsDiff.value_or(0);
}

} // namespace

LeafTableModel::LeafTableModel(QObject* parent) : QAbstractTableModel(parent) {}

LeafTableModel::~LeafTableModel() = default;

void LeafTableModel::setLeaves(std::vector<LeafResult> leaves) {
    beginResetModel();
    m_leaves = std::move(leaves);
    endResetModel();
}

void LeafTableModel::setNames(const QHash<QString, QString>& names) {
    m_names = names;
    if (!m_leaves.empty()) {
        emit dataChanged(index(0, NameColumn), index(rowCount() - 1, NameColumn));
    }
}

QString LeafTableModel::nameOf(const std::string& pointer) const {
    const auto found = m_names.constFind(QString::fromStdString(pointer));
    return found == m_names.constEnd() ? tensorName(pointer) : *found;
}

const LeafResult* LeafTableModel::leafAt(int row) const {
    return row < 0 || row >= rowCount() ? nullptr : &m_leaves[static_cast<std::size_t>(row)];
}

int LeafTableModel::worstRow() const {
    const auto worst = std::min_element(m_leaves.begin(), m_leaves.end(), isWorse);
    return worst == m_leaves.end() ? -1 : static_cast<int>(worst - m_leaves.begin());
}

int LeafTableModel::failedCount() const {
    return static_cast<int>(
        std::count_if(m_leaves.begin(), m_leaves.end(), [](const LeafResult& l) { return l.verdict == "fail"; }));
}

int LeafTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_leaves.size());
}

int LeafTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

QVariant LeafTableModel::data(const QModelIndex& index, int role) const {
    const LeafResult* leaf = leafAt(index.row());
    if (leaf == nullptr) {
        return {};
    }
    const int column = index.column();
    const bool isNumber = column >= AbsoluteColumn;
    switch (role) {
        case Qt::DisplayRole:
            switch (column) {
                case NameColumn:
                    return nameOf(leaf->pointer);
                case ShapeColumn:
                    return formatShape(leaf->shape);
                case TypeColumn:
                    return QString::fromStdString(leaf->dtype);
                case AbsoluteColumn:
                    return real(leaf->maxAbsDiff);
                case RelativeColumn:
                    return real(leaf->maxRelDiff);
                case UlpColumn:
                    return leaf->statistics.maxUlp ? formatCount(*leaf->statistics.maxUlp) : notApplicable();
                case CosineColumn:
                    return real(leaf->statistics.cosine);
                case MismatchedColumn:
                    return formatCount(leaf->mismatched);
                default:
                    return {};
            }
        case Qt::AccessibleTextRole:
            return column == VerdictColumn ? QVariant(verdictChip(*leaf).text) : data(index, Qt::DisplayRole);
        case Qt::ToolTipRole:
            return leaf->reason.empty() ? QVariant() : QVariant(QString::fromStdString(leaf->reason));
        case Qt::TextAlignmentRole:
            return static_cast<int>(isNumber ? Qt::AlignRight : Qt::AlignLeft);
        case NumberRole:
            return isNumber;
        case MonospaceRole:
            return column == ShapeColumn;
        case ToneRole:
            return static_cast<int>(column == ShapeColumn || column == TypeColumn ? Tone::Secondary
                                    : leaf->verdict == "fail" && isNumber         ? Tone::Bad
                                                                                  : Tone::Normal);
        case ChipsRole:
            return column == VerdictColumn ? QVariant::fromValue(CellChips{verdictChip(*leaf)}) : QVariant();
        default:
            return {};
    }
}

QVariant LeafTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return static_cast<int>((section >= AbsoluteColumn ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    static const QStringList titles = {tr("Output"),  tr("Shape"),   tr("Type"),   tr("Verdict"), tr("Max abs"),
                                       tr("Max rel"), tr("Max ULP"), tr("Cosine"), tr("Outside")};
    return role == Qt::DisplayRole ? QVariant(titles.value(section)) : QVariant();
}

} // namespace modulelens::models
