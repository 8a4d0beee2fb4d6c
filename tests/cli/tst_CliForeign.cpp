// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <filesystem>

#include "tests/cli/CliRun.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using nlohmann::json;
using namespace modulelens::test;

/// Files that no tracer wrote, with the real program and the real worker: exit codes and sentences.
class CliForeign : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(programPath("modulelens-worker"))) {
            QSKIP("the worker is not built, since LibTorch was not found");
        }
        m_files = qEnvironmentVariable("MODULELENS_TEST_FOREIGN").toStdString();
        QVERIFY(std::filesystem::exists(m_files / "tied.pt2"));
    }

    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void plainProgram_isImportedAndMeasured() {
        const CliResult imported = run({"import", file("tied.pt2"), "--model", "my net", "--trust", "--json"});
        QVERIFY2(imported.exitCode == 0, (imported.output + imported.errors).c_str());
        QCOMPARE(imported.json()["data"]["versions"][0]["address"].get<std::string>(), std::string("my net::@v0"));
        QCOMPARE(run({"show", "my net::", "--tensors"}).exitCode, 0);
        const CliResult tree = run({"tree", "my net::", "--json"});
        QVERIFY(tree.json()["data"]["nodes"].size() >= 6U);
        const CliResult profile = run({"profile", "my net::", "--json"});
        QVERIFY2(profile.exitCode == 0, (profile.output + profile.errors).c_str());
        QCOMPARE(profile.json()["data"]["totals"]["flops"].get<int>(), 2160);
        const CliResult validated = run({"validate", "my net::", "--json"});
        QCOMPARE(validated.exitCode, 4);
        QCOMPARE(validated.json()["data"]["verdict"].get<std::string>(), std::string("not_comparable"));
    }

    void withoutConsent_theExitCodeIs12() {
        const CliResult script = run({"import", file("counter.pt"), "--json"});
        QCOMPARE(script.exitCode, 12);
        QCOMPARE(script.json()["error"]["code"].get<std::string>(), std::string("consent_needed"));
        const CliResult program = run({"import", file("tied.pt2"), "--json"});
        QCOMPARE(program.exitCode, 0);
        QCOMPARE(program.json()["warnings"].size(), 1U);
        QCOMPARE(run({"tree", "tied::"}).exitCode, 0);
        QCOMPARE(run({"profile", "tied::"}).exitCode, 12);
        QCOMPARE(run({"profile", "tied::", "--ops-library", library("libtest-operators.so")}).exitCode, 12);
        QCOMPARE(run({"consent", "list", "--json"}).json()["data"]["consents"].size(), 0U);
    }

    void trust_isRememberedUntilItIsTakenBack() {
        QCOMPARE(run({"import", file("counter.pt"), "--input", "float32[4,8]", "--trust"}).exitCode, 0);
        QCOMPARE(run({"rebuild", "counter::"}).exitCode, 0);
        const json consents = run({"consent", "--json"}).json()["data"]["consents"];
        QCOMPARE(consents.size(), 1U);
        QCOMPARE(consents[0]["kind"].get<std::string>(), std::string("torchscript"));
        QCOMPARE(run({"consent", "forget", consents[0]["sha256"].get<std::string>().substr(0, 12)}).exitCode, 0);
        QCOMPARE(run({"rebuild", "counter::"}).exitCode, 12);
        QCOMPARE(run({"consent", "forget", "0"}).exitCode, 3);
        QCOMPARE(run({"consent", "forget"}).exitCode, 2);
    }

    void badFiles_are9AndLeaveNothing() {
        for (const char* name :
             {"truncated.pt", "edited.pt", "pickled_weight.pt2", "legacy.pt", "checkpoint.pt", "other.zip"}) {
            const CliResult refused = run({"import", file(name), "--trust"});
            QVERIFY2(refused.exitCode == 9, (name + refused.errors).c_str());
            QVERIFY2(std::count(refused.errors.begin(), refused.errors.end(), '\n') == 1, refused.errors.c_str());
        }
        QCOMPARE(run({"import", file("tied.pt2"), "--input", "float33[1]"}).exitCode, 2);
        QCOMPARE(run({"search", "--json"}).json()["data"]["total"].get<int>(), 0);
    }

    void libraries_areLoadedOrEndTheWorker() {
        QCOMPARE(run({"import", file("custom_operator.pt2"), "--trust"}).exitCode, 0);
        const CliResult missing = run({"rebuild", "custom_operator::"});
        QCOMPARE(missing.exitCode, 9);
        QVERIFY2(missing.errors.find("namespace 'modulelens_test'") != std::string::npos, missing.errors.c_str());
        QCOMPARE(run({"rebuild", "custom_operator::", "--ops-library", library("libtest-operators.so"), "--trust"}).exitCode,
                 0);
        // Now without --trust: it was remembered.
        QCOMPARE(run({"rebuild", "custom_operator::", "--ops-library", library("libtest-operators.so")}).exitCode, 0);
        const CliResult crashed =
            run({"rebuild", "custom_operator::", "--ops-library", library("libcrashing-library.so"), "--trust"});
        QCOMPARE(crashed.exitCode, 11);
#if !defined(__SANITIZE_ADDRESS__)  // It ends a program that crashes with an exit code.
        QVERIFY2(crashed.errors.find("SIGSEGV") != std::string::npos, crashed.errors.c_str());
#endif
        QCOMPARE(run({"rebuild", "custom_operator::", "--ops-library", "/nowhere.so", "--trust"}).exitCode, 3);
    }

private:
    CliResult run(const std::vector<std::string>& words) {
        const std::filesystem::path folder = m_folder->path().toStdString();
        return runCli(folder / "registry", words, {{"XDG_CONFIG_HOME", (folder / "settings").string()}});
    }
    [[nodiscard]] std::string file(const char* name) const { return (m_files / name).string(); }
    [[nodiscard]] static std::string library(const char* name) {
        return (programPath("modulelens-worker").parent_path() / name).string();
    }

    std::filesystem::path m_files;
    std::unique_ptr<QTemporaryDir> m_folder;
};

ML_TEST_MAIN(CliForeign)
#include "tst_CliForeign.moc"
