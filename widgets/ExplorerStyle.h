// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QProxyStyle>

namespace modulelens::widgets {

/// Fusion without the underlines of menu letters, which clutter the first row. Owned by the application.
class ExplorerStyle : public QProxyStyle {
    Q_OBJECT

public:
    ExplorerStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* data) const override {
        return hint == SH_UnderlineShortcut ? 0 : QProxyStyle::styleHint(hint, option, widget, data);
    }
};

} // namespace modulelens::widgets
