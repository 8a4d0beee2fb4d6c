// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/cli/CliRun.h"

#include "tests/support/TestPaths.h"

#include <QProcess>

namespace modulelens::test {

CliResult runCli(const std::filesystem::path& registry, const std::vector<std::string>& words,
                 const std::map<std::string, std::string>& environment) {
    QProcess process;
    QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
    variables.insert(QStringLiteral("MODULELENS_REGISTRY"), QString::fromStdString(registry.string()));
    variables.remove(QStringLiteral("MODULELENS_WORKER"));
    for (const auto& [name, value] : environment) {
        variables.insert(QString::fromStdString(name), QString::fromStdString(value));
    }
    process.setProcessEnvironment(variables);
    QStringList arguments;
    for (const std::string& word : words) {
        arguments.append(QString::fromStdString(word));
    }
    process.start(QString::fromStdString(programPath("modulelens").string()), arguments);
    process.waitForFinished(60'000);
    CliResult result;
    result.exitCode = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    result.output = process.readAllStandardOutput().toStdString();
    result.errors = process.readAllStandardError().toStdString();
    return result;
}

std::string scriptedWorker(const nlohmann::json& script) {
    // QProcess::splitCommand reads three quotes as one.
    std::string quoted = "\"";
    for (const char c : script.dump()) {
        quoted += c == '"' ? "\"\"\"" : std::string(1, c);
    }
    return '"' + programPath("scripted-worker").string() + "\" " + quoted + '"';
}

std::filesystem::path copyGoldenBundle(const std::filesystem::path& folder) {
    const std::filesystem::path golden = std::filesystem::directory_iterator(dataPath("capture/v1"))->path();
    const std::filesystem::path copy = folder / golden.filename();
    std::filesystem::create_directories(folder);
    std::filesystem::copy(golden, copy, std::filesystem::copy_options::recursive);
    return copy;
}

} // namespace modulelens::test
