// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Engine.h"
#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/CalibrateMessages.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"
#include "tests/support/ValueOf.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <numeric>

using namespace modulelens;
using base::ErrorCode;
using test::CapturedModule;
using test::valueOf;

/// The engine's benchmark and calibration: what is measured and what is refused, never how long it takes.
class BenchmarkTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (test::capturedModules().empty()) {
            QSKIP("no captures: ctest makes them in engine.captures");
        }
        protocol::InitializeParams params;
        params.scratchFolder = m_scratch.path().toStdString();
        params.threads = 2;
        QVERIFY(m_engine.initialize(params));
    }

    void oneSide_givesEverySample() {
        auto params = paramsOf("perceptron");
        params.repetitions = 7;
        params.count = true;
        const auto result = valueOf(m_engine.benchmark(params, {}));
        QCOMPARE(result.mode, std::string("hot"));
        QCOMPARE(result.sides.size(), 1U);
        const protocol::BenchmarkSide& side = result.sides[0];
        QCOMPARE(side.samplesNs.size(), 7U);
        QCOMPARE(side.order, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
        QVERIFY(*std::min_element(side.samplesNs.begin(), side.samplesNs.end()) > 0);
        QVERIFY(side.medianNs > 0 && result.medianNs == side.medianNs);
        QVERIFY(side.firstCallNs.value_or(0) > 0);
        QCOMPARE(side.outputs, std::string("exact"));
        QCOMPARE(side.flops.value_or(-1), test::expectedOf("perceptron", "flops").get<std::int64_t>());
        QVERIFY(side.unknownOperators.empty());
        QCOMPARE(side.dtypes, std::vector<std::string>{"float32"});
        QVERIFY(side.deviceNs.empty() && !result.deviceReason.empty());
        QVERIFY(result.timerNs > 0 && result.nullOperatorNs > 0 && !result.flushedBytes);
        QCOMPARE(result.environment.threads, 2);
        QCOMPARE(result.environment.device, std::string("cpu"));
        QVERIFY(!result.environment.torchVersion.empty() && !result.environment.host.empty());
    }

    void bytesReadWhole_areInputsAndWeightsOfProducts() {
        // x[8, 32], weights [64, 32] and [32, 64]; the second product's input comes from the first.
        auto params = paramsOf("perceptron");
        params.repetitions = 1;
        params.count = true;
        const auto result = valueOf(m_engine.benchmark(params, {}));
        const std::int64_t weights = 2 * 64 * 32 * 4;
        const std::int64_t biases = (64 + 32) * 4;
        QCOMPARE(result.sides[0].bytesLeast.value_or(-1), weights + biases + 8 * 32 * 4);
    }

    void secondBenchmark_hasNoFirstCall() {
        const auto params = paramsOf("linear");
        QVERIFY(valueOf(m_engine.benchmark(params, {})).sides[0].firstCallNs.has_value());
        QVERIFY(!valueOf(m_engine.benchmark(params, {})).sides[0].firstCallNs.has_value());
    }

    void twoSides_takeTurns() {
        auto params = paramsOf("perceptron");
        params.against = paramsOf("linear").call;
        params.repetitions = 9;
        params.seed = 3;
        const auto result = valueOf(m_engine.benchmark(params, {}));
        QCOMPARE(result.sides.size(), 2U);
        QCOMPARE(result.againNs.size(), 9U);
        std::vector<std::int64_t> places = result.againOrder;
        for (const protocol::BenchmarkSide& side : result.sides) {
            QCOMPARE(side.samplesNs.size(), 9U);
            QCOMPARE(side.outputs, std::string("exact"));
            places.insert(places.end(), side.order.begin(), side.order.end());
        }
        std::sort(places.begin(), places.end());
        std::vector<std::int64_t> expected(27);
        std::iota(expected.begin(), expected.end(), 0);
        QCOMPARE(places, expected);
        for (std::size_t round = 0; round < 9; ++round) {
            QCOMPARE(result.sides[0].order[round] / 3, static_cast<std::int64_t>(round));
            QCOMPARE(result.sides[1].order[round] / 3, static_cast<std::int64_t>(round));
        }
    }

    void aCallAgainstItself_isMeasuredTwice() {
        auto params = paramsOf("linear");
        params.against = params.call;
        params.repetitions = 4;
        const auto result = valueOf(m_engine.benchmark(params, {}));
        QCOMPARE(result.sides.size(), 2U);
        QCOMPARE(result.sides[1].samplesNs.size(), 4U);
        params.against->call["training"] = !params.call.call["training"].get<bool>();
        QCOMPARE(m_engine.benchmark(params, {}).error().code, ErrorCode::InvalidArgument);
    }

    void everyMode_measures_data() {
        QTest::addColumn<QString>("mode");
        for (const char* mode : {"hot", "cold", "host_e2e"}) {
            QTest::newRow(mode) << QString::fromLatin1(mode);
        }
    }
    void everyMode_measures() {
        QFETCH(QString, mode);
        auto params = paramsOf("in_place");
        params.mode = mode.toStdString();
        params.repetitions = 3;
        params.warmupRuns = 2;
        const auto result = valueOf(m_engine.benchmark(params, {}));
        QCOMPARE(result.mode, params.mode);
        QCOMPARE(result.sides[0].samplesNs.size(), 3U);
        QCOMPARE(result.sides[0].warmupRuns, 2);
        // It writes to its input and a buffer, which every run finds as captured.
        QCOMPARE(result.sides[0].outputs, std::string("exact"));
        QCOMPARE(result.flushedBytes.value_or(0) >= (std::int64_t{256} << 20), params.mode == "cold");
    }

    void impossibleRequests_areRefused_data() {
        QTest::addColumn<QString>("mode");
        QTest::addColumn<int>("repetitions");
        QTest::addColumn<int>("warmup");
        QTest::addColumn<QString>("named");
        QTest::newRow("graph") << "graph" << 5 << 1 << "graph";
        QTest::newRow("no such mode") << "tepid" << 5 << 1 << "tepid";
        QTest::newRow("no repetitions") << "hot" << 0 << 1 << "repetition";
        QTest::newRow("no warm-up") << "hot" << 5 << 0 << "warm-up";
    }
    void impossibleRequests_areRefused() {
        QFETCH(QString, mode);
        QFETCH(int, repetitions);
        QFETCH(int, warmup);
        QFETCH(QString, named);
        auto params = paramsOf("linear");
        params.mode = mode.toStdString();
        params.repetitions = repetitions;
        params.warmupRuns = warmup;
        const auto result = m_engine.benchmark(params, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
        QVERIFY(result.error().message.find(named.toStdString()) != std::string::npos);
    }

    void unknownHandle_isNotFound() {
        auto params = paramsOf("linear");
        params.against = params.call;
        params.against->handle = 9999;
        QCOMPARE(m_engine.benchmark(params, {}).error().code, ErrorCode::NotFound);
    }

    void timeLimit_isTimeoutAndTheNextRunWorks() {
        auto params = paramsOf("perceptron");
        params.call.timeoutMs = 20;
        params.repetitions = 1 << 30;
        params.budgetMs = 600'000;
        QCOMPARE(m_engine.benchmark(params, {}).error().code, ErrorCode::Timeout);
        params.call.timeoutMs.reset();
        QVERIFY(valueOf(m_engine.validate(params.call, {})).exact);
    }

    void stopRequested_isCancelled() {
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(m_engine.benchmark(paramsOf("linear"), {stop.get_token(), {}}).error().code, ErrorCode::Cancelled);
        QCOMPARE(m_engine.calibrate({}, {stop.get_token(), {}}).error().code, ErrorCode::Cancelled);
    }

    void countingAfterTiming_leavesOutputsAlone() {
        auto params = paramsOf("long_short");
        params.count = true;
        params.repetitions = 3;
        QVERIFY(m_engine.benchmark(params, {}));
        const auto again = valueOf(m_engine.benchmark(params, {}));
        QCOMPARE(again.sides[0].outputs, std::string("exact"));
        QVERIFY(valueOf(m_engine.validate(params.call, {})).exact);
    }

    void calibration_hasEveryPeak() {
        protocol::CalibrateParams params;
        params.threads = 1;
        params.budgetMs = 200;
        const auto result = valueOf(m_engine.calibrate(params, {}));
        QVERIFY(result.readBytesPerSecond > 0 && result.copyBytesPerSecond > 0 && result.triadBytesPerSecond > 0);
        QVERIFY(result.arrayBytes >= (std::int64_t{16} << 20));
        QCOMPARE(result.environment.threads, 1);
        QCOMPARE(result.peaks.size() + result.unmeasured.size(), 4U);
        QCOMPARE(result.peaks.at(0).dtype, std::string("float32"));
        for (const protocol::PeakRate& peak : result.peaks) {
            QVERIFY(peak.flopsPerSecond > 0 && peak.size >= 256);
        }
    }

    void calibrationOfNoDevice_isRefused() {
        protocol::CalibrateParams params;
        params.device = "cuda:77";
        QCOMPARE(m_engine.calibrate(params, {}).error().code, ErrorCode::EnvironmentMissing);
        params.device = "cpu";
        params.threads = 0;
        QCOMPARE(m_engine.calibrate(params, {}).error().code, ErrorCode::InvalidArgument);
    }

private:
    protocol::BenchmarkParams paramsOf(const std::string& name) {
        const CapturedModule module(name);
        protocol::BenchmarkParams params;
        params.call = module.callParams(valueOf(m_engine.load(module.loadParams(), {})).handle);
        return params;
    }

    QTemporaryDir m_scratch;
    engine::Engine m_engine;
};

ML_TEST_MAIN(BenchmarkTest)
#include "tst_Benchmark.moc"
