// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/ValidationPage.h"

#include "backend/operations/Sentences.h"
#include "models/Format.h"
#include "widgets/Banner.h"
#include "widgets/EmptyState.h"
#include "widgets/KeyValueList.h"
#include "widgets/ValueTable.h"

#include <QHBoxLayout>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace modulelens::explorer {

namespace {

using operations::ValidationReport;
using widgets::Banner;
using widgets::KeyValueList;

constexpr int kSideWidth = 320;

Banner::Kind bannerKind(const ValidationReport& report) {
    if (report.verdict == "pass") {
        return Banner::Kind::Good;
    }
    return report.verdict == "fail" ? Banner::Kind::Bad : Banner::Kind::Warning;
}

QString indexText(const std::vector<std::int64_t>& index) {
    return index.empty() ? models::notApplicable() : models::formatShape(index);
}

QString real(const std::optional<double>& value) {
    return value ? models::formatReal(*value) : models::notApplicable();
}

QString nonFiniteText(std::int64_t expected, std::int64_t got, std::int64_t mismatched) {
    return ValidationPage::tr("%1 expected, %2 got, %3 in other places")
        .arg(models::formatCount(expected), models::formatCount(got), models::formatCount(mismatched));
}

/// What stands beside the largest differences, where there is something to say.
void appendStatistics(const protocol::LeafResult& leaf, KeyValueList::Group& group) {
    const protocol::LeafStatistics& numbers = leaf.statistics;
    if (!numbers.firstBadIndex.empty()) {
        group.rows.append({ValidationPage::tr("First outside"), indexText(numbers.firstBadIndex), true, true});
    }
    if (numbers.normRelativeError) {
        group.rows.append({ValidationPage::tr("Norm error"), real(numbers.normRelativeError), false, false});
    }
    if (numbers.nanExpected + numbers.nanGot > 0) {
        group.rows.append({ValidationPage::tr("NaN"), nonFiniteText(numbers.nanExpected, numbers.nanGot, numbers.nanMismatched),
                           numbers.nanMismatched > 0, false});
    }
    if (numbers.infiniteExpected + numbers.infiniteGot > 0) {
        group.rows.append({ValidationPage::tr("Infinite"),
                           nonFiniteText(numbers.infiniteExpected, numbers.infiniteGot, numbers.infiniteMismatched),
                           numbers.infiniteMismatched > 0, false});
    }
    if (numbers.spread.value_or(0) > 0) {
        group.rows.append({ValidationPage::tr("Spread"), real(numbers.spread), true, false});
    }
}

QString oracleText(const protocol::LeafResult& leaf) {
    const std::optional<protocol::OracleLeaf>& oracle = leaf.statistics.oracle;
    if (!oracle) {
        return models::notApplicable();
    }
    if (oracle->verdict.empty()) {
        return QString::fromStdString(oracle->reason);
    }
    return ValidationPage::tr("error %1, captured %2").arg(real(oracle->errorOurs), real(oracle->errorCaptured));
}

QString repeatsText(const ValidationReport& report) {
    if (!report.repeats) {
        return models::notApplicable();
    }
    const QString runs = models::formatCount(report.repeats->runs) + ValidationPage::tr(" runs, ");
    return runs +
           (report.repeats->isNondeterministic ? ValidationPage::tr("not the same bits") : ValidationPage::tr("same bits"));
}

} // namespace

ValidationPage::ValidationPage(const models::VersionInfo& version, QWidget* parent)
    : QWidget(parent),
      m_version(version),
      m_pages(new QStackedWidget(this)),
      m_empty(new widgets::EmptyState(this)),
      m_banner(new Banner(this)),
      m_table(new widgets::ValueTable(tr("Compared outputs"), this)),
      m_side(new KeyValueList(this)) {
    setProperty("surface", true);
    setAttribute(Qt::WA_StyledBackground);
    m_table->setModel(&m_model);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setColumnWidths({0, 160, 84, 140, 88, 88, 84, 84, 80});
    auto* sidePane = new QWidget(this);
    sidePane->setFixedWidth(kSideWidth);
    auto* sideLayout = new QVBoxLayout(sidePane);
    sideLayout->setContentsMargins(0, 0, 0, 0);
    sideLayout->addWidget(m_side);
    sideLayout->addStretch(1);
    auto* line = new QWidget(this);
    line->setFixedWidth(1);
    line->setAutoFillBackground(true);
    line->setBackgroundRole(QPalette::Mid);
    auto* result = new QWidget(this);
    auto* resultLayout = new QVBoxLayout(result);
    resultLayout->setContentsMargins(0, 0, 0, 0);
    resultLayout->setSpacing(0);
    resultLayout->addWidget(m_banner);
    auto* body = new QHBoxLayout;
    body->setSpacing(0);
    body->addWidget(m_table, 1);
    body->addWidget(line);
    body->addWidget(sidePane);
    resultLayout->addLayout(body, 1);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(result);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);
    if (m_version.hasProgram) {
        m_empty->show(widgets::Icon::Check, tr("Not validated yet"),
                      tr("Runs the module on its captured inputs and compares every output with what was captured."),
                      tr("Validate now"));
    } else {
        m_empty->show(widgets::Icon::Gap, tr("No program"),
                      tr("This version cannot be run: ") +
                          (m_version.noProgramReason.isEmpty() ? tr("no program was exported.") : m_version.noProgramReason));
    }
    connect(m_empty, &widgets::EmptyState::linkActivated, this, &ValidationPage::validateRequested);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) { showLeaf(current.row()); });
}

