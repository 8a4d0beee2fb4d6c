// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/Settings.h"

#include <QSettings>

namespace modulelens::explorer {

Settings Settings::load(QSettings& store) {
    Settings settings;
    if (store.value(QStringLiteral("version")).toInt() != kVersion) {
        return settings;
    }
    settings.geometry = store.value(QStringLiteral("geometry")).toByteArray();
    settings.windowState = store.value(QStringLiteral("windowState")).toByteArray();
    const QString theme = store.value(QStringLiteral("theme")).toString();
    if (theme == QStringLiteral("light") || theme == QStringLiteral("dark")) {
        settings.theme = theme;
    }
    settings.jobsOpen = store.value(QStringLiteral("jobsOpen")).toBool();
    settings.lastVersion = store.value(QStringLiteral("lastVersion")).toString();
    settings.python = store.value(QStringLiteral("python")).toString();
    settings.editor = store.value(QStringLiteral("editor")).toString();
    return settings;
}

void Settings::save(QSettings& store) const {
    store.setValue(QStringLiteral("version"), kVersion);
    store.setValue(QStringLiteral("geometry"), geometry);
    store.setValue(QStringLiteral("windowState"), windowState);
    store.setValue(QStringLiteral("theme"), theme);
    store.setValue(QStringLiteral("jobsOpen"), jobsOpen);
    store.setValue(QStringLiteral("lastVersion"), lastVersion);
    store.setValue(QStringLiteral("python"), python);
    store.setValue(QStringLiteral("editor"), editor);
}

void Settings::resetLayout() {
    geometry.clear();
    windowState.clear();
    jobsOpen = false;
}

} // namespace modulelens::explorer
