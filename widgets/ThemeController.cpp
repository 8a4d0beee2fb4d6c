// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/ThemeController.h"

#include "widgets/Fonts.h"
#include "widgets/StyleSheet.h"

#include <QApplication>
#include <QEvent>
#include <QScopedValueRollback>

namespace modulelens::widgets {

namespace {

/// Mode of the running controller.
Theme::Mode& runningMode() {
    static Theme::Mode mode = Theme::Mode::Light;
    return mode;
}

Theme::Mode modeOf(const QPalette& palette) {
    constexpr int kMiddle = 128;
    return palette.color(QPalette::Window).lightness() < kMiddle ? Theme::Mode::Dark : Theme::Mode::Light;
}

} // namespace

ThemeController::ThemeController(QObject* parent) : QObject(parent), m_systemMode(modeOf(QApplication::palette())) {
    qApp->installEventFilter(this);
    apply();
}

ThemeController::~ThemeController() {
    runningMode() = Theme::Mode::Light;
}

void ThemeController::setSetting(Setting setting) {
    if (m_setting != setting) {
        m_setting = setting;
        apply();
    }
}

Theme::Mode ThemeController::currentMode() {
    return runningMode();
}

ThemeController::Setting ThemeController::settingFromName(QStringView name) {
    if (name == u"light") {
        return Setting::Light;
    }
    return name == u"dark" ? Setting::Dark : Setting::System;
}

QString ThemeController::settingName(Setting setting) {
    switch (setting) {
        case Setting::Light:
            return QStringLiteral("light");
        case Setting::Dark:
            return QStringLiteral("dark");
        case Setting::System:
            break;
    }
    return QStringLiteral("system");
}

bool ThemeController::eventFilter(QObject* watched, QEvent* event) {
    // A palette that is not ours comes from the platform: the desktop changed between light and dark.
    if (!m_applying && watched == qApp && event->type() == QEvent::ApplicationPaletteChange) {
        const QPalette palette = QApplication::palette();
        if (palette.color(QPalette::Window) != Theme::current().window) {
            m_systemMode = modeOf(palette);
            apply();
        }
    }
    return QObject::eventFilter(watched, event);
}

void ThemeController::apply() {
    const QScopedValueRollback applying(m_applying, true);
    runningMode() = m_setting == Setting::Light  ? Theme::Mode::Light
                    : m_setting == Setting::Dark ? Theme::Mode::Dark
                                                 : m_systemMode;
    const Theme& theme = Theme::current();
    QApplication::setFont(uiFont(12));
    QApplication::setPalette(theme.palette());
    qApp->setStyleSheet(styleSheetFor(theme));
    emit changed();
}

} // namespace modulelens::widgets
