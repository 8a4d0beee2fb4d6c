// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/Settings.h"

#include <QSettings>

namespace modulelens::explorer {

namespace {
constexpr int kGreatestFlameHeight = 4000;
}

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
    const QString metric = store.value(QStringLiteral("metric")).toString();
    if (!metric.isEmpty()) {
        settings.metric = metric;
    }
    bool isNumber = false;
    const int height = store.value(QStringLiteral("flameHeight")).toInt(&isNumber);
    if (isNumber && height > 0 && height < kGreatestFlameHeight) {
        settings.flameHeight = height;
    }
    settings.jobsOpen = store.value(QStringLiteral("jobsOpen")).toBool();
    settings.lastVersion = store.value(QStringLiteral("lastVersion")).toString();
    return settings;
}

void Settings::save(QSettings& store) const {
    store.setValue(QStringLiteral("version"), kVersion);
    store.setValue(QStringLiteral("geometry"), geometry);
    store.setValue(QStringLiteral("windowState"), windowState);
    store.setValue(QStringLiteral("theme"), theme);
    store.setValue(QStringLiteral("metric"), metric);
    store.setValue(QStringLiteral("flameHeight"), flameHeight);
    store.setValue(QStringLiteral("jobsOpen"), jobsOpen);
    store.setValue(QStringLiteral("lastVersion"), lastVersion);
}

void Settings::resetLayout() {
    geometry.clear();
    windowState.clear();
    flameHeight = 0;
    jobsOpen = false;
}

} // namespace modulelens::explorer
