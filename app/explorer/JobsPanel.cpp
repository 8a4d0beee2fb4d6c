// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/JobsPanel.h"

#include "models/JobModel.h"
#include "models/TableCells.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"
#include "widgets/ValueTable.h"

#include <QAbstractButton>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

namespace modulelens::explorer {

namespace {
constexpr int kHeadHeight = 28;
constexpr int kRowHeight = 24;
constexpr int kGreatestRows = 6;
}  // namespace

using models::JobModel;

/// The head: a button that opens and closes the table.
class JobsPanel::Head : public QAbstractButton {
public:
    Head(JobModel& jobs, QWidget* parent) : QAbstractButton(parent), m_jobs(jobs) {
        setFixedHeight(kHeadHeight);
        setAccessibleName(tr("Jobs"));
        setCheckable(true);
        setFocusPolicy(Qt::TabFocus);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const widgets::Theme& t = widgets::Theme::current();
        QPainter painter(this);
        painter.fillRect(rect(), t.window);
        painter.fillRect(0, 0, width(), 1, t.line);
        widgets::paintIcon(painter, QRectF(12, 7, 14, 14),
                           isChecked() ? widgets::Icon::ChevronDown : widgets::Icon::ChevronRight, t.text2);
        widgets::drawText(painter, QRectF(32, 1, 60, 27), tr("Jobs"), widgets::uiFont(12, QFont::DemiBold), t.text);
        double x = 74;
        x += widgets::drawText(painter, QRectF(x, 1, 300, 27), m_jobs.summary(), widgets::uiFont(12), t.text2) + 16;
        const int running = m_jobs.runningRow();
        if (!isChecked() && running >= 0) {
            const QModelIndex result = m_jobs.index(running, JobModel::ResultColumn);
            widgets::paintProgress(painter, QRectF(x, 11, 160, 6), result.data(models::ProgressRole).toDouble());
            const QString what = m_jobs.index(running, JobModel::JobColumn).data().toString() + u' ' +
                                 m_jobs.index(running, JobModel::ModuleColumn).data().toString() + QStringLiteral(" · ") +
                                 result.data().toString();
            widgets::drawText(painter, QRectF(x + 170, 1, width() - x - 190, 27), what, widgets::uiFont(12), t.text2);
        }
        if (hasFocus()) {
            painter.setPen(QPen(t.accent, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(rect().adjusted(2, 2, -2, -2));
        }
    }

private:
    JobModel& m_jobs;
};

JobsPanel::JobsPanel(JobModel& jobs, QWidget* parent)
    : QWidget(parent), m_jobs(jobs), m_head(new Head(jobs, this)), m_table(new widgets::ValueTable(tr("Jobs"), this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_head);
    layout->addWidget(m_table);
    m_table->setModel(&jobs);
    m_table->setColumnWidths({130, 300, 100, 0, 80, 96});
    m_table->hide();
    adjustHeight();
    connect(m_head, &QAbstractButton::toggled, this, &JobsPanel::setOpen);
    connect(&jobs, &JobModel::changed, this, [this] {
        m_head->update();
        m_head->setAccessibleDescription(m_jobs.summary());
        adjustHeight();
    });
    connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        if (index.column() != JobModel::ActionColumn) {
            emit logRequested(m_jobs.idAt(index.row()));
        }
    });
    connect(m_table, &widgets::ValueTable::cellActivated, this, [this](const QModelIndex& index) {
        if (index.column() != JobModel::ActionColumn) {
            return;
        }
        const int id = m_jobs.idAt(index.row());
        switch (m_jobs.actionAt(index.row())) {
            case JobModel::Action::Cancel:
                m_jobs.cancel(id);
                break;
            case JobModel::Action::Rerun:
                m_jobs.rerun(id);
                break;
            case JobModel::Action::Log:
                emit logRequested(id);
                break;
        }
    });
}

void JobsPanel::setOpen(bool open) {
    if (open != m_open) {
        m_open = open;
        m_head->setChecked(open);
        m_table->setVisible(open);
        adjustHeight();
        emit openChanged(open);
    }
}

void JobsPanel::adjustHeight() {
    const int rows = std::clamp(m_jobs.rowCount(), 1, kGreatestRows);
    setFixedHeight(m_open ? kHeadHeight + kRowHeight * (rows + 1) : kHeadHeight);
}

} // namespace modulelens::explorer
