// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/EditorCommand.h"

#include <QFileInfo>
#include <QProcess>
#include <QProcessEnvironment>

namespace modulelens::explorer {

namespace {

bool needsTerminal(const QStringList& words) {
    static const QStringList editors{QStringLiteral("vi"),    QStringLiteral("vim"),  QStringLiteral("nvim"),
                                     QStringLiteral("view"),  QStringLiteral("nano"), QStringLiteral("pico"),
                                     QStringLiteral("ed"),    QStringLiteral("ex"),   QStringLiteral("micro"),
                                     QStringLiteral("helix"), QStringLiteral("hx"),   QStringLiteral("joe"),
                                     QStringLiteral("ne"),    QStringLiteral("jed"),  QStringLiteral("mcedit"),
                                     QStringLiteral("kak"),   QStringLiteral("tilde")};
    const QString program = QFileInfo(words.first()).fileName();
    const bool isEmacsInTerminal = program.startsWith(QStringLiteral("emacs")) &&
                                   (words.contains(QStringLiteral("-nw")) || words.contains(QStringLiteral("-t")) ||
                                    words.contains(QStringLiteral("-tty")));
    return editors.contains(program) || isEmacsInTerminal;
}

} // namespace

QStringList editorCommand(const QString& setting, const QProcessEnvironment& environment, const QString& file) {
    QStringList words = QProcess::splitCommand(setting);
    for (const char* name : {"VISUAL", "EDITOR"}) {
        if (words.isEmpty()) {
            words = QProcess::splitCommand(environment.value(QString::fromLatin1(name)));
            if (!words.isEmpty() && needsTerminal(words)) {
                words.clear();
            }
        }
    }
    if (words.isEmpty()) {
        return {};
    }
    const QString place = QStringLiteral("{file}");
    const bool hasPlace = words.join(u' ').contains(place);
    words.replaceInStrings(place, file);
    if (!hasPlace) {
        words.append(file);
    }
    return words;
}

} // namespace modulelens::explorer
