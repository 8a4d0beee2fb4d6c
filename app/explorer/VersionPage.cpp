// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/VersionPage.h"

#include "app/explorer/CommandText.h"
#include "app/explorer/HierarchyPage.h"
#include "app/explorer/Session.h"
#include "app/explorer/SourceEditPanel.h"
#include "app/explorer/SourcePage.h"
#include "app/explorer/TensorNames.h"
#include "app/explorer/TensorsPage.h"
#include "app/explorer/ValidationPage.h"
#include "app/explorer/VersionHeader.h"
#include "backend/registry/VersionAddress.h"
#include "widgets/Banner.h"
#include "widgets/ChipRow.h"
#include "widgets/TabStrip.h"

#include <QApplication>
#include <QClipboard>
#include <QInputDialog>
#include <QMenu>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <nlohmann/json.hpp>

#include <array>

namespace modulelens::explorer {

namespace {

using ProfilePointer = std::shared_ptr<const profile::Profile>;
using ReportPointer = std::shared_ptr<const operations::ValidationReport>;

constexpr std::array kViewNames = {"hierarchy", "tensors", "source", "validation"};

/// The newest measured profile, else what is known before anything ran.
struct LoadedProfile {
    ProfilePointer profile;
    bool measured = false;
};

/// The stored form of a validation as the page shows it; null when it is not readable any more.
ReportPointer reportFromStored(const registry::StoredResult& stored) {
    const nlohmann::json json = nlohmann::json::parse(stored.json, nullptr, false);
    if (json.is_discarded()) {
        return nullptr;
    }
    const base::Result<protocol::ValidateResult> result = protocol::parseValidateResult(json);
    if (!result) {
        return nullptr;
    }
    auto report = std::make_shared<operations::ValidationReport>();
    report->verdict = result->verdict;
    report->exact = result->exact;
    report->engine = stored.engine;
    report->maxAbsDiff = result->maxAbsDiff;
    report->leaves = result->leaves;
    report->threads = result->threads;
    report->reason = result->reason;
    report->warnings = result->warnings;
    report->resultId = stored.id;
    return report;
}

} // namespace

VersionPage::VersionPage(Session& session, const models::VersionInfo& version, QWidget* parent)
    : QWidget(parent),
      m_session(session),
      m_version(version),
      m_profileTask(session.pool()),
      m_validationTask(session.pool()),
      m_header(new VersionHeader(this)),
      m_banner(new widgets::Banner(this)),
      m_tabs(new widgets::TabStrip(widgets::TabStrip::Kind::Pages, this)),
      m_stack(new QStackedWidget(this)),
      m_hierarchy(new HierarchyPage(this)),
      m_tensors(new TensorsPage(session, version, this)),
      m_source(new SourcePage(session, version, this)),
      m_validation(new ValidationPage(version, this)) {
    m_tabs->addTabWithIcon(widgets::Icon::Tree, tr("Hierarchy"));
    m_tabs->addTabWithIcon(widgets::Icon::Grid, tr("Tensors"));
    m_tabs->addTabWithIcon(widgets::Icon::Code, tr("Source & args"));
    m_tabs->addTabWithIcon(widgets::Icon::Check, tr("Validation"));
    for (QWidget* page : {static_cast<QWidget*>(m_hierarchy), static_cast<QWidget*>(m_tensors), static_cast<QWidget*>(m_source),
                          static_cast<QWidget*>(m_validation)}) {
        m_stack->addWidget(page);
    }
    m_banner->hide();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_header);
    layout->addWidget(m_tabs);
    layout->addWidget(m_banner);
    layout->addWidget(m_stack, 1);
    m_header->show(version);
    setFocusProxy(m_hierarchy);
    connect(m_tabs, &widgets::TabStrip::currentChanged, m_stack, &QStackedWidget::setCurrentIndex);
    connect(m_header, &VersionHeader::validateRequested, this, &VersionPage::validate);
    connect(m_header, &VersionHeader::profileRequested, this, &VersionPage::profile);
    connect(m_header, &VersionHeader::benchmarkRequested, this, &VersionPage::benchmark);
    makeProfileMenu();
    connect(m_validation, &ValidationPage::validateRequested, this, &VersionPage::validate);
    connect(m_tensors, &TensorsPage::nanCountChanged, this,
            [this](int tensors) { m_tabs->setTrouble(1, tensors > 0 ? QString::number(tensors) + tr(" NaN") : QString()); });
    connectSession();
    makeMoreMenu();
    readProfile();
    readValidation();
    readNames();
}

