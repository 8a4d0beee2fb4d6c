// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Engine.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"
#include "tests/support/ValueOf.h"

#include <QTemporaryDir>
#include <QTest>

#include <set>

using namespace modulelens;
using test::CapturedModule;
using test::valueOf;

/// Validation and costs of whole captured modules: repeats, the float64 run, structure, ledgers.
class EngineChecksTest : public QObject {
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

    void everyModule_repeatsWithTheSameBits_data() { moduleRows(); }
    void everyModule_repeatsWithTheSameBits() {
        const auto result = validate(CapturedModule(rowName()));
        QCOMPARE(result.verdict, std::string("pass"));
        QCOMPARE(result.repeats->runs, 5);
        QVERIFY(!result.repeats->isNondeterministic);
        QVERIFY(!result.repeats->isStochastic);
        QCOMPARE(result.repeats->spread.value_or(-1), 0.0);
        QVERIFY(result.oracle->verdict.empty());
        QVERIFY(!result.oracle->reason.empty());
    }

    void everyModule_isAtMostTwiceAsFarFromFloat64_data() { moduleRows(); }
    void everyModule_isAtMostTwiceAsFarFromFloat64() {
        protocol::ValidateParams params;
        params.wantsOracle = true;
        params.repeats = 1;
        const std::string name = rowName();
        const auto result = validate(CapturedModule(name), params);
        // Dropout draws other numbers in float64, and the graph's outputs of "in_place" are compared by address.
        static const std::set<std::string> kWithout = {"dropout_train", "in_place_layers"};
        if (kWithout.contains(name)) {
            QVERIFY(result.oracle->verdict.empty());
            QVERIFY2(result.oracle->reason.find("random") != std::string::npos, result.oracle->reason.c_str());
        } else {
            QVERIFY2(result.oracle->verdict == "pass", result.oracle->reason.c_str());
        }
        // Nothing of the float64 run stays.
        QVERIFY(validate(CapturedModule(name)).exact);
    }

    void float64Run_hasTheErrorOfTheType() {
        protocol::ValidateParams params;
        params.wantsOracle = true;
        const auto single = validate(CapturedModule("linear"), params).leaves.at(0).statistics.oracle.value();
        QVERIFY(single.errorCaptured.value_or(1) > 0);
        QVERIFY(single.errorCaptured.value_or(1) < 1e-5);
        QCOMPARE(single.errorOurs, single.errorCaptured);
        const auto half = validate(CapturedModule("bfloat16"), params).leaves.at(0).statistics.oracle.value();
        QVERIFY(half.errorCaptured.value_or(0) > 1e-4);
    }

    void otherStrides_fail() {
        const CapturedModule module("linear");
        auto params = module.callParams(load(module));
        params.call["output"]["stride"] = {1, 5};
        const auto result = valueOf(m_engine.validate({params}, {}));
        QCOMPARE(result.verdict, std::string("fail"));
        QCOMPARE(result.leaves.at(0).statistics.failedCheck, std::string("structure"));
        QCOMPARE(result.leaves.at(0).reason, std::string("expected strides [1, 5], got [4, 1]"));
    }

    void randomNumbersWithoutAState_areNotComparable() {
        const CapturedModule module("dropout_train");
        auto params = module.callParams(load(module));
        QVERIFY(valueOf(m_engine.validate({params}, {})).exact);
        params.call["rng"] = nullptr;
        const auto result = valueOf(m_engine.validate({params}, {}));
        QCOMPARE(result.verdict, std::string("not_comparable"));
        QVERIFY(result.repeats->isStochastic);
        QVERIFY(result.repeats->isNondeterministic);
        QVERIFY(result.repeats->spread.value_or(0) > 0);
    }

    void sameCalls_giveTheReferencesOwnNoise() {
        const CapturedModule module("linear");
        protocol::ValidateParams params;
        params.sameCalls = {module.callParams(0, 0).call};
        const auto result = validate(module, params);
        QCOMPARE(result.repeats->referenceRuns, 2);
        QCOMPARE(result.repeats->referenceSpread.value_or(-1), 0.0);
    }

    void repeatsOutOfRange_areRefused() {
        const CapturedModule module("linear");
        protocol::ValidateParams params = module.callParams(load(module));
        params.repeats = 0;
        QCOMPARE(m_engine.validate(params, {}).error().code, base::ErrorCode::InvalidArgument);
    }

    void everyModule_countsTheSameFromTheGraph_data() { moduleRows(); }
    void everyModule_countsTheSameFromTheGraph() {
        const std::string name = rowName();
        const auto costs = profile(name).costs.value();
        QVERIFY(!costs.isLowerBound);
        QVERIFY(costs.bytes.has_value());
        for (const protocol::FlopDifference& difference : costs.staticDifference) {
            qWarning("%s: %s", difference.name.c_str(), difference.reason.c_str());
        }
        QVERIFY(costs.staticDifference.empty());
    }

    void torchsOwnCount_standsBesideOurs_data() { moduleRows(); }
    void torchsOwnCount_standsBesideOurs() {
        const std::string name = rowName();
        const auto result = profile(name);
        const protocol::CostSummary& costs = result.costs.value();
        // torch's counter does not follow control flow.
        static const std::set<std::string> kUncounted = {"branch", "loop", "scan", "map"};
        if (kUncounted.contains(name)) {
            return;
        }
        QVERIFY(costs.torchFlops.has_value());
        std::int64_t explained = 0;
        for (const protocol::FlopDifference& difference : costs.torchDifference) {
            explained += difference.observed.value_or(0) - difference.other.value_or(0);
            QVERIFY2(difference.reason.find("no formula for aten::") != std::string::npos, difference.reason.c_str());
        }
        QCOMPARE(result.flops.value() - *costs.torchFlops, explained);
        const bool isKnownGap = name == "attention" || name == "self_attention" || name == "long_short";
        QCOMPARE(costs.torchDifference.size(), isKnownGap ? 1U : 0U);
    }

    void linear_movesItsTensorsOnce() {
        // x [5, 8], weight [4, 8], bias [4], output [5, 4].
        const auto costs = profile("linear").costs.value();
        QCOMPARE(costs.bytes.value(), 4 * (40 + 32 + 4 + 20));
        QCOMPARE(costs.allOperationsFlops.value(), 2 * 5 * 8 * 4 + 20);
        QCOMPARE(costs.operators.size(), 1U);
        QCOMPARE(costs.operators[0].coverage, std::string("counted"));
        QVERIFY(costs.operators[0].latencyNs.value_or(0) > 0);
    }

private:
    static void moduleRows() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : test::capturedModules()) {
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
    }

    static std::string rowName() {
        return static_cast<const QString*>(QTest::qData("name", QMetaType::QString))->toStdString();
    }

    int load(const CapturedModule& module) { return valueOf(m_engine.load(module.loadParams(), {})).handle; }

    protocol::ValidateResult validate(const CapturedModule& module, protocol::ValidateParams params = {}) {
        params.call = module.callParams(load(module));
        return valueOf(m_engine.validate(params, {}));
    }

    protocol::ProfileResult profile(const std::string& name) {
        const CapturedModule module(name);
        protocol::ProfileParams params;
        params.call = module.callParams(load(module));
        params.warmupRuns = 1;
        params.repetitions = 3;
        return valueOf(m_engine.profile(params, {}));
    }

    QTemporaryDir m_scratch;
    engine::Engine m_engine;
};

ML_TEST_MAIN(EngineChecksTest)
#include "tst_EngineChecks.moc"
