// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/ScopeMenu.h"

#include "backend/profile/Export.h"
#include "models/Format.h"
#include "models/ProfileView.h"
#include "widgets/Icons.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>

namespace modulelens::widgets {

using models::ProfileView;
using profile::ScopeId;

namespace {

QString fromView(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

void copyText(const QString& text) {
    QGuiApplication::clipboard()->setText(text);
}

} // namespace

QMenu* makeScopeMenu(ProfileView* view, ScopeId scope, QWidget* parent) {
    const profile::Profile& shown = *view->profile();
    auto* menu = new QMenu(parent);
    QAction* zoom = menu->addAction(themedIcon(Icon::Search), QMenu::tr("Zoom here"));
    zoom->setEnabled(shown.hasChildren(scope) && view->zoomRoot() != scope);
    QObject::connect(zoom, &QAction::triggered, view, [view, scope] { view->zoomTo(scope); });
    QAction* out = menu->addAction(QMenu::tr("Zoom out"));
    out->setEnabled(view->zoomRoot() != 0);
    QObject::connect(out, &QAction::triggered, view, &ProfileView::zoomUp);
    QAction* whole = menu->addAction(QMenu::tr("Show everything"));
    whole->setEnabled(view->zoomRoot() != 0);
    QObject::connect(whole, &QAction::triggered, view, [view] { view->zoomTo(0); });
    menu->addSeparator();
    const QString className = models::bareClassName(shown.className(scope));
    const QString wanted = className.isEmpty() ? view->displayName(scope) : className;
    QAction* find = menu->addAction(QMenu::tr("Find all %1").arg(wanted));
    QObject::connect(find, &QAction::triggered, view, [view, wanted] { view->setSearchText(wanted); });
    menu->addSeparator();
    const QString name = view->displayName(scope);
    QAction* copyName = menu->addAction(themedIcon(Icon::Copy), QMenu::tr("Copy name"));
    QObject::connect(copyName, &QAction::triggered, menu, [name] { copyText(name); });
    const QString path = fromView(shown.path(scope));
    QAction* copyPath = menu->addAction(QMenu::tr("Copy qualified name"));
    copyPath->setEnabled(!path.isEmpty());
    QObject::connect(copyPath, &QAction::triggered, menu, [path] { copyText(path); });
    QAction* copyTable = menu->addAction(QMenu::tr("Copy as Markdown"));
    QObject::connect(copyTable, &QAction::triggered, view,
                     [view, scope] { copyText(QString::fromStdString(profile::markdown(*view->profile(), scope, 1))); });
    return menu;
}

} // namespace modulelens::widgets
