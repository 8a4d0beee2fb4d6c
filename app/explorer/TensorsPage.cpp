// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/TensorsPage.h"

#include "app/explorer/Session.h"
#include "models/Format.h"
#include "widgets/Banner.h"
#include "widgets/EmptyState.h"
#include "widgets/Fonts.h"
#include "widgets/KeyValueList.h"
#include "widgets/SegmentedControl.h"
#include "widgets/Theme.h"
#include "widgets/ValueTable.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace modulelens::explorer {

namespace {

using operations::TensorStatistics;
using widgets::Theme;

QString noteWithoutNan(int tensors, int withInfinity) {
    const QString counted =
        models::formatCount(tensors) + (tensors == 1 ? QObject::tr(" captured tensor") : QObject::tr(" captured tensors"));
    if (withInfinity == 0) {
        return counted + (tensors == 1 ? QObject::tr(", all finite.") : QObject::tr(", all finite where they were kept."));
    }
    return counted + QObject::tr(", none with NaN, ") + models::formatCount(withInfinity) + QObject::tr(" with Inf.");
}

constexpr int kSideWidth = 320;
constexpr int kSideFrom = 1080; ///< A narrower page gives its width to the table.
constexpr int kGreatestCallsShown = 8;

} // namespace

/// Histogram of the selected tensor on a log count axis, with columns of their own for Inf and NaN.
class TensorsPage::Histogram : public QWidget {
public:
    explicit Histogram(QWidget* parent) : QWidget(parent) {
        setFixedHeight(220);
        setAccessibleName(tr("Histogram of the selected tensor"));
    }

    void setTensor(const TensorStatistics* tensor) {
        m_bins = tensor == nullptr ? std::vector<std::int64_t>() : tensor->histogram;
        m_minimum = tensor == nullptr ? std::nullopt : tensor->minimum;
        m_maximum = tensor == nullptr ? std::nullopt : tensor->maximum;
        m_infinite = tensor == nullptr ? 0 : tensor->infiniteCount;
        m_nan = tensor == nullptr ? 0 : tensor->nanCount;
        update();
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& t = Theme::current();
        QPainter painter(this);
        widgets::drawText(painter, QRectF(16, 8, width() - 32, 20), tr("Histogram"), widgets::uiFont(13, QFont::DemiBold),
                          t.text);
        if (m_bins.empty()) {
            widgets::drawText(painter, QRectF(16, 32, width() - 32, 20), tr("no finite values to show"), widgets::uiFont(12),
                              t.text2);
            return;
        }
        const std::int64_t highest =
            std::max({*std::max_element(m_bins.begin(), m_bins.end()), m_infinite, m_nan, std::int64_t{1}});
        const double top = 40;
        const double bottom = height() - 40;
        const double left = 52;
        const double specials = 72;
        const double right = width() - 16 - specials;
        const int decades = std::max(1, static_cast<int>(std::ceil(std::log10(static_cast<double>(highest) + 1))));
        const auto heightOf = [&](std::int64_t count) {
            return count <= 0 ? 0 : std::max(1.0, std::log10(static_cast<double>(count) + 1) / decades * (bottom - top));
        };
        const int step = decades > 4 ? 2 : 1;
        for (int decade = 0; decade <= decades; decade += step) {
            const double y = bottom - static_cast<double>(decade) / decades * (bottom - top);
            painter.fillRect(QRectF(left, y, width() - 16 - left, 1), t.grid);
            widgets::drawText(
                painter, QRectF(0, y - 8, left - 8, 16),
                decade == 0 ? QStringLiteral("0") : models::formatFlops(static_cast<std::int64_t>(std::pow(10.0, decade))),
                widgets::uiFont(11), t.text2, Qt::AlignRight);
        }
        const double wide = (right - left) / static_cast<double>(m_bins.size());
        for (std::size_t i = 0; i < m_bins.size(); ++i) {
            const double high = heightOf(m_bins[i]);
            painter.fillRect(QRectF(left + wide * static_cast<double>(i), bottom - high, std::max(1.0, wide - 1), high), t.bar);
        }
        painter.fillRect(QRectF(right + 8, top - 8, 1, bottom - top + 8), t.line);
        const double column = (specials - 20) / 2;
        const auto special = [&](double x, std::int64_t count, const QString& name, const QColor& colour) {
            const double high = heightOf(count);
            painter.fillRect(QRectF(x + 4, bottom - high, column - 8, high), colour);
            if (count == 0) {
                widgets::drawText(painter, QRectF(x, bottom - 18, column, 16), QStringLiteral("0"), widgets::uiFont(11),
                                  t.text2, Qt::AlignHCenter);
            }
            widgets::drawText(painter, QRectF(x, bottom + 4, column, 16), name,
                              widgets::uiFont(11, count > 0 ? QFont::DemiBold : QFont::Normal), count > 0 ? colour : t.text2,
                              Qt::AlignHCenter);
        };
        special(right + 14, m_infinite, tr("Inf"), t.warn);
        special(right + 14 + column, m_nan, tr("NaN"), t.bad);
        painter.fillRect(QRectF(left, bottom, width() - 16 - left, 1), t.line2);
        const QFont axis = widgets::uiFont(11);
        widgets::drawText(painter, QRectF(left, bottom + 4, 100, 16), m_minimum ? models::formatReal(*m_minimum) : QString(),
                          axis, t.text2);
        widgets::drawText(painter, QRectF(right - 100, bottom + 4, 100, 16),
                          m_maximum ? models::formatReal(*m_maximum) : QString(), axis, t.text2, Qt::AlignRight);
        widgets::drawText(painter, QRectF(left, bottom + 20, right - left, 16), tr("value; count on a log axis"), axis, t.text3,
                          Qt::AlignHCenter);
    }

private:
    std::vector<std::int64_t> m_bins;
    std::optional<double> m_minimum;
    std::optional<double> m_maximum;
    std::int64_t m_infinite = 0;
    std::int64_t m_nan = 0;
};

