// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/CommandLine.h"
#include "app/explorer/MainWindow.h"
#include "app/explorer/Screenshots.h"
#include "app/explorer/Session.h"
#include "app/explorer/Settings.h"
#include "backend/registry/Registry.h"
#include "widgets/ExplorerStyle.h"
#include "widgets/Icons.h"
#include "widgets/ThemeController.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QSettings>
#include <QTimer>

#include <cstdio>

namespace {

using namespace modulelens;

constexpr int kTaskThreads = 2;
constexpr int kUsageError = 2;

/// Calls `then` once the window has been painted for the first time.
class FirstPaint : public QObject {
public:
    FirstPaint(QWidget& window, std::function<void()> then) : m_then(std::move(then)) { window.installEventFilter(this); }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Paint && m_then) {
            // The paint itself comes after this filter; what follows waits for the next round of the event loop.
            QTimer::singleShot(0, this, [then = std::exchange(m_then, {})] { then(); });
        }
        return QObject::eventFilter(watched, event);
    }

private:
    std::function<void()> m_then;
};

int runWindow(const explorer::CommandLine& line, const QElapsedTimer& clock) {
    QSettings store;
    explorer::Settings settings = explorer::Settings::load(store);
    widgets::ThemeController theme;
    theme.setSetting(widgets::ThemeController::settingFromName(line.theme.isEmpty() ? settings.theme : line.theme));
    explorer::Session session({}, kTaskThreads);
    const std::filesystem::path folder =
        line.registry.isEmpty() ? registry::defaultRegistryFolder() : std::filesystem::path(line.registry.toStdString());
    if (!line.screenshots.isEmpty()) {
        theme.setSetting(widgets::ThemeController::Setting::Light);
        explorer::MainWindow window(session, theme, explorer::Settings());
        session.openFolder(folder);
        return explorer::Screenshots(line.screenshots, line.size, session, theme).run(window);
    }
    explorer::MainWindow window(session, theme, settings);
    const FirstPaint firstPaint(window, [&] {
        if (line.exitAfterFirstPaint) {
            std::printf("first paint after %lld ms\n", static_cast<long long>(clock.elapsed()));
            std::fflush(stdout);
            QCoreApplication::exit(0);
            return;
        }
        session.openFolder(folder);
        if (!line.version.isEmpty()) {
            window.openAddress(line.version, line.view);
        } else {
            window.restoreSession();
        }
    });
    window.show();
    const int status = QApplication::exec();
    if (!line.exitAfterFirstPaint) {
        window.settings().save(store);
    }
    return status;
}

} // namespace

int main(int argc, char** argv) {
    QElapsedTimer clock;
    clock.start();
    const QApplication application(argc, argv);
    QApplication::setStyle(new widgets::ExplorerStyle);
    QApplication::setOrganizationName(QStringLiteral("modulelens"));
    QApplication::setApplicationName(QStringLiteral("modulelens-explorer"));
    QApplication::setApplicationDisplayName(QStringLiteral("ModuleLens"));
    QApplication::setWindowIcon(widgets::themedIcon(widgets::Icon::Layers));
    QApplication::setApplicationVersion(QStringLiteral(MODULELENS_VERSION));
    const explorer::CommandLine line = explorer::parseCommandLine(QApplication::arguments().mid(1));
    if (line.helpWanted) {
        std::fputs(qPrintable(explorer::commandLineHelp()), stdout);
        return 0;
    }
    if (!line.error.isEmpty()) {
        std::fprintf(stderr, "modulelens-explorer: %s\n", qPrintable(line.error));
        return kUsageError;
    }
    return runWindow(line, clock);
}
