// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/WindowActions.h"

#include "app/explorer/BundleOpener.h"
#include "app/explorer/CommandPalette.h"
#include "app/explorer/DocumentArea.h"
#include "app/explorer/HierarchyPage.h"
#include "app/explorer/JobsPanel.h"
#include "app/explorer/MainWindow.h"
#include "app/explorer/RegistryDock.h"
#include "app/explorer/Session.h"
#include "app/explorer/TopRow.h"
#include "widgets/Icons.h"

#include <QApplication>
#include <QClipboard>
#include <QMenuBar>
#include <QMessageBox>

namespace modulelens::explorer {

namespace {

using widgets::Icon;

/// Adds actions to one menu and to the window; the icon is shown in the command palette.
class MenuFiller {
public:
    MenuFiller(MainWindow& window, QMenuBar& bar, const QString& title) : m_window(window), m_menu(bar.addMenu(title)) {}

    template <class Slot>
    MenuFiller& add(Icon icon, const QString& text, const QKeySequence& keys, Slot slot) {
        QAction* action = m_menu->addAction(text);
        action->setProperty(CommandPalette::kIconProperty, static_cast<int>(icon));
        action->setShortcut(keys);
        QObject::connect(action, &QAction::triggered, &m_window, slot);
        m_window.addAction(action);
        return *this;
    }

    /// What the command line does as well as the action added last; a pattern of commandText().
    MenuFiller& same(const char* pattern) {
        m_menu->actions().constLast()->setProperty(CommandPalette::kCommandProperty, QString::fromLatin1(pattern));
        return *this;
    }

