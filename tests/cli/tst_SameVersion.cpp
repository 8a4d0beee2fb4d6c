// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "tests/cli/CliRun.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using nlohmann::json;
using namespace modulelens::test;

/// A version measured against itself, many times: nothing may ever seem faster or slower.
class SameVersion : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(programPath("modulelens-worker"))) {
            QSKIP("the worker is not built, since LibTorch was not found");
        }
        m_registry = std::filesystem::path(m_folder.path().toStdString()) / "registry";
        QCOMPARE(runCli(m_registry, {"import", dataPath("capture/v1").string()}).exitCode, 0);
    }

    void inOneWorker_isNeverFasterNorSlower() { measure({}, 15); }

    void inTwoWorkers_isNeverFasterNorSlower() { measure({"--against-worker", programPath("modulelens-worker").string()}, 5); }

private:
    void measure(const std::vector<std::string>& more, int rounds) {
        for (int round = 0; round < rounds; ++round) {
            std::vector<std::string> words = {"benchmark",           "golden::",  "golden::", "--json", "--seed",
                                              std::to_string(round), "--threads", "1"};
            words.insert(words.end(), more.begin(), more.end());
            const CliResult result = runCli(m_registry, words);
            QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
            const json data = result.json()["data"];
            const std::string verdict = data["verdict"].get<std::string>();
            QVERIFY2(verdict == "same" || verdict == "ambiguous", data.dump().c_str());
        }
    }

    QTemporaryDir m_folder;
    std::filesystem::path m_registry;
};

ML_TEST_MAIN(SameVersion)
#include "tst_SameVersion.moc"
