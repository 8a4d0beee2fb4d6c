// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>

#include "tests/cli/CliRun.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using nlohmann::json;
using namespace modulelens::test;

/// The real program with the real worker on the golden bundle.
class CliWithWorker : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(programPath("modulelens-worker"))) {
            QSKIP("the worker is not built, since LibTorch was not found");
        }
        m_registry = std::filesystem::path(m_folder.path().toStdString()) / "registry";
        QCOMPARE(runCli(m_registry, {"import", dataPath("capture/v1").string()}).exitCode, 0);
    }

    void everyVersion_isBitExact() {
        const CliResult result = runCli(m_registry, {"validate", "--query", "model:golden", "--json"});
        QCOMPARE(result.exitCode, 0);
        const json data = result.json()["data"];
        QCOMPARE(data["counts"]["pass"].get<int>(), 3);
        QVERIFY(data["exact"].get<bool>());
        for (const json& one : data["results"]) {
            QVERIFY(!one["leaves"].empty());
            QCOMPARE(one["max_abs_diff"].get<double>(), 0.0);
        }
        const json found = runCli(m_registry, {"search", "is:exact", "--json"}).json();
        QCOMPARE(found["data"]["total"].get<int>(), 3);
    }

    void queryThatFindsNothing_isNotFound() {
        QCOMPARE(runCli(m_registry, {"validate", "--query", "module:nowhere", "--json"}).exitCode, 3);
    }

    void damagedPack_isNamedAndNotTakenForADifference() {
        const std::filesystem::path damaged = std::filesystem::path(m_folder.path().toStdString()) / "damaged";
        QCOMPARE(runCli(damaged, {"import", dataPath("capture/v1").string()}).exitCode, 0);
        for (const auto& pack : std::filesystem::directory_iterator(damaged / "packs")) {
            std::filesystem::permissions(pack.path(), std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
            std::fstream file(pack.path(), std::ios::in | std::ios::out | std::ios::binary);
            std::uint64_t header = 0;
            file.read(reinterpret_cast<char*>(&header), sizeof header);
            const auto begin = static_cast<std::streamoff>(sizeof header + header);
            const auto size = static_cast<std::streamoff>(std::filesystem::file_size(pack.path()));
            for (std::streamoff at = begin; at < size; ++at) {
                file.seekg(at);
                const int byte = file.get();
                file.seekp(at);
                file.put(static_cast<char>(byte ^ 1));
            }
        }
        const std::vector<std::vector<std::string>> commands = {{"validate", "golden::linear", "--json"},
                                                                {"profile", "golden::linear", "--json"},
                                                                {"show", "golden::linear", "--tensors", "--json"}};
        for (const std::vector<std::string>& command : commands) {
            const CliResult result = runCli(damaged, command);
            QCOMPARE(result.exitCode, 9);
            const std::string message = result.json()["error"]["message"].get<std::string>();
            QVERIFY2(message.find("damaged") != std::string::npos, message.c_str());
        }
        QVERIFY(runCli(damaged, {"search", "golden", "--json"}).json()["data"]["versions"][0]["verdict"].is_null());
    }

    void secondCall_isBitExact() {
        const CliResult result = runCli(m_registry, {"validate", "golden::", "--call", "1", "--json"});
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        QVERIFY(result.json()["data"]["exact"].get<bool>());
    }

    void validation_saysHowItCompared() {
        const CliResult result = runCli(m_registry, {"validate", "golden::linear", "--oracle", "--repeats", "3", "--json"});
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json data = result.json()["data"];
        QCOMPARE(data["repeats"]["runs"].get<int>(), 3);
        QVERIFY(!data["repeats"]["nondeterministic"].get<bool>());
        QCOMPARE(data["oracle"]["verdict"].get<std::string>(), std::string("pass"));
        const json& leaf = data["leaves"][0];
        QCOMPARE(leaf["max_ulp"].get<int>(), 0);
        QCOMPARE(leaf["nan"]["mismatched"].get<int>(), 0);
        QVERIFY(leaf["oracle"]["error_ours"].get<double>() <= leaf["oracle"]["bound"].get<double>());
        const CliResult text = runCli(m_registry, {"validate", "golden::linear", "--oracle"});
        QVERIFY(text.output.find("Repeated 5 times: always the same bits") != std::string::npos);
        QVERIFY(text.output.find("Against float64: pass") != std::string::npos);
    }

    void profile_hasBytesAndIntensity() {
        const CliResult result = runCli(m_registry, {"profile", "golden::linear", "--all", "--json"});
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json data = result.json()["data"];
        // Linear(4, 4) on [3, 4]: 2 * 3 * 4 * 4 FLOPs; input, weight, bias and output once.
        QCOMPARE(data["totals"]["flops"].get<int>(), 96);
        QCOMPARE(data["totals"]["bytes"].get<int>(), 4 * (12 + 16 + 4 + 12));
        QCOMPARE(data["totals"]["intensity"].get<double>(), 96.0 / 176.0);
        QCOMPARE(data["totals"]["flops_all_operations"].get<int>(), 96 + 12);
        QCOMPARE(data["totals"]["flops_static"].get<int>(), 96);
        QVERIFY(data["flops_static_difference"].empty());
        QVERIFY(!data["flops_is_lower_bound"].get<bool>());
        QCOMPARE(data["causal_convention"].get<std::string>(), std::string("dense"));
        QCOMPARE(data["operators"][0]["name"].get<std::string>(), std::string("aten::linear"));
        QCOMPARE(data["operators"][0]["intensity"].get<double>(), 96.0 / 176.0);
        bool hasRoot = false;
        for (const json& node : data["nodes"]) {
            if (node["parent"].is_null()) {
                hasRoot = true;
                QCOMPARE(node["intensity"]["total"].get<double>(), 96.0 / 176.0);
                QVERIFY(node["intensity"]["self"].is_null());
            }
        }
        QVERIFY(hasRoot);
    }

    void rebuild_hasTheOutputs() {
        const CliResult result = runCli(m_registry, {"rebuild", "golden::linear", "--json"});
        QCOMPARE(result.exitCode, 0);
        const json data = result.json()["data"];
        QCOMPARE(data["outputs"].size(), 1U);
        QCOMPARE(data["outputs"][0]["shape"].dump(), std::string("[3,4]"));
        QVERIFY(data["run_ns"].get<std::int64_t>() > 0);
    }

    void profile_addsUp() {
        const CliResult result = runCli(m_registry, {"profile", "golden::", "--all", "--threads", "1", "--json"});
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json data = result.json()["data"];
        // Two calls of one Linear(4, 4) on [3, 4]; its parameters count once, BatchNorm1d(4) adds 8.
        QCOMPARE(data["totals"]["flops"].get<int>(), 192);
        QCOMPARE(data["totals"]["parameter_bytes"].get<int>(), 112);
        QVERIFY(data["totals"]["latency_ns"].get<std::int64_t>() > 0);
        QCOMPARE(data["threads"].get<int>(), 1);
        QVERIFY(data["coverage"]["unknown"].empty());
        QCOMPARE(data["nodes"].size(), data["nodes_total"].get<std::size_t>());
        std::map<std::string, std::int64_t> sums;
        json root;
        for (const json& node : data["nodes"]) {
            for (const char* metric : {"latency_ns", "flops", "parameter_bytes"}) {
                sums[metric] += node[metric]["self"].is_null() ? 0 : node[metric]["self"].get<std::int64_t>();
            }
            if (node["parent"].is_null()) {
                root = node;
            }
        }
        for (const auto& [metric, sum] : sums) {
            QCOMPARE(root[metric]["total"].get<std::int64_t>(), sum);
        }
        for (std::size_t i = 1; i < data["nodes"].size(); ++i) {
            QVERIFY(data["nodes"][i - 1]["latency_ns"]["self"] >= data["nodes"][i]["latency_ns"]["self"]);
        }
        QVERIFY(runCli(m_registry, {"show", "golden::", "--json"}).json()["data"]["latency_ns"].is_number());
    }

    void missingDevice_isNamed() {
        const CliResult result = runCli(m_registry, {"validate", "golden::", "--device", "cuda:77", "--json"});
        QCOMPARE(result.exitCode, 7);
        QVERIFY(result.json()["error"]["message"].get<std::string>().find("cuda:77") != std::string::npos);
    }

private:
    QTemporaryDir m_folder;
    std::filesystem::path m_registry;
};

ML_TEST_MAIN(CliWithWorker)
#include "tst_CliWithWorker.moc"
