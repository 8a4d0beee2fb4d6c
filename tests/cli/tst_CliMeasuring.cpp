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

/// Benchmarks, sweeps and calibrations of the real program with the real worker: their form, never their times.
class CliMeasuring : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(programPath("modulelens-worker"))) {
            QSKIP("the worker is not built, since LibTorch was not found");
        }
        m_root = m_folder.path().toStdString();
        QCOMPARE(run({"import", dataPath("capture/v1").string()}).exitCode, 0);
    }

    void benchmark_hasEveryStatistic() {
        const json data = answered({"benchmark", "golden::", "--repetitions", "9", "--threads", "1"});
        QCOMPARE(data["mode"].get<std::string>(), std::string("hot"));
        QVERIFY(data["verdict"].is_null() && data["ratio"].is_null() && data["aa_band"].is_number());
        const json& side = data["sides"][0];
        QCOMPARE(side["n"].get<int>(), 9);
        QCOMPARE(side["samples_ns"].size(), 9U);
        QCOMPARE(side["order"].size(), 9U);
        for (const char* key : {"median_ns", "p25_ns", "p75_ns", "p95_ns", "min_ns", "max_ns", "mean_ns", "first_call_ns"}) {
            QVERIFY2(side[key].is_number_integer() && side[key].get<std::int64_t>() > 0, key);
        }
        QVERIFY(side["min_ns"] <= side["median_ns"] && side["median_ns"] <= side["max_ns"]);
        QCOMPARE(side["outputs"].get<std::string>(), std::string("exact"));
        QCOMPARE(side["environment"]["threads"].get<int>(), 1);
        // Two calls of one Linear(4, 4) on [3, 4].
        QCOMPARE(side["flops"].get<int>(), 192);
    }

    void twoVersions_areComparedInPairs() {
        const json data = answered({"benchmark", "golden::linear", "golden::", "--repetitions", "9", "--seed", "7"});
        QCOMPARE(data["pairs"].get<int>(), 9);
        QCOMPARE(data["seed"].get<int>(), 7);
        QCOMPARE(data["sides"].size(), 2U);
        QCOMPARE(data["ci95"].size(), 2U);
        QVERIFY(data["verdict"].is_string());
        QVERIFY(data["ci95"][0] <= data["ratio"] && data["ratio"] <= data["ci95"][1]);
        const json stored = answered({"show", "golden::linear"});
        QCOMPARE(stored["results"][0]["kind"].get<std::string>(), std::string("benchmark"));
    }

    void twoWorkers_takeTurns() {
        const json data = answered({"benchmark", "golden::linear", "--against-worker",
                                    programPath("modulelens-worker").string(), "--repetitions", "4", "--threads", "1"});
        QCOMPARE(data["samples_per_turn"].get<int>(), 5);
        QCOMPARE(data["pairs"].get<int>(), 4);
        for (const json& side : data["sides"]) {
            QCOMPARE(side["n"].get<int>(), 20);
            QCOMPARE(side["outputs"].get<std::string>(), std::string("exact"));
        }
    }

    void calibration_givesBenchmarksTheirFloor() {
        QVERIFY(answered({"benchmark", "golden::linear", "--repetitions", "3", "--threads", "1"})["sides"][0]["floor_ns"]
                    .is_null());
        const json data = answered({"calibrate", "--budget", "0.2", "--threads", "1"});
        QVERIFY(data["peak_bytes_per_second"].get<std::int64_t>() > 0);
        QCOMPARE(data["peaks"][0]["dtype"].get<std::string>(), std::string("float32"));
        QVERIFY(std::filesystem::exists(data["file"].get<std::string>()));
        const json side = answered({"benchmark", "golden::linear", "--repetitions", "3", "--threads", "1"})["sides"][0];
        QVERIFY(side["floor_ns"].is_number_integer() && side["floor_reason"].is_null());
        // A profile keeps them for its roofline, when they were measured with its thread count.
        const json peaks = answered({"profile", "golden::linear", "--threads", "1"})["peaks"];
        QVERIFY(peaks["bytes_per_second"] == data["peak_bytes_per_second"]);
        QVERIFY(peaks["flops_per_second"]["float32"] == data["peaks"][0]["flops_per_second"]);
        QVERIFY(answered({"profile", "golden::linear", "--threads", "2"})["peaks"].is_null());
    }

    void sweep_hasAPointForEachValue() {
        const json data = answered({"sweep", "golden::linear", "--dim", "batch=1,2,7", "--repetitions", "3", "--threads", "1"});
        QCOMPARE(data["n_total"].get<int>(), 3);
        QCOMPARE(data["n_ok"].get<int>(), 2);
        // The program was exported for 2 rows and up.
        QCOMPARE(data["points"][0]["status"].get<std::string>(), std::string("failed"));
        QVERIFY(data["points"][0]["latency_ns"].is_null());
        for (const std::size_t i : {1U, 2U}) {
            const json& point = data["points"][i];
            const int rows = point["dims"]["batch"].get<int>();
            QVERIFY(point["latency_ns"].get<std::int64_t>() > 0 && point["items_per_second"].get<double>() > 0);
            // Linear(4, 4): 2 * rows * 4 * 4 FLOPs, and rows * 4 floats of output.
            QCOMPARE(point["flops"].get<int>(), 32 * rows);
            QCOMPARE(point["peak_bytes"].get<int>(), 16 * rows);
            QCOMPARE(point["items"].get<int>(), rows);
        }
    }

    void badRequests_areRefused_data() {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QString>("named");
        const auto row = [](const char* name, const QStringList& words, int exitCode, const char* named) {
            QTest::newRow(name) << words << exitCode << QString::fromLatin1(named);
        };
        row("no threads", {"benchmark", "golden::", "--threads", "0"}, 2, "--threads");
        row("unknown device", {"benchmark", "golden::", "--device", "cuda:77"}, 7, "cuda:77");
        row("calibrate no device", {"calibrate", "--device", "cuda:77"}, 7, "cuda:77");
        row("graph on the CPU", {"benchmark", "golden::", "--mode", "graph"}, 2, "graph");
        row("unknown mode", {"benchmark", "golden::", "--mode", "warm"}, 2, "warm");
        row("no repetitions", {"benchmark", "golden::", "--repetitions", "0"}, 2, "repetitions");
        row("negative budget", {"benchmark", "golden::", "--budget", "-1"}, 2, "budget");
        row("bad seed", {"benchmark", "golden::", "--seed", "x"}, 2, "seed");
        row("unknown version", {"benchmark", "golden::nothing"}, 3, "nothing");
        row("second worker missing", {"benchmark", "golden::", "--against-worker", "/nowhere/worker"}, 7, "/nowhere/worker");
        row("sweep over nothing", {"sweep", "golden::linear"}, 2, "dimension");
        row("sweep over a word", {"sweep", "golden::linear", "--dim", "batch=two"}, 2, "two");
        row("sweep over zero", {"sweep", "golden::linear", "--dim", "batch=2,0"}, 2, "'0'");
        row("sweep over no such dimension", {"sweep", "golden::linear", "--dim", "width=2"}, 2, "width");
        row("sweep on no device", {"sweep", "golden::linear", "--dim", "batch=2", "--device", "cuda:77"}, 7, "cuda:77");
    }
    void badRequests_areRefused() {
        QFETCH(QStringList, words);
        QFETCH(int, exitCode);
        QFETCH(QString, named);
        std::vector<std::string> all = {"--json"};
        for (const QString& word : words) {
            all.push_back(word.toStdString());
        }
        const CliResult result = run(all);
        QVERIFY2(result.exitCode == exitCode, (result.output + result.errors).c_str());
        const json error = result.json()["error"];
        QVERIFY2(error["message"].get<std::string>().find(named.toStdString()) != std::string::npos, result.output.c_str());
    }

private:
    CliResult run(const std::vector<std::string>& words) {
        return runCli(m_root / "registry", words,
                      {{"MODULELENS_CALIBRATION", (m_root / "calibration").string()}, {"XDG_RUNTIME_DIR", m_root.string()}});
    }

    json answered(std::vector<std::string> words) {
        words.emplace_back("--json");
        const CliResult result = run(words);
        if (result.exitCode != 0) {
            throw std::runtime_error(result.output + result.errors);
        }
        return result.json()["data"];
    }

    QTemporaryDir m_folder;
    std::filesystem::path m_root;
};

ML_TEST_MAIN(CliMeasuring)
#include "tst_CliMeasuring.moc"
