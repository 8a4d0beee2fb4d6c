// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/MainWindow.h"

#include "app/explorer/BundleOpener.h"
#include "app/explorer/CommandPalette.h"
#include "app/explorer/DocumentArea.h"
#include "app/explorer/JobsPanel.h"
#include "app/explorer/RegistryDock.h"
#include "app/explorer/RegistryPanel.h"
#include "app/explorer/Session.h"
#include "app/explorer/StatusStrip.h"
#include "app/explorer/TopRow.h"
#include "app/explorer/VersionPage.h"
#include "app/explorer/WelcomePage.h"
#include "app/explorer/WindowActions.h"
#include "models/Format.h"
#include "widgets/Banner.h"
#include "widgets/EmptyState.h"
#include "widgets/Fonts.h"
#include "widgets/ThemeController.h"

#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDragEnterEvent>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace modulelens::explorer {

namespace {

constexpr QSize kDefaultSize{1600, 1000};
constexpr QSize kLeastSize{880, 560};
constexpr QSize kLogSize{760, 360};

} // namespace

MainWindow::MainWindow(Session& session, widgets::ThemeController& theme, const Settings& settings)
    : m_session(session),
      m_theme(theme),
      m_settings(settings),
      m_top(new TopRow(this)),
      m_dock(new RegistryDock(session, this)),
      m_banner(new widgets::Banner(this)),
      m_centre(new QStackedWidget(this)),
      m_welcome(new WelcomePage(m_centre)),
      m_choose(new widgets::EmptyState(m_centre)),
      m_documents(new DocumentArea(session, m_centre)),
      m_jobs(new JobsPanel(session.jobs(), this)),
      m_status(new StatusStrip(this)),
      m_bundles(new BundleOpener(session, this)) {
    setWindowTitle(QStringLiteral("ModuleLens"));
    setMinimumSize(kLeastSize);
    setAcceptDrops(true);
    buildLayout();
    addWindowActions(*this, *m_top, m_session);
    connectParts();
    resize(kDefaultSize);
    if (!m_settings.geometry.isEmpty()) {
        restoreGeometry(m_settings.geometry);
    }
    if (!m_settings.windowState.isEmpty()) {
        restoreState(m_settings.windowState, Settings::kVersion);
    }
    m_jobs->setOpen(m_settings.jobsOpen);
    if (!m_settings.python.isEmpty()) {
        m_session.setPython(m_settings.python);
    }
    if (!m_settings.editor.isEmpty()) {
        m_session.setEditor(m_settings.editor);
    }
    showCentre();
    showStatus();
}

MainWindow::~MainWindow() = default;

RegistryPanel* MainWindow::registryPanel() const {
    return m_dock->panel();
}

void MainWindow::buildLayout() {
    setMenuWidget(m_top);
    addDockWidget(Qt::LeftDockWidgetArea, m_dock);
    m_dock->resetWidth();

    m_choose->setProperty("strip", true);
    m_choose->setAttribute(Qt::WA_StyledBackground);
    m_choose->show(widgets::Icon::Module, tr("Choose a version"),
                   tr("Open a model on the left, then a module, then a version. Or type a part of a name in the search box."),
                   tr("Search the registry"));
    m_centre->addWidget(m_welcome);
    m_centre->addWidget(m_choose);
    m_centre->addWidget(m_documents);
    m_banner->hide();
    connect(m_banner->addButton(tr("Dismiss")), &QPushButton::clicked, m_banner, &QWidget::hide);
    auto* middle = new QWidget(this);
    auto* layout = new QVBoxLayout(middle);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_banner);
    layout->addWidget(m_centre, 1);
    layout->addWidget(m_jobs);
    setCentralWidget(middle);
    setStatusBar(m_status);
}

void MainWindow::connectParts() {
    connect(registryPanel(), &RegistryPanel::versionActivated, this, &MainWindow::openVersion);
    connect(registryPanel(), &RegistryPanel::importRequested, m_bundles, &BundleOpener::chooseFolder);
    connect(m_welcome, &WelcomePage::openRequested, m_bundles, &BundleOpener::chooseFolder);
    connect(m_welcome, &WelcomePage::connectRequested, m_bundles, &BundleOpener::connectRemote);
    connect(m_welcome, &WelcomePage::sampleRequested, m_bundles, &BundleOpener::trySample);
    connect(m_choose, &widgets::EmptyState::linkActivated, m_dock, &RegistryDock::focusQuery);
    connect(m_documents, &DocumentArea::currentChanged, this, [this] {
        m_top->setHistory(m_documents->canGoBack(), m_documents->canGoForward());
        showCentre();
    });
    connect(m_jobs, &JobsPanel::logRequested, this, &MainWindow::showLog);
    connect(m_top, &TopRow::backRequested, m_documents, &DocumentArea::goBack);
    connect(m_top, &TopRow::forwardRequested, m_documents, &DocumentArea::goForward);
    connect(m_top, &TopRow::goToRequested, this, &MainWindow::showPalette);
    connect(m_top, &TopRow::themeSwitchRequested, this, &MainWindow::switchTheme);
    connect(m_top, &TopRow::deviceChosen, &m_session, &Session::setDevice);
    connect(m_bundles, &BundleOpener::failed, this, &MainWindow::showError);
    connect(&m_session, &Session::openFailed, this, &MainWindow::showError);
    connect(&m_session, &Session::failed, this, &MainWindow::showError);
    connect(&m_session, &Session::declined, this, &MainWindow::showNote);
    connect(&m_session, &Session::librariesChanged, this, [this] {
        const QStringList libraries = m_session.libraries();
        showNote(
            libraries.isEmpty()
                ? tr("Programs are loaded without libraries of operators from now on.")
                : tr("Every program is loaded after %1 until the window closes.").arg(libraries.join(QStringLiteral(", "))));
    });
    connect(&m_session, &Session::workerChanged, this, [this] {
        m_top->setDevices(m_session.devices());
        showStatus();
    });
    connect(&m_session, &Session::versionResolved, this, [this](const models::VersionInfo& version) {
        openVersion(version)->showView(VersionPage::viewFromName(m_wantedView));
        registryPanel()->showVersion(version);
    });
    connect(&m_session.search(), &models::RegistrySearch::changed, this, [this] {
        showCentre();
        showStatus();
    });
    connect(&m_session.jobs(), &models::JobModel::changed, this, &MainWindow::showCentre);
}

