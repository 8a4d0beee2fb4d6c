// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"

#include <QCoreApplication>

int main(int argc, char** argv) {
    // The words are taken as bytes, before Qt decodes them: names and paths need not be text in the locale's encoding.
    const std::vector<std::string> words(argv + 1, argv + argc);
    const QCoreApplication application(argc, argv);
    QCoreApplication::setApplicationName(QStringLiteral("modulelens"));
    QCoreApplication::setApplicationVersion(QStringLiteral(MODULELENS_VERSION));
    return modulelens::cli::runCommandLine(words);
}