void VersionPage::connectSession() {
    widgets::ChipRow* chips = m_header->chips();
    const auto edit = [this](Session::Label label) {
        return [this, label](const QString& text) { m_session.editLabel(m_version, label, text); };
    };
    connect(chips, &widgets::ChipRow::tagAdded, this, edit(Session::Label::AddTag));
    connect(chips, &widgets::ChipRow::tagRemoved, this, edit(Session::Label::RemoveTag));
    connect(chips, &widgets::ChipRow::aliasAdded, this, edit(Session::Label::SetAlias));
    connect(chips, &widgets::ChipRow::aliasRemoved, this, edit(Session::Label::RemoveAlias));
    connect(&m_session, &Session::versionChanged, this, [this](const models::VersionInfo& version) {
        if (version.id == m_version.id) {
            update(version);
        }
    });
    connect(&m_session, &Session::profiled, this, [this](const QString& id, const ProfilePointer& profile) {
        if (id == m_version.id) {
            m_profileTask.cancel();
            m_hasMeasured = true;
            m_hierarchy->setProfile(profile, {});
            emit hierarchyLoaded();
        }
    });
    connect(&m_session, &Session::validated, this, [this](const QString& id, const ReportPointer& report) {
        if (id == m_version.id) {
            m_validationTask.cancel();
            m_validation->showReport(report);
            const int failed = m_validation->model().failedCount();
            m_tabs->setTrouble(3, failed > 0 ? QString::number(failed) : QString());
        }
    });
}

void VersionPage::makeProfileMenu() {
    auto* menu = new QMenu(this);
    menu->addAction(tr("Forward"), this, &VersionPage::profile);
    menu->addAction(tr("Forward and backward"), this, &VersionPage::profileBackward);
    menu->addAction(tr("Training step with SGD"), this, &VersionPage::profileTraining);
    menu->addAction(tr("Training step with Adam"), this,
                    [this] { m_session.profile(m_version, {true, QStringLiteral("adam")}); });
    menu->addSeparator();
    menu->addAction(tr("Sweep a dimension…"), this, &VersionPage::chooseSweep);
    m_header->profileMenuButton()->setMenu(menu);
}

void VersionPage::makeMoreMenu() {
    auto* menu = new QMenu(this);
    menu->addAction(tr("Copy the address"), this, [this] { QApplication::clipboard()->setText(m_version.address()); });
    menu->addAction(tr("Copy the link"), this, [this] {
        const std::string link = registry::formatDeepLink(m_version.address().toStdString(), viewName(view()).toStdString());
        QApplication::clipboard()->setText(QString::fromStdString(link));
    });
    menu->addAction(tr("Copy the command that does this"), this, [this] { QApplication::clipboard()->setText(command()); });
    menu->addSeparator();
    menu->addAction(tr("Edit the source"), this, &VersionPage::editSource);
    menu->addAction(tr("Add a tag"), this, [this] { m_header->chips()->startAdding(); });
    m_header->moreButton()->setMenu(menu);
}

void VersionPage::readProfile() {
    if (!m_session.operations()) {
        return;
    }
    m_profileTask.run(
        [operations = m_session.operations(), id = m_version.id.toStdString()](std::stop_token) -> base::Result<LoadedProfile> {
            base::Result<ProfilePointer> stored = operations->storedProfile(id);
            if (stored && *stored != nullptr) {
                return LoadedProfile{std::move(*stored), true};
            }
            base::Result<ProfilePointer> known = operations->staticProfile(id);
            if (!known) {
                return known.error();
            }
            return LoadedProfile{std::move(*known), false};
        },
        [this](const base::Result<LoadedProfile>& outcome) {
            if (!outcome) {
                m_banner->show(widgets::Banner::Kind::Bad, tr("The hierarchy could not be read"),
                               QString::fromStdString(operations::errorSentence(outcome.error())));
                m_banner->setVisible(true);
            } else {
                m_hasMeasured = outcome->measured;
                const QString source =
                    m_version.hasProgram ? tr("Latency as measured in the captured run, FLOPs and parameters counted from "
                                              "the program. Profile to measure on this machine.")
                                         : tr("Latency as measured in the captured run. Without a program this version cannot "
                                              "be measured on this machine.");
                m_hierarchy->setProfile(outcome->profile, outcome->measured ? QString() : source);
            }
            emit hierarchyLoaded();
        });
}

