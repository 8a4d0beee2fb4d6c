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

/// Memory, backward and training steps through the command line, on the golden bundle and with the real worker.
class MemoryCommandTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(programPath("modulelens-worker"))) {
            QSKIP("the worker is not built, since LibTorch was not found");
        }
        m_registry = std::filesystem::path(m_folder.path().toStdString()) / "registry";
        QCOMPARE(runCli(m_registry, {"import", dataPath("capture/v1").string()}).exitCode, 0);
    }

    void memory_hasTotalsNodesAndATimeline() {
        const CliResult result = runCli(m_registry, {"memory", "golden::", "--all", "--threads", "1", "--json"});
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json data = result.json()["data"];
        const json& totals = data["totals"];
        // Linear(4, 4) and BatchNorm1d(4); the latter's running mean, variance and count of batches are buffers.
        QCOMPARE(totals["parameter_bytes"].get<int>(), 112);
        QVERIFY(totals["buffer_bytes"].get<int>() >= 4 * 4 * 2 + 8);
        QCOMPARE(totals["gradient_bytes"].get<int>(), 112);
        QCOMPARE(totals["optimizer_state_bytes"]["sgd"].get<int>(), 0);
        QCOMPARE(totals["optimizer_state_bytes"]["adam"].get<int>(), 2 * 112 + 4 * 4);
        QVERIFY(totals["training_peak_bytes"].get<std::int64_t>() > totals["peak_bytes"].get<std::int64_t>());
        QVERIFY(totals["reserved_peak_bytes"].is_null() && data["reasons"]["reserved_peak_bytes"].is_string());
        QCOMPARE(data["nodes"].size(), data["nodes_total"].get<std::size_t>());
        for (const auto& [metric, total] : {std::pair("parameter_bytes", totals["parameter_bytes"]),
                                            std::pair("training_peak_bytes", totals["training_peak_bytes"]),
                                            std::pair("gradients_bytes", totals["gradient_bytes"])}) {
            std::int64_t sum = 0;
            for (const json& node : data["nodes"]) {
                sum += node[metric]["self"].is_null() ? 0 : node[metric]["self"].get<std::int64_t>();
            }
            QCOMPARE(sum, total.get<std::int64_t>());
        }
        const std::filesystem::path timeline = data["timeline_file"].get<std::string>();
        QVERIFY(std::filesystem::exists(timeline));
        QVERIFY(timeline.string().starts_with(m_registry.string()));
        QVERIFY(data["events"].get<int>() > 0);
        const json results = runCli(m_registry, {"show", "golden::", "--json"}).json()["data"]["results"];
        QCOMPARE(results.at(0)["kind"].get<std::string>(), std::string("memory"));
    }

    void text_namesTheTimeline() {
        const CliResult result = runCli(m_registry, {"memory", "golden::linear"});
        QCOMPARE(result.exitCode, 0);
        QVERIFY(result.output.find("Peak of training") != std::string::npos);
        QVERIFY(result.output.find("Timeline of") != std::string::npos);
    }

    void profileOfATrainingStep_hasItsParts() {
        const CliResult result = runCli(m_registry, {"profile", "golden::", "--train", "adam", "--all", "--json"});
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json data = result.json()["data"];
        const json& training = data["training"];
        QCOMPARE(training["optimizer"].get<std::string>(), std::string("adam"));
        QCOMPARE(training["optimizer_state_bytes"].get<int>(), 2 * 112 + 4 * 4);
        QVERIFY(training["step_ns"].get<std::int64_t>() > training["optimizer_ns"].get<std::int64_t>());
        std::int64_t backward = 0;
        std::int64_t optimizer = 0;
        for (const json& node : data["nodes"]) {
            const auto self = node["backward"]["latency_ns"]["self"].get<std::int64_t>();
            (node["name"] == "optimizer adam" ? optimizer : backward) += self;
        }
        QCOMPARE(optimizer, training["optimizer_ns"].get<std::int64_t>());
        QVERIFY(backward >= training["backward_ns"].get<std::int64_t>());
        // The weights are the captured ones again.
        QVERIFY(runCli(m_registry, {"validate", "golden::", "--json"}).json()["data"]["exact"].get<bool>());
    }

    void withoutTheOption_thereIsNoBackward() {
        const json data = runCli(m_registry, {"profile", "golden::linear", "--json"}).json()["data"];
        QVERIFY(data["training"].is_null());
        QVERIFY(data["nodes"][0]["backward"].is_null());
    }

    void captureWithoutGradients_isNotComparable() {
        const CliResult result = runCli(m_registry, {"validate", "golden::linear", "--backward", "--json"});
        QCOMPARE(result.exitCode, 4);
        const json data = result.json()["data"];
        QCOMPARE(data["gradients"].get<std::string>(), std::string("not_comparable"));
        QVERIFY(data["reason"].get<std::string>().find("backward=True") != std::string::npos);
        QVERIFY(runCli(m_registry, {"validate", "golden::linear", "--json"}).json()["data"]["gradients"].is_null());
    }

    void unknownOptimizer_isUsage() {
        for (const char* verb : {"memory", "profile"}) {
            const CliResult result = runCli(m_registry, {verb, "golden::", "--train", "lion", "--json"});
            QCOMPARE(result.exitCode, 2);
            QVERIFY(result.json()["error"]["message"].get<std::string>().find("lion") != std::string::npos);
        }
    }

    void workerThatDies_isNamedAndTheNextOneWorks_data() {
        QTest::addColumn<QString>("verb");
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("method");
        QTest::newRow("memory") << "memory" << "--all" << "memory";
        QTest::newRow("profile") << "profile" << "--backward" << "profile";
        QTest::newRow("gradients") << "validate" << "--backward" << "gradients";
    }
    void workerThatDies_isNamedAndTheNextOneWorks() {
        QFETCH(QString, verb);
        QFETCH(QString, option);
        QFETCH(QString, method);
        const std::vector<std::string> words = {verb.toStdString(), "golden::linear", option.toStdString(), "--json"};
        const CliResult died = runCli(m_registry, words, {{"MODULELENS_WORKER_FAULT", "crash-in:" + method.toStdString()}});
        QCOMPARE(died.exitCode, 11);
        QCOMPARE(died.json()["error"]["code"].get<std::string>(), std::string("worker_crashed"));
        const CliResult again = runCli(m_registry, words);
        QCOMPARE(again.json()["status"].get<std::string>(), std::string("ok"));
    }

private:
    QTemporaryDir m_folder;
    std::filesystem::path m_registry;
};

ML_TEST_MAIN(MemoryCommandTest)
#include "tst_MemoryCommand.moc"