    MenuFiller& separate() {
        m_menu->addSeparator();
        return *this;
    }

private:
    MainWindow& m_window;
    QMenu* m_menu;
};

void addFileAndEdit(MainWindow& window, QMenuBar& bar) {
    MenuFiller(window, bar, MainWindow::tr("&File"))
        .add(Icon::Folder, MainWindow::tr("&Open a bundle…"), Qt::CTRL | Qt::Key_O,
             [&window] { window.bundles()->chooseFolder(); })
        .same("import BUNDLE")
        .add(Icon::Tray, MainWindow::tr("Open a &bundle or model file…"), Qt::CTRL | Qt::ALT | Qt::Key_O,
             [&window] { window.bundles()->chooseFile(); })
        .same("import FILE")
        .add(Icon::Cloud, MainWindow::tr("&Connect to W&&B…"), Qt::CTRL | Qt::SHIFT | Qt::Key_O,
             [&window] { window.bundles()->connectRemote(); })
        .add(Icon::Flask, MainWindow::tr("Try the &sample"), Qt::CTRL | Qt::ALT | Qt::Key_S,
             [&window] { window.bundles()->trySample(); })
        .separate()
        .add(Icon::Close, MainWindow::tr("Close &tab"), Qt::CTRL | Qt::Key_W, [&window] { window.documents()->closeCurrent(); })
        .add(Icon::Out, MainWindow::tr("&Quit"), Qt::CTRL | Qt::Key_Q, [&window] { window.close(); });
    MenuFiller(window, bar, MainWindow::tr("&Edit"))
        .add(Icon::Search, MainWindow::tr("&Find in tree and flame"), Qt::CTRL | Qt::Key_F,
             [&window] {
                 if (VersionPage* page = window.documents()->current()) {
                     page->showView(VersionPage::View::Hierarchy);
                     page->hierarchy()->focusFind();
                 }
             })
        .add(Icon::Copy, MainWindow::tr("&Copy the command that does this"), Qt::CTRL | Qt::SHIFT | Qt::Key_C, [&window] {
            if (const VersionPage* page = window.documents()->current()) {
                QApplication::clipboard()->setText(page->command());
            }
        });
}

void addView(MainWindow& window, QMenuBar& bar) {
    const auto show = [&window](VersionPage::View view) {
        return [&window, view] {
            if (VersionPage* page = window.documents()->current()) {
                page->showView(view);
            }
        };
    };
    MenuFiller(window, bar, MainWindow::tr("&View"))
        .add(Icon::Search, MainWindow::tr("&Go to module, version or command"), Qt::CTRL | Qt::SHIFT | Qt::Key_P,
             [&window] { window.showPalette(); })
        .separate()
        .add(Icon::Tree, MainWindow::tr("&Hierarchy"), Qt::CTRL | Qt::Key_1, show(VersionPage::View::Hierarchy))
        .same("tree %v")
        .add(Icon::Grid, MainWindow::tr("&Tensors"), Qt::CTRL | Qt::Key_2, show(VersionPage::View::Tensors))
        .same("show %v --tensors")
        .add(Icon::Code, MainWindow::tr("&Source and arguments"), Qt::CTRL | Qt::Key_3, show(VersionPage::View::Source))
        .same("show %v --source")
        .add(Icon::Check, MainWindow::tr("&Validation"), Qt::CTRL | Qt::Key_4, show(VersionPage::View::Validation))
        .separate()
        .add(Icon::Back, MainWindow::tr("&Back"), Qt::ALT | Qt::Key_Left, [&window] { window.documents()->goBack(); })
        .add(Icon::Forward, MainWindow::tr("&Forward"), Qt::ALT | Qt::Key_Right, [&window] { window.documents()->goForward(); })
        .add(Icon::Database, MainWindow::tr("&Registry"), Qt::CTRL | Qt::SHIFT | Qt::Key_R,
             [&window] { window.registryDock()->toggle(); })
        .add(Icon::Rows, MainWindow::tr("&Jobs"), Qt::CTRL | Qt::Key_J,
             [&window] { window.jobsPanel()->setOpen(!window.jobsPanel()->isOpen()); })
        .separate()
        .add(Icon::Moon, MainWindow::tr("Switch between &light and dark"), Qt::CTRL | Qt::SHIFT | Qt::Key_L,
             [&window] { window.switchTheme(); })
        .add(Icon::Code, MainWindow::tr("Choose the e&ditor…"), {}, [&window] { window.bundles()->chooseEditor(); })
        .add(Icon::Chip, MainWindow::tr("Choose the &Python interpreter…"), {}, [&window] { window.bundles()->choosePython(); })
        .separate()
        .add(Icon::Layers, MainWindow::tr("R&eset layout"), {}, [&window] { window.resetLayout(); });
}

} // namespace

void addWindowActions(MainWindow& window, TopRow& top, Session& session) {
    QMenuBar& bar = *top.menuBar();
    const auto withPage = [&window](void (VersionPage::*act)()) {
        return [&window, act] {
            if (VersionPage* page = window.documents()->current()) {
                (page->*act)();
            }
        };
    };
    addFileAndEdit(window, bar);
    addView(window, bar);
    MenuFiller(window, bar, MainWindow::tr("&Registry"))
        .add(Icon::Search, MainWindow::tr("&Search the registry"), Qt::CTRL | Qt::Key_K,
             [&window] { window.registryDock()->focusQuery(); })
        .same("search QUERY")
        .add(Icon::Refresh, MainWindow::tr("&Read again"), Qt::Key_F5, [&session] { session.search().refresh(); });
    MenuFiller(window, bar, MainWindow::tr("R&un"))
        .add(Icon::Check, MainWindow::tr("&Validate this version"), Qt::CTRL | Qt::Key_R, withPage(&VersionPage::validate))
        .same("validate %v%d")
        .add(Icon::Play, MainWindow::tr("&Profile this version"), Qt::CTRL | Qt::Key_B, withPage(&VersionPage::profile))
        .same("profile %v%d")
        .add(Icon::Play, MainWindow::tr("Profile &forward and backward"), Qt::CTRL | Qt::SHIFT | Qt::Key_B,
             withPage(&VersionPage::profileBackward))
        .same("profile %v --backward%d")
        .add(Icon::Play, MainWindow::tr("Profile a &training step (SGD)"), {}, withPage(&VersionPage::profileTraining))
        .same("profile %v --train sgd%d")
        .add(Icon::Timer, MainWindow::tr("&Benchmark this version"), Qt::CTRL | Qt::ALT | Qt::Key_B,
             withPage(&VersionPage::benchmark))
        .same("benchmark %v%d")
        .add(Icon::Sliders, MainWindow::tr("&Sweep a dimension…"), {}, withPage(&VersionPage::chooseSweep))
        .same("sweep %v --dim batch=1,2,4,8%d")
        .add(Icon::Code, MainWindow::tr("&Edit the source"), Qt::CTRL | Qt::Key_E, withPage(&VersionPage::editSource))
        .same("verify %v --edit --watch%d")
        .separate()
        .add(Icon::Chip, MainWindow::tr("&Load a library of operators…"), {}, [&window] { window.bundles()->chooseLibrary(); })
        .add(Icon::Chip, MainWindow::tr("Load &no more libraries"), {}, [&session] { session.forgetLibraries(); })
        .separate()
        .add(Icon::Close, MainWindow::tr("C&ancel all jobs"), {}, [&session] { session.jobs().cancelAll(); })
        .add(Icon::Minus, MainWindow::tr("&Clear finished jobs"), {}, [&session] { session.jobs().clearFinished(); });
    MenuFiller(window, bar, MainWindow::tr("&Help")).add(Icon::Info, MainWindow::tr("&About ModuleLens"), {}, [&window] {
        QMessageBox::about(&window, MainWindow::tr("About ModuleLens"),
                           MainWindow::tr("ModuleLens %1\nCapture, rebuild, check and measure one module of a PyTorch model.")
                               .arg(QApplication::applicationVersion()));
    });
}

} // namespace modulelens::explorer