void VersionPage::readValidation() {
    if (!m_session.registry()) {
        return;
    }
    m_validationTask.run(
        [registry = m_session.registry(), id = m_version.id.toStdString()](std::stop_token) -> base::Result<ReportPointer> {
            const base::Result<std::vector<registry::StoredResult>> results = registry->results(id, "validation");
            if (!results) {
                return results.error();
            }
            return results->empty() ? ReportPointer() : reportFromStored(results->front());
        },
        [this](const base::Result<ReportPointer>& outcome) {
            if (outcome && *outcome != nullptr) {
                m_validation->showReport(*outcome);
                const int failed = m_validation->model().failedCount();
                m_tabs->setTrouble(3, failed > 0 ? QString::number(failed) : QString());
            }
        });
}

void VersionPage::readNames() {
    using Names = QList<QHash<QString, QString>>;
    if (!m_session.registry()) {
        return;
    }
    m_session.pool().run(
        this,
        [registry = m_session.registry(), id = m_version.id.toStdString()]() -> base::Result<Names> {
            const base::Result<capture::VersionDocument> document = registry->versionDocument(id);
            if (!document) {
                return document.error();
            }
            Names names;
            for (const capture::CallDocument& call : document->calls) {
                names.append(tensorNames(call));
            }
            return names;
        },
        [this](const base::Result<Names>& outcome) {
            // Without names the pages show pointers.
            if (outcome && !outcome->isEmpty()) {
                m_tensors->setNames(*outcome);
                m_validation->setNames(outcome->first());
            }
        });
}

void VersionPage::update(const models::VersionInfo& version) {
    m_version = version;
    m_header->show(version);
}

void VersionPage::showView(View view) {
    m_tabs->setCurrentIndex(static_cast<int>(view));
}

VersionPage::View VersionPage::view() const {
    return static_cast<View>(m_tabs->currentIndex());
}

VersionPage::View VersionPage::viewFromName(const QString& name) {
    for (std::size_t i = 0; i < kViewNames.size(); ++i) {
        if (name == QLatin1String(kViewNames[i])) {
            return static_cast<View>(i);
        }
    }
    return View::Hierarchy;
}

QString VersionPage::viewName(View view) {
    return QString::fromLatin1(kViewNames[static_cast<std::size_t>(view)]);
}

QString VersionPage::command() const {
    const QString verb = view() == View::Validation  ? QStringLiteral("validate")
                         : view() == View::Hierarchy ? (m_hasMeasured ? QStringLiteral("profile") : QStringLiteral("tree"))
                                                     : QStringLiteral("show");
    if (view() == View::Source && m_source->panel()->edit().isOpen()) {
        return commandText(QStringLiteral("verify %v --edit --watch%d"), m_version.address(), m_session.device());
    }
    return commandText(verb + QStringLiteral(" %v"), m_version.address(), {});
}

void VersionPage::validate() {
    m_session.validate(m_version);
}

void VersionPage::profile() {
    m_session.profile(m_version);
}

void VersionPage::profileBackward() {
    m_session.profile(m_version, {true, {}});
}

void VersionPage::profileTraining() {
    m_session.profile(m_version, {true, QStringLiteral("sgd")});
}

void VersionPage::benchmark() {
    m_session.benchmark(m_version);
}

void VersionPage::editSource() {
    showView(View::Source);
    m_source->panel()->begin();
}

void VersionPage::chooseSweep() {
    auto* question = new QInputDialog(this);
    question->setObjectName(QStringLiteral("sweep"));
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setWindowTitle(tr("Sweep"));
    question->setLabelText(
        tr("Sizes to measure, as NAME=VALUE,VALUE. NAME is batch, a symbol of the program, or a place such as "
           "/args/0:1."));
    question->setTextValue(QStringLiteral("batch=1,2,4,8"));
    question->setOkButtonText(tr("Measure"));
    connect(question, &QInputDialog::textValueSelected, this,
            [this](const QString& dimensions) { m_session.sweep(m_version, dimensions); });
    question->open();
}

} // namespace modulelens::explorer
