// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>

class QProcessEnvironment;

namespace modulelens::explorer {

/// Program and arguments that open `file` in the user's editor: the setting, else VISUAL, else EDITOR. "{file}" in them stands
/// for the file, which else is added at the end. An editor that needs a terminal is passed over, except in the setting.
/// Empty: the desktop knows what opens the file.
[[nodiscard]] QStringList editorCommand(const QString& setting, const QProcessEnvironment& environment, const QString& file);

} // namespace modulelens::explorer
