// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/Screenshots.h"

#include "app/explorer/CommandPalette.h"
#include "app/explorer/DocumentArea.h"
#include "app/explorer/HierarchyPage.h"
#include "app/explorer/JobsPanel.h"
#include "app/explorer/MainWindow.h"
#include "app/explorer/RegistryPanel.h"
#include "app/explorer/Session.h"
#include "app/explorer/TensorsPage.h"
#include "app/explorer/ValidationPage.h"
#include "models/QueryText.h"
#include "models/TableCells.h"
#include "widgets/FindField.h"
#include "widgets/QueryField.h"
#include "widgets/ThemeController.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QLineEdit>
#include <QPixmap>
#include <QTemporaryDir>
#include <QTimer>

#include <algorithm>
#include <cstdio>
#include <functional>

namespace modulelens::explorer {

namespace {

constexpr int kStepLimitMilliseconds = 120000;
constexpr int kRunningLimitMilliseconds = 10000;
constexpr int kFocusLimitMilliseconds = 2000;

/// Runs the event loop until `done` holds, looked at after every batch of events; false after `limit`.
bool waitUntil(const std::function<bool()>& done, int limit = kStepLimitMilliseconds) {
    QElapsedTimer clock;
    clock.start();
    // The timer ends a wait for events that never come.
    QTimer wake;
    wake.start(100);
    while (!done()) {
        if (clock.elapsed() > limit) {
            return false;
        }
        QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
    }
    return true;
}

/// Lets everything that is due be delivered and laid out.
void settle(Session& session) {
    (void)waitUntil([&session] { return session.pool().isIdle(); });
    QCoreApplication::sendPostedEvents();
    QCoreApplication::processEvents();
}

/// The top-level version to show: MiniLM's first where there is one, else the first of any model.
models::VersionInfo chooseVersion(registry::Registry& registry) {
    models::VersionInfo chosen;
    for (const char* query : {"model:minilm", ""}) {
        registry::SearchRequest request;
        request.query = query;
        request.limit = 1000;
        do {
            const base::Result<registry::SearchPage> page = registry.search(request);
            if (!page) {
                return chosen;
            }
            for (const registry::VersionSummary& version : page->versions) {
                if (version.module.empty() && (chosen.id.isEmpty() || version.number < chosen.number)) {
                    chosen = models::versionInfoOf(version);
                }
            }
            request.cursor = page->nextCursor;
        } while (!request.cursor.empty());
        if (!chosen.id.isEmpty()) {
            return chosen;
        }
    }
    return chosen;
}

} // namespace

Screenshots::Screenshots(const QString& folder, const QSize& size, Session& session, widgets::ThemeController& theme)
    : m_folder(folder), m_size(size), m_session(session), m_theme(theme) {}

bool Screenshots::fail(const QString& sentence) const {
    std::fprintf(stderr, "modulelens-explorer: %s\n", qPrintable(sentence));
    return false;
}

int Screenshots::run(MainWindow& window) {
    if (!QDir().mkpath(m_folder)) {
        return fail(QStringLiteral("The folder %1 cannot be created.").arg(m_folder)) ? 0 : 1;
    }
    return saveWelcome() && savePages(window) ? 0 : 1;
}

bool Screenshots::save(MainWindow& window, const QString& page) {
    using Setting = widgets::ThemeController::Setting;
    for (const Setting setting : {Setting::Light, Setting::Dark}) {
        m_theme.setSetting(setting);
        settle(m_session);
        const QString path =
            m_folder + u'/' + page + u'-' + widgets::ThemeController::settingName(setting) + QStringLiteral(".png");
        if (!window.grab().save(path)) {
            return fail(QStringLiteral("The picture %1 cannot be written.").arg(path));
        }
    }
    m_theme.setSetting(Setting::Light);
    return true;
}

bool Screenshots::saveWelcome() {
    const QTemporaryDir folder;
    Session empty({}, 1);
    MainWindow window(empty, m_theme, Settings());
    window.resize(m_size);
    window.show();
    QString error;
    QObject::connect(&empty, &Session::openFailed, &window, [&error](const QString& sentence) { error = sentence; });
    empty.openFolder(folder.filePath(QStringLiteral("registry")).toStdString());
    if (!waitUntil([&] { return empty.search().hasAnswer() || !error.isEmpty(); }) || !error.isEmpty()) {
        return fail(QStringLiteral("An empty registry could not be opened. ") + error);
    }
    settle(empty);
    // The focus is part of the picture; without a window manager it must be asked for, and may not come.
    window.activateWindow();
    (void)waitUntil([&window] { return window.isActiveWindow(); }, kFocusLimitMilliseconds);
    return save(window, QStringLiteral("welcome"));
}

bool Screenshots::waitForJob(int job, const QString& what) {
    using State = models::JobModel::State;
    if (job == 0) {
        return fail(what + QStringLiteral(" could not be started."));
    }
    const bool ended = waitUntil([&] {
        const State state = m_session.jobs().stateOf(job);
        return state != State::Queued && state != State::Running;
    });
    if (!ended) {
        return fail(what + QStringLiteral(" did not end in time."));
    }
    settle(m_session);
    return m_session.jobs().stateOf(job) == State::Done ? true
                                                        : fail(what + QStringLiteral(": ") + m_session.jobs().sentenceOf(job));
}

bool Screenshots::savePages(MainWindow& window) {
    window.resize(m_size);
    window.show();
    if (!waitUntil([this] { return m_session.search().hasAnswer(); })) {
        return fail(QStringLiteral("The registry %1 could not be read.").arg(m_session.registryName()));
    }
    models::VersionInfo version;
    m_session.pool().run(
        &window, [registry = m_session.registry()] { return chooseVersion(*registry); },
        [&version](const base::Result<models::VersionInfo>& outcome) { version = outcome ? *outcome : models::VersionInfo(); });
    settle(m_session);
    if (version.id.isEmpty()) {
        return fail(QStringLiteral("The registry %1 holds no version of a whole model.").arg(m_session.registryName()));
    }
    VersionPage* page = window.openVersion(version);
    bool loaded = false;
    QObject::connect(page, &VersionPage::hierarchyLoaded, &window, [&loaded] { loaded = true; });
    widgets::QueryField* query = window.registryPanel()->queryField();
    query->setQuery(models::queryTerm(QStringLiteral("model"), version.model));
    m_session.search().setQuery(query->query());
    settle(m_session);
    window.registryPanel()->showVersion(version);
    settle(m_session);
    if (!waitUntil([&loaded] { return loaded; }) || !save(window, QStringLiteral("browser"))) {
        return fail(QStringLiteral("The hierarchy of %1 could not be shown.").arg(version.address()));
    }
    if (!waitForJob(m_session.validate(version), QStringLiteral("Validating")) ||
        !waitForJob(m_session.profile(version), QStringLiteral("Profiling"))) {
        return false;
    }
    HierarchyPage* hierarchy = page->hierarchy();
    hierarchy->setMetric(QStringLiteral("latency"));
    hierarchy->view().select(hierarchy->view().hotspot());
    if (!save(window, QStringLiteral("hierarchy-latency"))) {
        return false;
    }
    hierarchy->setMetric(QStringLiteral("flops"));
    hierarchy->view().select(hierarchy->view().hotspot());
    if (!save(window, QStringLiteral("hierarchy-flops"))) {
        return false;
    }
    hierarchy->setMetric(QStringLiteral("latency"));
    if (!waitForJob(m_session.profile(version, {true, {}}), QStringLiteral("Profiling backward"))) {
        return false;
    }
    hierarchy->view().select(hierarchy->view().hotspot());
    if (!save(window, QStringLiteral("hierarchy-backward"))) {
        return false;
    }
    page->showView(VersionPage::View::Validation);
    if (!save(window, QStringLiteral("validation"))) {
        return false;
    }
    page->showView(VersionPage::View::Tensors);
    settle(m_session);
    if (!save(window, QStringLiteral("tensors"))) {
        return false;
    }
    page->showView(VersionPage::View::Source);
    settle(m_session);
    if (!save(window, QStringLiteral("source"))) {
        return false;
    }
    page->showView(VersionPage::View::Hierarchy);
    hierarchy->findField()->setText(QStringLiteral("attention"));
    if (!save(window, QStringLiteral("hierarchy-search"))) {
        return false;
    }
    hierarchy->findField()->clear();
    window.showPalette();
    auto* palette = window.findChild<CommandPalette*>();
    palette->findChild<QLineEdit*>()->setText(QStringLiteral("val"));
    settle(m_session);
    if (!save(window, QStringLiteral("palette"))) {
        return false;
    }
    palette->hide();
    if (!waitForJob(m_session.benchmark(version), QStringLiteral("Benchmarking"))) {
        return false;
    }
    window.jobsPanel()->setOpen(true);
    const int running = m_session.profile(version);
    // A job that is over before it was seen running gives a picture all the same.
    (void)waitUntil(
        [&] {
            const int row = m_session.jobs().runningRow();
            const QModelIndex result = m_session.jobs().index(std::max(0, row), models::JobModel::ResultColumn);
            return (row >= 0 && result.data(models::ProgressRole).toDouble() > 0.2) || m_session.jobs().isIdle();
        },
        kRunningLimitMilliseconds);
    return save(window, QStringLiteral("jobs")) && waitForJob(running, QStringLiteral("Profiling again"));
}

} // namespace modulelens::explorer
