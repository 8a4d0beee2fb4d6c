// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/Theme.h"

#include <QObject>

namespace modulelens::widgets {

/// Decides between light and dark and dresses the application (palette and style sheet). One for the process, owned by
/// main(). Confined to its thread.
class ThemeController : public QObject {
    Q_OBJECT

public:
    enum class Setting { Light, Dark, System };

    /// Takes over the application's palette; System follows the palette that the platform gave, as it changes.
    explicit ThemeController(QObject* parent = nullptr);
    ~ThemeController() override;

    void setSetting(Setting setting);
    [[nodiscard]] Setting setting() const { return m_setting; }

    /// Mode of the running controller, Light when there is none.
    [[nodiscard]] static Theme::Mode currentMode();
    /// "light", "dark" or "system"; anything else is System.
    [[nodiscard]] static Setting settingFromName(QStringView name);
    [[nodiscard]] static QString settingName(Setting setting);

signals:
    /// The colours changed; the palette change that Qt sends to every widget has gone out.
    void changed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void apply();

    Setting m_setting = Setting::System;
    Theme::Mode m_systemMode = Theme::Mode::Light;
    bool m_applying = false;
};

} // namespace modulelens::widgets
