// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>

#include <optional>

namespace modulelens::explorer {

/// What the program was asked for on its command line.
struct CommandLine {
    QString registry;                 ///< Folder; empty: the default one.
    QString version;                  ///< Address or id to open; empty: none.
    QString view;                     ///< Page to open it on; empty: the first.
    QString theme;                    ///< "light", "dark", "system"; empty: as the settings say.
    QString screenshots;              ///< Folder for pictures; empty: an ordinary start.
    QSize size{1600, 1000};           ///< Of the pictures.
    bool exitAfterFirstPaint = false;
    QString error;                    ///< Set when the arguments make no sense.
    bool helpWanted = false;
};

/// Reads the arguments without the program's name. A version may be a deep link (`modulelens:open?version=...&view=...`).
[[nodiscard]] CommandLine parseCommandLine(const QStringList& arguments);
[[nodiscard]] QString commandLineHelp();

} // namespace modulelens::explorer
