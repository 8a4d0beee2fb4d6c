// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QString>

class QSettings;

namespace modulelens::explorer {

/// What the window keeps between starts. Written with a version; anything unreadable or of another version is as if it were
/// not there. Confined to its thread.
struct Settings {
    static constexpr int kVersion = 1;

    QByteArray geometry;
    QByteArray windowState;
    QString theme = QStringLiteral("system");
    bool jobsOpen = false;
    QString lastVersion;               ///< Id of the version that was open last.
    QString python;                    ///< Interpreter for Python code; empty: the active environment's.
    QString editor;                    ///< Command of the editor; empty: as the environment says.

    [[nodiscard]] static Settings load(QSettings& store);
    void save(QSettings& store) const;
    /// Forgets the layout (geometry, docks, splitters) and keeps the rest.
    void resetLayout();
};

} // namespace modulelens::explorer
