// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Operations.h"

#include <QTest>
#include <csignal>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backend/base/FileSystem.h"
#include "backend/profile/ProfileFile.h"
#include "tests/operations/GoldenRegistry.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using modulelens::base::ErrorCode;
using nlohmann::json;
using namespace modulelens;
using namespace modulelens::operations;

namespace {

const json kLoaded = {{"handle", 1}, {"load_ns", 1000}, {"operator_count", 4}};
const json kPass = {{"verdict", "pass"},
                    {"exact", true},
                    {"max_abs_diff", 0.0},
                    {"threads", 2},
                    {"leaves", {{{"pointer", "/output"}, {"dtype", "float32"}, {"shape", {3, 4}}, {"verdict", "exact"}}}}};

json initializeResult(const std::string& torch, const std::string& capability) {
    return {{"protocol_version", 1},
            {"worker", "scripted-worker"},
            {"engine", "program"},
            {"torch_version", torch},
            {"threads", 1},
            {"float32_matmul_precision", "medium"},
            {"capabilities", json::array()},
            {"devices", {{{"name", "cpu"}, {"description", "x"}, {"capability", capability}}}}};
}

json replying(const json& result) {
    return {{{{"reply", result}}}};
}

} // namespace

class OperationsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        m_golden = std::make_unique<test::GoldenRegistry>();
        QVERIFY2(m_golden->registry != nullptr, m_golden->error.c_str());
    }

    void validation_isReportedAndStored() {
        const auto operations = scripted({{"load", replying(kLoaded)}, {"validate", replying(kPass)}});
        const auto report = operations->validate("golden::linear", {}, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->verdict, std::string("pass"));
        QVERIFY(report->exact);
        QCOMPARE(report->threads, 2);
        QCOMPARE(report->leaves.size(), 1U);
        QVERIFY(!report->resultId.empty());
        const auto version = m_golden->registry->resolve("golden::linear");
        QCOMPARE(version->verdict, std::string("pass"));
        QVERIFY(version->exact);
    }

    void otherEnvironment_isAWarning() {
        const auto operations = scripted({{"initialize", replying(initializeResult("9.9.9", "ALTIVEC"))},
                                          {"load", replying(kLoaded)},
                                          {"validate", replying(kPass)}});
        const auto report = operations->validate("golden::linear", {}, {});
        QVERIFY(report.hasValue());
        QCOMPARE(report->warnings.size(), 3U);
        QVERIFY(report->warnings[0].find("9.9.9") != std::string::npos);
        QVERIFY(report->warnings[1].find("medium") != std::string::npos);
        QVERIFY(report->warnings[2].find("ALTIVEC") != std::string::npos);
    }

    void otherDevice_isAWarning() {
        const auto operations = scripted({{"load", replying(kLoaded)}, {"validate", replying(kPass)}});
        RunSettings settings;
        settings.device = "cuda:0";
        const auto report = operations->validate("golden::linear", settings, {});
        QVERIFY(report.hasValue());
        QVERIFY(!report->warnings.empty());
        QVERIFY(report->warnings.back().find("cuda:0") != std::string::npos);
    }

    void loadedProgram_isKept() {
        // A second load would crash the worker.
        const json load = {{{{"reply", kLoaded}}}, {{{"crash", SIGKILL}}}};
        const auto operations = scripted({{"load", load}, {"validate", replying(kPass)}});
        QVERIFY(operations->validate("golden::linear", {}, {}).hasValue());
        QVERIFY(operations->validate("golden::linear", {}, {}).hasValue());
        const auto other = operations->validate("golden::activation", {}, {});
        QCOMPARE(other.error().code, ErrorCode::WorkerCrashed);
    }

    void afterACrash_theProgramIsLoadedAgain() {
        const std::string marker = m_golden->folder.filePath(QStringLiteral("crashed")).toStdString();
        const auto operations = scripted({{"load", {{{{"log", "loading"}}, {{"reply", kLoaded}}}}},
                                          {"validate", {{{{"crash", SIGSEGV}, {"once", marker}}, {{"reply", kPass}}}}}});
        int loads = 0;
        OperationContext context;
        context.log = [&](const std::string& line) { loads += line == "loading" ? 1 : 0; };
        const auto first = operations->validate("golden::linear", {}, context);
        QCOMPARE(first.error().code, ErrorCode::WorkerCrashed);
        QVERIFY(first.error().message.find("SIGSEGV") != std::string::npos);
        QVERIFY(operations->validate("golden::linear", {}, context).hasValue());
        QVERIFY(operations->validate("golden::linear", {}, context).hasValue());
        QCOMPARE(loads, 2);
    }

    void missingWorker_isNamed() {
        Operations operations(m_golden->registry, {"/nowhere/worker"});
        QCOMPARE(operations.validate("golden::linear", {}, {}).error().code, ErrorCode::EnvironmentMissing);
        QCOMPARE(operations.workerInfo({}).error().code, ErrorCode::EnvironmentMissing);
    }

    void unknownVersionAndCall_areRefused() {
        const auto operations = scripted(json::object());
        QCOMPARE(operations->validate("golden::nothing", {}, {}).error().code, ErrorCode::NotFound);
        RunSettings settings;
        settings.call = 99;
        const auto report = operations->validate("golden::linear", settings, {});
        QCOMPARE(report.error().code, ErrorCode::InvalidArgument);
        QVERIFY(report.error().message.find("99") != std::string::npos);
    }

    void rebuild_runsOnce() {
        const json outputs = {{{"pointer", "/output"}, {"dtype", "float32"}, {"shape", {3, 4}}, {"key", "0"}}};
        const auto operations =
            scripted({{"load", replying(kLoaded)},
                      {"run", replying({{"file", "/nowhere/file"}, {"outputs", outputs}, {"host_ns", 55}})}});
        const auto report = operations->rebuild("golden::linear", {}, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->hostNs, 55);
        QCOMPARE(report->operatorCount, 4);
        QCOMPARE(report->outputs.size(), 1U);
        QVERIFY(!report->how.empty());
    }

    void profile_isReadAndStored() {
        profile::ProfileBuilder builder;
        const int root = builder.addScope(-1, profile::ScopeKind::Module, "Linear", "", "Linear", 0);
        builder.addSelf(root, "latency", profile::Direction::Forward, 1234);
        builder.setFact("threads", "3");
        const auto made = builder.build();
        const std::string file = m_golden->folder.filePath(QStringLiteral("p.safetensors")).toStdString();
        QVERIFY(profile::writeProfile(base::realFileSystem(), file, **made).hasValue());
        const auto operations = scripted(
            {{"load", replying(kLoaded)}, {"profile", replying({{"file", file}, {"latency_ns", 1234}, {"flops", 96}})}});
        QVERIFY(*operations->storedProfile("golden::linear") == nullptr);
        const auto report = operations->profile("golden::linear", {}, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->threads, 3);
        QCOMPARE(report->profile->scopeCount(), 1);
        QVERIFY(!report->resultId.empty());
        QVERIFY(!std::filesystem::exists(file));
        QCOMPARE(m_golden->registry->resolve("golden::linear")->latencyNs, std::optional<std::int64_t>(1234));
        const auto stored = operations->storedProfile("golden::linear");
        QVERIFY(stored.hasValue() && *stored != nullptr);
        QCOMPARE((*stored)->column("latency", profile::Direction::Forward)->total[0], 1234);
    }

    void damagedProfileFile_isAnError() {
        const auto operations = scripted({{"load", replying(kLoaded)}, {"profile", replying({{"file", "/nowhere/profile"}})}});
        QCOMPARE(operations->profile("golden::activation", {}, {}).error().code, ErrorCode::NotFound);
    }

    void cancelledJob_ends() {
        const auto operations =
            scripted({{"load", replying(kLoaded)},
                      {"validate", {{{{"progress", {{"stage", "compare"}}}}, {{"until_cancelled", true}}}}}});
        std::stop_source stop;
        OperationContext context;
        context.stop = stop.get_token();
        context.progress = [&](const protocol::Progress&) { stop.request_stop(); };
        QCOMPARE(operations->validate("golden::linear", {}, context).error().code, ErrorCode::Cancelled);
    }

    void timeLimit_coversTheWholeOperation() {
        const auto operations = scripted({{"load", {{{{"until_cancelled", true}}}}}});
        OperationContext context;
        context.timeout = std::chrono::milliseconds(30);
        QCOMPARE(operations->validate("golden::linear", {}, context).error().code, ErrorCode::Timeout);
    }

    void statistics_ofInputsAndOutputs() {
        const auto operations = scripted(json::object());
        const auto statistics = operations->tensorStatistics("golden::linear", 0, {});
        QVERIFY2(statistics.hasValue(), statistics.hasValue() ? "" : statistics.error().message.c_str());
        QCOMPARE(statistics->size(), 2U);
        QCOMPARE(statistics->front().pointer, std::string("/args/0"));
        QCOMPARE(statistics->back().pointer, std::string("/output"));
        QCOMPARE(statistics->front().elements, 12);
        QVERIFY(statistics->front().minimum.has_value());
        QCOMPARE(std::accumulate(statistics->front().histogram.begin(), statistics->front().histogram.end(), std::int64_t{0}),
                 12);
    }

    void staticProfile_ofTheGoldenModule() {
        const auto operations = scripted(json::object());
        const auto read = operations->staticProfile("golden::");
        QVERIFY2(read.hasValue(), read.hasValue() ? "" : read.error().message.c_str());
        const profile::Profile& profile = **read;
        // Two calls of one Linear(4, 4) on [3, 4]: 2 * 3 * 4 * 4 each.
        QCOMPARE(total(profile, "flops", 0), 192);
        // Linear: 4 * 4 + 4, BatchNorm1d(4): 4 + 4, in float32; the second name of the Linear adds nothing.
        QCOMPARE(total(profile, "parameters", 0), 112);
        QVERIFY(total(profile, "latency", 0) > 0);
        std::vector<std::string> calls;
        for (profile::ScopeId scope = 1; scope < profile.scopeCount(); ++scope) {
            if (profile.kind(scope) == profile::ScopeKind::Module) {
                calls.push_back(std::string(profile.path(scope)) + '#' + std::to_string(profile.call(scope)));
            }
        }
        QCOMPARE(calls, (std::vector<std::string>{"linear#0", "activation#0", "linear#1", "norm#0", "dropout#0"}));
        for (profile::ScopeId scope = 0; scope < profile.scopeCount(); ++scope) {
            if (profile.path(scope) == "linear" && profile.kind(scope) == profile::ScopeKind::Module) {
                QCOMPARE(total(profile, "flops", scope), 96);
                QCOMPARE(total(profile, "parameters", scope), profile.call(scope) == 0 ? 80 : 0);
            }
        }
    }

private:
    std::unique_ptr<Operations> scripted(const json& script) const {
        return std::make_unique<Operations>(
            m_golden->registry, std::vector<std::string>{test::programPath("scripted-worker").string(), script.dump()});
    }

    static std::int64_t total(const profile::Profile& profile, const char* metric, profile::ScopeId scope) {
        return profile.column(metric, profile::Direction::Forward)->total[static_cast<std::size_t>(scope)];
    }

    std::unique_ptr<test::GoldenRegistry> m_golden;
};

ML_TEST_MAIN(OperationsTest)
#include "tst_Operations.moc"