VersionPage* MainWindow::openVersion(const models::VersionInfo& version) {
    VersionPage* page = m_documents->open(version);
    page->setFocus();
    m_session.askWorker();
    registryPanel()->showVersion(version);
    showCentre();
    return page;
}

void MainWindow::openAddress(const QString& addressOrId, const QString& view) {
    m_wantedView = view;
    if (m_session.registry()) {
        m_session.resolve(addressOrId);
    } else {
        connect(&m_session, &Session::opened, this, [this, addressOrId] { m_session.resolve(addressOrId); });
    }
}

void MainWindow::restoreSession() {
    if (!m_settings.lastVersion.isEmpty()) {
        connect(&m_session, &Session::opened, this, [this] { m_session.resolveIfThere(m_settings.lastVersion); });
    }
}

void MainWindow::showCentre() {
    const bool welcome = m_documents->count() == 0 && (m_session.search().isEmptyRegistry() || !m_session.search().hasAnswer());
    QWidget* shown = m_documents->count() > 0 ? static_cast<QWidget*>(m_documents)
                     : welcome                ? static_cast<QWidget*>(m_welcome)
                                              : m_choose;
    const bool first = shown == m_welcome && m_session.search().hasAnswer() && !m_greeted;
    m_centre->setCurrentWidget(shown);
    m_jobs->setVisible(!welcome || m_session.jobs().rowCount() > 0);
    if (first) {
        m_greeted = true;
        m_welcome->focusFirst();
    }
}

void MainWindow::showStatus() {
    m_status->setWorker(m_session.workerText(), !m_session.devices().isEmpty());
    QString registry = m_session.registryName();
    if (m_session.search().hasAnswer()) {
        const qint64 all = m_session.search().allVersions();
        registry += QStringLiteral(" · ") +
                    (all == 0 ? tr("empty") : models::formatCount(all) + (all == 1 ? tr(" version") : tr(" versions")));
    }
    m_status->setRegistry(registry);
}

Settings MainWindow::settings() const {
    Settings settings = m_settings;
    settings.geometry = saveGeometry();
    settings.windowState = saveState(Settings::kVersion);
    settings.theme = widgets::ThemeController::settingName(m_theme.setting());
    settings.jobsOpen = m_jobs->isOpen();
    settings.python = m_session.python();
    settings.editor = m_session.editor();
    settings.lastVersion = m_documents->current() == nullptr ? QString() : m_documents->current()->version().id;
    return settings;
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    m_dock->adaptTo(width());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (BundleOpener::canImport(*event->mimeData())) {
        event->acceptProposedAction();
    }
}

void MainWindow::dropEvent(QDropEvent* event) {
    m_bundles->import(*event->mimeData());
    event->acceptProposedAction();
}

void MainWindow::showPalette() {
    if (m_palette == nullptr) {
        m_palette = new CommandPalette(m_session, this);
        connect(m_palette, &CommandPalette::versionChosen, this, &MainWindow::openVersion);
    }
    const VersionPage* page = m_documents->current();
    m_palette->open(actions(), page == nullptr ? QString() : page->version().address());
}

void MainWindow::switchTheme() {
    using Setting = widgets::ThemeController::Setting;
    m_theme.setSetting(widgets::ThemeController::currentMode() == widgets::Theme::Mode::Light ? Setting::Dark : Setting::Light);
}

void MainWindow::resetLayout() {
    m_settings.resetLayout();
    m_jobs->setOpen(false);
    resize(kDefaultSize);
    m_dock->setRail(false);
    m_dock->adaptTo(width());
}

void MainWindow::showLog(int jobId) {
    auto* dialog = new QDialog(this);
    dialog->setObjectName(QStringLiteral("log"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Job log"));
    auto* text = new QPlainTextEdit(m_session.jobs().logOf(jobId), dialog);
    text->setReadOnly(true);
    text->setFont(widgets::monoFont(12));
    text->setAccessibleName(dialog->windowTitle());
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
    connect(buttons->addButton(tr("Copy"), QDialogButtonBox::ActionRole), &QPushButton::clicked, text,
            [text] { QApplication::clipboard()->setText(text->toPlainText()); });
    connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    auto* layout = new QVBoxLayout(dialog);
    layout->addWidget(text);
    layout->addWidget(buttons);
    dialog->resize(kLogSize);
    dialog->show();
}

void MainWindow::showError(const QString& sentence) {
    showBanner(true, sentence);
}

void MainWindow::showNote(const QString& sentence) {
    showBanner(false, sentence);
}

void MainWindow::showBanner(bool isFault, const QString& sentence) {
    const qsizetype stop = sentence.indexOf(QStringLiteral(". "));
    m_banner->show(isFault ? widgets::Banner::Kind::Bad : widgets::Banner::Kind::Neutral,
                   stop < 0 ? sentence : sentence.left(stop + 1), stop < 0 ? QString() : sentence.mid(stop + 2));
    m_banner->setVisible(true);
}

} // namespace modulelens::explorer
