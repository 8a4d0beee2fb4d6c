// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/cli/CliRun.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QTemporaryDir>
#include <QTest>

#include <memory>

using nlohmann::json;
using namespace modulelens::test;

/// The verbs that keep a registry in order, on registries made from the golden bundle.
class RegistryCommandsTest : public QObject {
    Q_OBJECT

private slots:
    void init();
    void facetsAndSavedSearches();
    void notesAndLinks();
    void export_twiceIsTheSame();
    void deletedVersion_comesBackOrGoes();
    void verify_findsACutPack();
    void stats_count();
    void move_opensElsewhere();
    void wrongAction_isNearest();

private:
    [[nodiscard]] CliResult run(std::vector<std::string> words) const {
        words.emplace_back("--json");
        return runCli(m_registry, words);
    }
    [[nodiscard]] json data(const std::vector<std::string>& words, int exitCode = 0) const {
        const CliResult result = run(words);
        if (result.exitCode != exitCode) {
            QTest::qFail(qPrintable(QString::fromStdString(result.output + result.errors)), __FILE__, __LINE__);
        }
        const json document = result.json();
        return document.is_object() && document["data"].is_object() ? document["data"] : json::object();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::filesystem::path m_registry;
};

void RegistryCommandsTest::init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_registry = std::filesystem::path(m_folder->path().toStdString()) / "registry";
    QCOMPARE(data({"import", dataPath("capture/v1").string()})["versions_new"].get<int>(), 3);
}

void RegistryCommandsTest::facetsAndSavedSearches() {
    QCOMPARE(run({"tag", "add", "golden::linear", "slow"}).exitCode, 0);
    const json found = data({"search", "linear", "--facets", "--sort", "flops", "--save", "mine"});
    QCOMPARE(found["total"].get<int>(), 1);
    QCOMPARE(found["facets"]["model"][0]["value"].get<std::string>(), std::string("golden"));
    QCOMPARE(found["facets"]["tag"].size(), 2U);
    QCOMPARE(data({"search", "--saved", "mine"})["total"].get<int>(), 1);
    QCOMPARE(data({"search", "--saved", "mine", "tag:fast"})["total"].get<int>(), 0);
    QCOMPARE(run({"search", "--saved", "yours"}).exitCode, 3);
    QCOMPARE(run({"search", "--save", "mine"}).exitCode, 0);
    QCOMPARE(run({"search", "--saved", "mine"}).exitCode, 3);
    QCOMPARE(run({"search", "--sort", "colour"}).exitCode, 2);
}

void RegistryCommandsTest::notesAndLinks() {
    QCOMPARE(data({"note", "golden::linear", "slower", "since v2"})["note"].get<std::string>(), std::string("slower since v2"));
    QCOMPARE(data({"note", "golden::linear"})["note"].get<std::string>(), std::string("slower since v2"));
    QCOMPARE(data({"note", "golden::linear", ""})["note"].get<std::string>(), std::string());
    const json links = data({"link", "golden::linear", "candidate-of", "golden::activation"})["links"];
    QCOMPARE(links.size(), 1U);
    QCOMPARE(links[0]["kind"].get<std::string>(), std::string("candidate_of"));
    QVERIFY(data({"link", "golden::activation"})["links"][0]["incoming"].get<bool>());
    const json shown = data({"show", "golden::linear"});
    QVERIFY(shown["note"].is_null());
    QVERIFY(shown["links"] == links);
    QCOMPARE(run({"link", "golden::activation", "derived-from", "golden::linear"}).exitCode, 2);
    QCOMPARE(run({"link", "golden::linear", "copied-from", "golden::"}).exitCode, 2);
    QVERIFY(data({"link", "golden::linear", "candidate-of", "golden::activation", "--remove"})["links"].empty());
}

void RegistryCommandsTest::export_twiceIsTheSame() {
    const std::string once = m_folder->path().toStdString() + "/once";
    const std::string twice = m_folder->path().toStdString() + "/twice";
    const json exported = data({"export", "golden::", "golden::linear", once});
    QCOMPARE(exported["versions"].get<int>(), 2);
    QCOMPARE(exported["bundles"].size(), 1U);
    QVERIFY(data({"export", "golden::", "golden::linear", twice})["bytes_written"] == exported["bytes_written"]);
    QCOMPARE(data({"import", once})["versions_known"].get<int>(), 2);
    QCOMPARE(run({"export", "golden::", "golden::linear", once}).exitCode, 2);
    QCOMPARE(run({"export", "golden::nothing", once}).exitCode, 3);
}

void RegistryCommandsTest::deletedVersion_comesBackOrGoes() {
    QCOMPARE(run({"delete", "golden::linear"}).exitCode, 0);
    const json trash = data({"registry", "trash"})["versions"];
    QCOMPARE(trash.size(), 1U);
    const std::string id = trash[0]["id"].get<std::string>();
    QCOMPARE(data({"registry", "restore", id})["versions"][0]["address"].get<std::string>(), std::string("golden::linear@v0"));
    QCOMPARE(run({"registry", "restore", id}).exitCode, 3);
    QCOMPARE(run({"delete", "golden::linear"}).exitCode, 0);
    QCOMPARE(data({"registry", "gc", "--older-than", "1"})["versions"].get<int>(), 0);
    const json would = data({"registry", "gc", "--dry-run"});
    QVERIFY(would["dry_run"].get<bool>());
    QCOMPARE(data({"registry", "trash"})["versions"].size(), 1U);
    const json done = data({"registry", "gc"});
    QCOMPARE(done["versions"].get<int>(), 1);
    QVERIFY(done["bytes_freed"] == would["bytes_freed"] && done["bytes_freed"].get<int>() > 0);
    QVERIFY(data({"registry", "trash"})["versions"].empty());
    QCOMPARE(data({"registry", "verify"})["verdict"].get<std::string>(), std::string("pass"));
}

void RegistryCommandsTest::verify_findsACutPack() {
    for (const auto& entry : std::filesystem::directory_iterator(m_registry / "packs")) {
        std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
    }
    const json report = data({"registry", "verify"}, 9);
    QCOMPARE(report["verdict"].get<std::string>(), std::string("fail"));
    QCOMPARE(report["problems"].size(), 1U);
}

void RegistryCommandsTest::stats_count() {
    const json numbers = data({"registry", "stats"});
    QCOMPARE(numbers["versions"].get<int>(), 3);
    QCOMPARE(numbers["schema"].get<int>(), 3);
    QVERIFY(numbers["pack_bytes"].get<int>() > 0);
    QCOMPARE(numbers["dead_bytes"].get<int>(), 0);
}

void RegistryCommandsTest::move_opensElsewhere() {
    const std::string target = m_folder->path().toStdString() + "/elsewhere";
    QCOMPARE(data({"registry", "move", target})["to"].get<std::string>(), target);
    QCOMPARE(run({"search"}).exitCode, 3);
    m_registry = target;
    QCOMPARE(data({"search"})["total"].get<int>(), 3);
    QCOMPARE(run({"registry", "move", target}).exitCode, 2);
    QCOMPARE(run({"registry", "move"}).exitCode, 2);
}

void RegistryCommandsTest::wrongAction_isNearest() {
    const CliResult result = run({"registry", "verfy"});
    QCOMPARE(result.exitCode, 2);
    QVERIFY(result.output.find("verify") != std::string::npos);
}

ML_TEST_MAIN(RegistryCommandsTest)
#include "tst_RegistryCommands.moc"