TensorsPage::TensorsPage(Session& session, const models::VersionInfo& version, QWidget* parent)
    : QWidget(parent),
      m_session(session),
      m_version(version),
      m_task(session.pool()),
      m_banner(new widgets::Banner(this)),
      m_note(new widgets::NoteRow(this)),
      m_calls(new widgets::SegmentedControl(tr("Call"), this)),
      m_pages(new QStackedWidget(this)),
      m_empty(new widgets::EmptyState(this)),
      m_table(new widgets::ValueTable(tr("Tensors"), this)),
      m_side(new QWidget(this)),
      m_histogram(new Histogram(m_side)),
      m_facts(new widgets::KeyValueList(m_side)) {
    setProperty("surface", true);
    setAttribute(Qt::WA_StyledBackground);
    m_banner->hide();
    m_table->setModel(&m_model);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setColumnWidths({0, 124, 64, 68, 70, 70, 70, 70, 60, 84, 96});
    m_side->setFixedWidth(kSideWidth);
    auto* side = new QVBoxLayout(m_side);
    side->setContentsMargins(0, 8, 0, 0);
    side->setSpacing(0);
    side->addWidget(m_facts);
    side->addWidget(m_histogram);
    side->addStretch(1);
    auto* line = new QWidget(this);
    line->setFixedWidth(1);
    line->setAutoFillBackground(true);
    line->setBackgroundRole(QPalette::Mid);
    auto* body = new QWidget(this);
    auto* bodyLayout = new QHBoxLayout(body);
    bodyLayout->setContentsMargins(0, 0, 0, 0);
    bodyLayout->setSpacing(0);
    bodyLayout->addWidget(m_table, 1);
    bodyLayout->addWidget(line);
    bodyLayout->addWidget(m_side);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(body);
    auto* tools = new QHBoxLayout;
    tools->setContentsMargins(16, 8, 16, 8);
    tools->addWidget(m_calls);
    tools->addStretch(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_banner);
    layout->addWidget(m_note);
    layout->addLayout(tools);
    layout->addWidget(m_pages, 1);

    QList<widgets::SegmentedControl::Segment> calls;
    for (int call = 0; call < std::min(m_version.callCount, kGreatestCallsShown); ++call) {
        calls.append({call == 0 ? tr("Call 0") : QString::number(call), {}});
    }
    m_calls->setSegments(calls);
    m_calls->setVisible(calls.size() > 1);
    if (calls.size() <= 1) {
        tools->setContentsMargins(0, 0, 0, 0);
    }
    m_note->setText(tr("Reading the captured tensors"));
    connect(m_calls, &widgets::SegmentedControl::currentChanged, this, &TensorsPage::read);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) { showTensor(current.row()); });
    connect(&m_task, &models::LatestTask::busyChanged, this, [this](bool busy) {
        if (busy) {
            m_note->setText(tr("Reading the captured tensors"));
        }
    });
}

void TensorsPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (!m_asked) {
        m_asked = true;
        read(0);
    }
}

void TensorsPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    m_side->setVisible(width() >= kSideFrom);
}

void TensorsPage::read(int call) {
    if (!m_session.operations()) {
        return;
    }
    m_task.run(
        [operations = m_session.operations(), id = m_version.id.toStdString(), call](std::stop_token stop) {
            operations::OperationContext context;
            context.stop = std::move(stop);
            return operations->tensorStatistics(id, call, context);
        },
        [this](base::Result<std::vector<TensorStatistics>> outcome) {
            if (!outcome) {
                m_note->setText({});
                m_banner->show(widgets::Banner::Kind::Bad, tr("The captured tensors could not be read"),
                               QString::fromStdString(operations::errorSentence(outcome.error())));
                m_banner->setVisible(true);
                m_empty->show(widgets::Icon::Grid, tr("Nothing to show"), tr("The sentence above says why."));
                m_pages->setCurrentWidget(m_empty);
                emit loaded();
                return;
            }
            m_model.setNames(m_names.value(m_calls->current()));
            m_model.setTensors(std::move(*outcome));
            const int nan = m_model.nanTensorCount();
            if (nan > 0) {
                m_banner->show(widgets::Banner::Kind::Bad,
                               tr("NaN in ") + models::formatCount(nan) +
                                   (nan == 1 ? tr(" tensor, first in ") : tr(" tensors, first in ")) + m_model.firstNanTensor(),
                               tr("Statistics and histogram leave NaN and Inf out."));
            }
            m_banner->setVisible(nan > 0);
            m_note->setText(nan > 0 ? QString() : noteWithoutNan(m_model.tensorCount(), m_model.infiniteTensorCount()));
            m_pages->setCurrentIndex(1);
            m_table->setCurrentIndex(m_model.index(1, 0));
            showTensor(1);
            emit nanCountChanged(nan);
            emit loaded();
        });
}

void TensorsPage::setNames(const QList<QHash<QString, QString>>& names) {
    m_names = names;
    m_model.setNames(m_names.value(m_calls->current()));
    showTensor(m_table->currentIndex().row());
}

void TensorsPage::showTensor(int row) {
    const TensorStatistics* tensor = m_model.tensorAt(row);
    m_histogram->setTensor(tensor);
    if (tensor == nullptr) {
        m_facts->setGroups({});
        return;
    }
    const auto cell = [this, row](int column) { return m_model.index(row, column).data().toString(); };
    QString stride = QStringLiteral("(");
    for (std::size_t i = 0; i < tensor->tensor.stride.size(); ++i) {
        stride += (i == 0 ? QString() : QStringLiteral(", ")) + QString::number(tensor->tensor.stride[i]);
    }
    stride += u')';
    using Model = models::TensorTableModel;
    QList<widgets::KeyValueList::Row> rows = {
        {tr("Shape"), cell(Model::ShapeColumn), false, true},
        {tr("Type"), cell(Model::TypeColumn) + QStringLiteral(" on ") + QString::fromStdString(tensor->tensor.device), false,
         false},
        {tr("Stride"), stride, false, true},
        {tr("Elements"), models::formatCount(tensor->elements), false, false},
        {tr("Range"), cell(Model::MinColumn) + tr(" to ") + cell(Model::MaxColumn), false, false},
    };
    if (tensor->nanCount > 0) {
        rows.append({tr("NaN"), models::formatCount(tensor->nanCount), true, false});
    }
    if (!tensor->gap.empty()) {
        rows.append({tr("Not captured"), QString::fromStdString(tensor->gap), true, false});
    }
    m_facts->setGroups({{cell(Model::NameColumn), rows}});
}

} // namespace modulelens::explorer
