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

/// The real program with a worker that has the fake accelerator (tests/support/FakeDevice.h).
class CliAccelerator : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(programPath("libfake_device.so"))) {
            QSKIP("the worker is not built, since LibTorch was not found");
        }
        m_root = m_folder.path().toStdString();
        QCOMPARE(run({"import", dataPath("capture/v1").string()}, kRoomy).exitCode, 0);
    }

    void everyMode_hasHostAndDeviceTimes_data() {
        QTest::addColumn<QString>("mode");
        for (const char* mode : {"hot", "cold", "host_e2e", "graph"}) {
            QTest::newRow(mode) << QString::fromLatin1(mode);
        }
    }
    void everyMode_hasHostAndDeviceTimes() {
        QFETCH(QString, mode);
        const CliResult result = run(benchmark(mode.toStdString()), kRoomy);
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json data = result.json()["data"];
        const json& side = data["sides"][0];
        QCOMPARE(data["mode"].get<std::string>(), mode.toStdString());
        QCOMPARE(side["environment"]["device"].get<std::string>(), std::string("privateuseone:0"));
        QCOMPARE(side["outputs"].get<std::string>(), std::string("exact"));
        QVERIFY(side["host_ns"].get<std::int64_t>() > 0 && side["device_ns"].get<std::int64_t>() > 0);
        QCOMPARE(side.contains("runs_per_sample"), mode == "graph");
    }

    void workThatEscapesTheEvents_isFlagged() {
        // The events see nothing of what passed.
        const json side = run(benchmark("hot"), "1000000000,-1,0").json()["data"]["sides"][0];
        QCOMPARE(side["device_ns"].get<std::int64_t>(), 0);
        QVERIFY2(hasFlag(side, "async_escape"), side["flags"].dump().c_str());
    }

    void fullDevice_is11() {
        const CliResult result = run(benchmark("hot"), "64");
        QCOMPARE(result.exitCode, 11);
        QCOMPARE(result.json()["error"]["code"].get<std::string>(), std::string("out_of_memory"));
    }

    void lostDevice_is11() {
        const CliResult result = run(benchmark("hot"), "1000000000,20");
        QCOMPARE(result.exitCode, 11);
        QVERIFY2(result.json()["error"]["message"].get<std::string>().find("was lost") != std::string::npos,
                 result.output.c_str());
    }

    void sweepValueThatDoesNotFit_failsAsAPointAndTheOthersAreMeasured() {
        // Of Linear(4, 4), a row takes 16 bytes in and 16 out; the device has room for a thousand rows, not for a million.
        const CliResult result = run({"sweep", "golden::linear", "--dim", "batch=2,1000000,7", "--repetitions", "3", "--budget",
                                      "0.1", "--threads", "1", "--device", "privateuseone:0", "--json"},
                                     "200000");
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json data = result.json()["data"];
        QCOMPARE(data["n_ok"].get<int>(), 2);
        QCOMPARE(data["points"][1]["status"].get<std::string>(), std::string("failed"));
        QVERIFY(data["points"][1]["latency_ns"].is_null());
        QCOMPARE(data["points"][1]["error"]["code"].get<std::string>(), std::string("out_of_memory"));
        QCOMPARE(data["points"][2]["items"].get<int>(), 7);
    }

    void sweepValueThatNoMachineHolds_failsAsAPoint() {
        const CliResult result = run({"sweep", "golden::linear", "--dim", "batch=2,4000000000000,7", "--repetitions", "3",
                                      "--budget", "0.1", "--threads", "1", "--json"},
                                     kRoomy);
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json data = result.json()["data"];
        QCOMPARE(data["n_ok"].get<int>(), 2);
        QCOMPARE(data["points"][1]["status"].get<std::string>(), std::string("failed"));
        QCOMPARE(data["points"][1]["error"]["code"].get<std::string>(), std::string("out_of_memory"));
    }

private:
    static constexpr const char* kRoomy = "1000000000";

    static std::vector<std::string> benchmark(const std::string& mode) {
        return {"benchmark", "golden::linear", "--device", "privateuseone:0", "--mode", mode,    "--repetitions",
                "5",         "--budget",       "0.5",      "--threads",       "1",      "--json"};
    }
    static bool hasFlag(const json& side, const std::string& name) {
        for (const json& flag : side["flags"]) {
            if (flag["name"] == name) {
                return true;
            }
        }
        return false;
    }

    /// With a device of `device` bytes (tests/support/FakeDevice.h).
    [[nodiscard]] CliResult run(const std::vector<std::string>& words, const std::string& device) const {
        const std::string worker = "/usr/bin/env LD_PRELOAD=" + programPath("libfake_device.so").string() + ' ' +
                                   "MODULELENS_FAKE_DEVICE=" + device + ' ' + programPath("modulelens-worker").string();
        return runCli(m_root / "registry", words, {{"MODULELENS_WORKER", worker}, {"XDG_RUNTIME_DIR", m_root.string()}});
    }

    QTemporaryDir m_folder;
    std::filesystem::path m_root;
};

ML_TEST_MAIN(CliAccelerator)
#include "tst_CliAccelerator.moc"
