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

std::vector<std::string> defaultWorkerCommand() {
    const QString setting = qEnvironmentVariable("MODULELENS_WORKER");
    if (!setting.trimmed().isEmpty()) {
        std::vector<std::string> command;
        for (const QString& part : QProcess::splitCommand(setting)) {
            command.push_back(part.toStdString());
        }
        return command;
    }
    const std::string found = findCompanionProgram("modulelens-worker");
    return {found.empty() ? "modulelens-worker" : found};
}

} // namespace modulelens::operations
