// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/TensorTableModel.h"

#include "backend/operations/Operations.h"
#include "models/Format.h"
#include "models/TableCells.h"

#include <algorithm>

namespace modulelens::models {

namespace {

using operations::TensorStatistics;

bool isOutput(const TensorStatistics& tensor) {
    return tensor.pointer.rfind("/output", 0) == 0;
}

QString real(const std::optional<double>& value) {
    return value ? formatReal(*value) : notApplicable();
}

QString shortType(capture::ScalarType type) {
    const std::string_view name = capture::scalarTypeName(type);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

} // namespace

QString tensorName(const std::string& pointer) {
    QStringList parts = QString::fromStdString(pointer).split(u'/', Qt::SkipEmptyParts);
    QString name;
    bool afterTree = false;
    for (qsizetype i = 0; i < parts.size(); ++i) {
        QString part = parts[i];
        part.replace(QStringLiteral("~1"), QStringLiteral("/")).replace(QStringLiteral("~0"), QStringLiteral("~"));
        if (i == 0 && part == QStringLiteral("kwargs") && parts.size() > 1) {
            continue;
        }
        // "v" only says that what follows is inside an encoded value.
        if (part == QStringLiteral("v") && i > 0 && !afterTree) {
            afterTree = true;
            continue;
        }
        afterTree = false;
        bool isNumber = false;
        part.toInt(&isNumber);
        if (isNumber) {
            name += u'[' + part + u']';
        } else {
            name += (name.isEmpty() ? QString() : QStringLiteral(".")) + part;
        }
    }
    return name;
}

TensorTableModel::TensorTableModel(QObject* parent) : QAbstractTableModel(parent) {}

TensorTableModel::~TensorTableModel() = default;

void TensorTableModel::setTensors(std::vector<TensorStatistics> tensors) {
    beginResetModel();
    m_tensors = std::move(tensors);
    m_rows.clear();
    for (const bool outputs : {false, true}) {
        Row heading;
        std::vector<Row> rows;
        for (std::size_t i = 0; i < m_tensors.size(); ++i) {
            if (isOutput(m_tensors[i]) == outputs) {
                rows.push_back({QString(), static_cast<int>(i)});
            }
        }
        heading.heading = (outputs ? tr("Outputs  ") : tr("Inputs  ")) + QString::number(rows.size());
        if (!rows.empty()) {
            m_rows.push_back(heading);
            m_rows.insert(m_rows.end(), rows.begin(), rows.end());
        }
    }
    endResetModel();
}

void TensorTableModel::setNames(const QHash<QString, QString>& names) {
    m_names = names;
    if (!m_rows.empty()) {
        emit dataChanged(index(0, NameColumn), index(rowCount() - 1, NameColumn));
    }
}

QString TensorTableModel::nameOf(const std::string& pointer) const {
    const auto found = m_names.constFind(QString::fromStdString(pointer));
    return found == m_names.constEnd() ? tensorName(pointer) : *found;
}

const TensorStatistics* TensorTableModel::tensorAt(int row) const {
    if (row < 0 || row >= rowCount() || m_rows[static_cast<std::size_t>(row)].tensor < 0) {
        return nullptr;
    }
    return &m_tensors[static_cast<std::size_t>(m_rows[static_cast<std::size_t>(row)].tensor)];
}

int TensorTableModel::tensorCount() const {
    return static_cast<int>(m_tensors.size());
}

int TensorTableModel::nanTensorCount() const {
    return static_cast<int>(
        std::count_if(m_tensors.begin(), m_tensors.end(), [](const TensorStatistics& t) { return t.nanCount > 0; }));
}

int TensorTableModel::infiniteTensorCount() const {
    return static_cast<int>(
        std::count_if(m_tensors.begin(), m_tensors.end(), [](const TensorStatistics& t) { return t.infiniteCount > 0; }));
}

QString TensorTableModel::firstNanTensor() const {
    for (const TensorStatistics& tensor : m_tensors) {
        if (tensor.nanCount > 0) {
            return nameOf(tensor.pointer);
        }
    }
    return {};
}

int TensorTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int TensorTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

QString TensorTableModel::text(const TensorStatistics& tensor, int column) const {
    switch (column) {
        case NameColumn:
            return nameOf(tensor.pointer);
        case ShapeColumn:
            return formatShape(tensor.tensor.shape);
        case TypeColumn:
            return shortType(tensor.tensor.dtype);
        case SizeColumn:
            return formatBytes(tensor.tensor.viewBytes());
        case MinColumn:
            return real(tensor.minimum);
        case MeanColumn:
            return real(tensor.mean);
        case MaxColumn:
            return real(tensor.maximum);
        case DeviationColumn:
            return real(tensor.standardDeviation);
        case ZeroColumn:
            return tensor.elements > 0 && tensor.gap.empty()
                       ? formatShare(static_cast<double>(tensor.zeroCount) / static_cast<double>(tensor.elements))
                       : notApplicable();
        case SpecialColumn:
            if (!tensor.gap.empty()) {
                return notCaptured();
            }
            return tensor.nanCount == 0 && tensor.infiniteCount == 0 ? tr("none") : QString();
        default:
            return {};
    }
}

QVariant TensorTableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    const int column = index.column();
    if (row.tensor < 0) {
        if (role == GroupRole) {
            return true;
        }
        return role == Qt::DisplayRole && column == NameColumn ? QVariant(row.heading) : QVariant();
    }
    const TensorStatistics& tensor = m_tensors[static_cast<std::size_t>(row.tensor)];
    const bool isNumber = column >= SizeColumn && column <= ZeroColumn;
    switch (role) {
        case Qt::DisplayRole:
            return text(tensor, column);
        case Qt::ToolTipRole:
            return column == SpecialColumn && !tensor.gap.empty() ? QVariant(QString::fromStdString(tensor.gap))
                   : column == NameColumn                         ? QVariant(QString::fromStdString(tensor.pointer))
                                                                  : QVariant();
        case Qt::TextAlignmentRole:
            return static_cast<int>(isNumber ? Qt::AlignRight : Qt::AlignLeft);
        case NumberRole:
            return isNumber;
        case MonospaceRole:
            return column == ShapeColumn;
        case ToneRole:
            return static_cast<int>(column == ShapeColumn || column == TypeColumn || column == SpecialColumn ? Tone::Secondary
                                                                                                             : Tone::Normal);
        case HistogramRole:
            if (column == SpreadColumn) {
                QList<qint64> bins;
                for (const std::int64_t bin : tensor.histogram) {
                    bins.append(bin);
                }
                return QVariant::fromValue(bins);
            }
            return {};
        case ChipsRole:
            if (column == SpecialColumn) {
                CellChips chips;
                if (tensor.nanCount > 0) {
                    chips.append({formatCount(tensor.nanCount) + tr(" NaN"), Tone::Bad});
                }
                if (tensor.infiniteCount > 0) {
                    chips.append({formatCount(tensor.infiniteCount) + tr(" Inf"), Tone::Warning});
                }
                return QVariant::fromValue(chips);
            }
            return {};
        default:
            return {};
    }
}

QVariant TensorTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        const bool isNumber = section >= SizeColumn && section <= ZeroColumn;
        return static_cast<int>((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    static const QStringList titles = {tr("Tensor"), tr("Shape"), tr("Type"), tr("Size"),   tr("Min"),     tr("Mean"),
                                       tr("Max"),    tr("Std"),   tr("Zero"), tr("Spread"), tr("NaN, Inf")};
    return titles.value(section);
}

Qt::ItemFlags TensorTableModel::flags(const QModelIndex& index) const {
    if (!index.isValid() || tensorAt(index.row()) == nullptr) {
        return Qt::NoItemFlags;
    }
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
}

} // namespace modulelens::models