void ValidationPage::showReport(std::shared_ptr<const ValidationReport> report) {
    m_report = std::move(report);
    m_model.setLeaves(m_report->leaves);
    const QString sentence = QString::fromStdString(operations::verdictSentence(*m_report));
    QString detail = QString::fromStdString(m_report->reason);
    if (m_report->verdict == "no_program") {
        detail = tr("What was captured can still be seen: hierarchy with the times of the captured run, tensors, source.");
    } else if (detail.isEmpty()) {
        detail = tr("Run with %1 on the captured inputs of call 0, with %2 threads, as captured.")
                     .arg(m_report->engine == "program" ? tr("its exported program") : QString::fromStdString(m_report->engine))
                     .arg(m_report->threads);
    }
    if (!m_report->warnings.empty()) {
        // A warning of the worker is a clause; here it stands as a sentence.
        QString warning = QString::fromStdString(m_report->warnings.front());
        warning.replace(0, 1, warning.left(1).toUpper());
        detail += u' ' + warning + (warning.endsWith(u'.') ? QString() : QStringLiteral("."));
    }
    m_banner->show(bannerKind(*m_report), sentence, detail);
    m_pages->setCurrentIndex(1);
    const int worst = m_model.worstRow();
    if (worst >= 0) {
        m_table->setCurrentIndex(m_model.index(worst, 0));
    }
    showLeaf(worst);
}

void ValidationPage::setNames(const QHash<QString, QString>& names) {
    m_model.setNames(names);
    showLeaf(m_table->currentIndex().row());
}

void ValidationPage::showLeaf(int row) {
    const protocol::LeafResult* leaf = m_model.leafAt(row);
    QList<KeyValueList::Group> groups;
    if (leaf != nullptr) {
        const bool failed = leaf->verdict == "fail";
        const bool differs = !leaf->worstIndex.empty();
        KeyValueList::Group worst{differs ? tr("Worst element") : tr("Output"), {}};
        worst.rows.append({tr("Tensor"), m_model.nameOf(leaf->pointer), false, false});
        worst.rows.append({tr("Type"), QString::fromStdString(leaf->dtype), false, false});
        worst.rows.append({tr("Shape"), models::formatShape(leaf->shape), false, true});
        worst.rows.append({tr("Elements"), models::formatCount(leaf->elements), false, false});
        if (differs) {
            worst.rows.append({tr("Index"), indexText(leaf->worstIndex), false, true});
            worst.rows.append({tr("Expected"), QString::fromStdString(leaf->expected), false, false});
            worst.rows.append({tr("Got"), QString::fromStdString(leaf->got), failed, false});
        }
        worst.rows.append({tr("Max abs"), real(leaf->maxAbsDiff), failed, false});
        worst.rows.append({tr("Max rel"), real(leaf->maxRelDiff), failed, false});
        worst.rows.append(
            {tr("Outside"), models::formatCount(leaf->mismatched) + tr(" elements"), failed && leaf->mismatched > 0, false});
        appendStatistics(*leaf, worst);
        if (!leaf->reason.empty()) {
            worst.rows.append({tr("Reason"), QString::fromStdString(leaf->reason), failed, false});
        }
        groups.append(worst);
        groups.append(
            {tr("Compared with"),
             {{tr("Tolerance"),
               QStringLiteral("rtol ") + models::formatReal(leaf->relativeTolerance) + QStringLiteral(", atol ") +
                   models::formatReal(leaf->absoluteTolerance),
               false, false},
              {tr("Float64"), oracleText(*leaf), leaf->statistics.oracle && leaf->statistics.oracle->verdict == "fail", false},
              {tr("Repeated"), repeatsText(*m_report), m_report->repeats && m_report->repeats->isNondeterministic, false},
              {tr("Engine"), QString::fromStdString(m_report->engine), false, false},
              {tr("Threads"), QString::number(m_report->threads), false, false},
              {tr("Captured on"), m_version.device + QStringLiteral(", torch ") + m_version.torchVersion, false, false}}});
    }
    m_side->setGroups(groups);
}

} // namespace modulelens::explorer
