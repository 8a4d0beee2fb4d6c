// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/WorkerCommand.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>

namespace modulelens::operations {

std::string findCompanionProgram(const std::string& name) {
    const QString program = QString::fromStdString(name);
    const QFileInfo beside(QCoreApplication::applicationDirPath() + QLatin1Char('/') + program);
    if (beside.isFile() && beside.isExecutable()) {
        return beside.filePath().toStdString();
    }
    return QStandardPaths::findExecutable(program).toStdString();
}

std::vector<std::string> splitWorkerCommand(const std::string& command) {
    std::vector<std::string> words;
    for (const QString& part : QProcess::splitCommand(QString::fromStdString(command))) {
        words.push_back(part.toStdString());
    }
    return words;
}

std::vector<std::string> defaultWorkerCommand() {
    std::vector<std::string> words = splitWorkerCommand(qEnvironmentVariable("MODULELENS_WORKER").toStdString());
    if (!words.empty()) {
        return words;
    }
    const std::string found = findCompanionProgram("modulelens-worker");
    return {found.empty() ? "modulelens-worker" : found};
}

} // namespace modulelens::operations
