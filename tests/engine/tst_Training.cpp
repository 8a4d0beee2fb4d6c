// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/engine/TrainingFixture.h"
#include "tests/support/TestMain.h"

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <QTest>

#include <algorithm>
#include <map>

using namespace modulelens;
using profile::Direction;
using profile::ScopeKind;
using test::CapturedModule;
using test::kTrainingSet;
using test::TrainingFixture;
using test::valueOf;

namespace {

std::int64_t selfOf(const profile::Profile& profile, const char* metric, Direction direction, std::string_view name) {
    const profile::Column* column = profile.column(metric, direction);
    std::int64_t sum = 0;
    for (profile::ScopeId scope = 0; column != nullptr && scope < profile.scopeCount(); ++scope) {
        const std::int64_t self = column->self[static_cast<std::size_t>(scope)];
        sum += profile.name(scope) == name && self != profile::kUnknown ? self : 0;
    }
    return sum;
}

}  // namespace

/// Backward passes and training steps on modules that the tracer captured with their gradients.
class TrainingTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (!TrainingFixture::hasCaptures()) {
            QSKIP("no captures: ctest makes them in engine.training_captures");
        }
        m_fixture = std::make_unique<TrainingFixture>();
    }
    void cleanupTestCase() { m_fixture.reset(); }

    void gradients_areThoseOfEagerPyTorch_data() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : test::capturedModules(kTrainingSet)) {
            if (name != "linear_all_frozen" && name != "views") {
                QTest::newRow(name.c_str()) << QString::fromStdString(name);
            }
        }
    }
    void gradients_areThoseOfEagerPyTorch() {
        QFETCH(QString, name);
        const auto result = m_fixture->gradients(name.toStdString());
        for (const protocol::LeafResult& leaf : result.leaves) {
            QVERIFY2(leaf.verdict == "exact",
                     (leaf.pointer + ": " + leaf.verdict + " " + leaf.reason + " " + leaf.expected + " / " + leaf.got).c_str());
        }
        QVERIFY2(result.verdict == "pass" && result.exact, result.reason.c_str());
        QVERIFY(!result.leaves.empty());
    }

    void missingGradient_fails() {
        const CapturedModule module("unused", kTrainingSet);
        auto params = module.callParams(m_fixture->load(module));
        // The capture says that a parameter that nothing reads has a gradient.
        nlohmann::json& parameters = params.call["gradients"]["parameters"];
        QVERIFY(parameters["unused.weight"].is_null());
        parameters["unused.weight"] = parameters["used.weight"];
        const auto result = valueOf(m_fixture->engine.gradients(params, {}));
        QCOMPARE(result.verdict, std::string("fail"));
    }

    void gradientThatEagerLacks_fails() {
        const CapturedModule module("unused", kTrainingSet);
        auto params = module.callParams(m_fixture->load(module));
        params.call["gradients"]["parameters"]["used.weight"] = nullptr;
        QCOMPARE(valueOf(m_fixture->engine.gradients(params, {})).verdict, std::string("fail"));
        params.call["gradients"]["parameters"].erase("used.weight");
        QCOMPARE(valueOf(m_fixture->engine.gradients(params, {})).verdict, std::string("fail"));
    }

    void otherGradient_fails() {
        const CapturedModule module("perceptron", kTrainingSet);
        auto params = module.callParams(m_fixture->load(module));
        nlohmann::json& parameters = params.call["gradients"]["parameters"];
        std::swap(parameters["0.bias"], parameters["2.bias"]);
        QCOMPARE(valueOf(m_fixture->engine.gradients(params, {})).verdict, std::string("fail"));
    }

    void captureWithoutGradients_isNotComparable() {
        const CapturedModule module("perceptron", kTrainingSet);
        auto params = module.callParams(m_fixture->load(module));
        params.call.erase("gradients");
        const auto result = valueOf(m_fixture->engine.gradients(params, {}));
        QCOMPARE(result.verdict, std::string("not_comparable"));
        QVERIFY(result.reason.find("backward=True") != std::string::npos);
    }

    void capturedGradientsOfTheOutputs_areUsed() {
        const auto training = *m_fixture->profile("inner").training;
        QCOMPARE(training.loss, std::string("captured gradients of the outputs"));
        QCOMPARE(m_fixture->profile("perceptron").training->loss, std::string("sum of the outputs"));
    }

    void backwardFlops_byHand_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<qint64>("forward");
        QTest::addColumn<qint64>("backward");
        QTest::newRow("all gradients") << "linear" << qint64{8192} << qint64{2 * 8192};
        QTest::newRow("weight frozen") << "linear_frozen" << qint64{8192} << qint64{8192};
        QTest::newRow("input without gradient") << "linear_of_constant" << qint64{8192} << qint64{8192};
        QTest::newRow("convolution") << "convolution" << qint64{442368} << qint64{2 * 442368};
        QTest::newRow("four groups") << "convolution_grouped" << qint64{110592} << qint64{2 * 110592};
        QTest::newRow("LSTM") << "recurrent" << qint64{245760} << qint64{737280 - 245760};
        QTest::newRow("fused attention, as executed") << "attention" << qint64{12582912} << qint64{44040192 - 12582912};
        QTest::newRow("called twice") << "twice" << qint64{32768} << qint64{3 * 16384};
    }
    void backwardFlops_byHand() {
        QFETCH(QString, name);
        QFETCH(qint64, forward);
        QFETCH(qint64, backward);
        const auto result = m_fixture->profile(name.toStdString());
        QCOMPARE(result.flops.value_or(-1), forward);
        QCOMPARE(result.training->flops.value_or(-1), backward);
    }

    void backwardFlops_areThoseOfPyTorchsCounter_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"block", "stack", "dlrm", "perceptron", "several", "bfloat16", "dropout", "bert", "llama"}) {
            if (!test::expectedOf(name, "backward_flops", kTrainingSet).is_null()) {
                QTest::newRow(name) << QString::fromLatin1(name);
            }
        }
    }
    void backwardFlops_areThoseOfPyTorchsCounter() {
        QFETCH(QString, name);
        const auto training = *m_fixture->profile(name.toStdString()).training;
        QVERIFY2(training.unknown.empty(), training.unknown.empty() ? "" : training.unknown.front().c_str());
        const std::int64_t attention = attentionBackward(name.toStdString());
        QCOMPARE(training.flops.value_or(-1),
                 test::expectedOf(name.toStdString(), "backward_flops", kTrainingSet).get<std::int64_t>() + attention);
    }

    void backwardTree_addsUpToTheWall_data() { rowsOf({"block", "stack", "dlrm", "resnet", "perceptron"}); }
    void backwardTree_addsUpToTheWall() {
        QFETCH(QString, name);
        const auto result = m_fixture->profile(name.toStdString());
        const auto profile = TrainingFixture::read(result.file);
        const profile::Column* latency = profile->column("latency", Direction::Backward);
        QVERIFY(latency != nullptr);
        std::int64_t nodes = 0;
        for (profile::ScopeId scope = 0; scope < profile->scopeCount(); ++scope) {
            if (profile->name(scope) != "autograd engine") {
                nodes += latency->self[static_cast<std::size_t>(scope)];
            }
        }
        QCOMPARE(latency->total[0], std::max(nodes, result.training->backwardNs.value_or(-1)));
        QCOMPARE(profile->column("flops", Direction::Backward)->total[0], result.training->flops.value_or(-1));
        QVERIFY(result.training->nodeSumNs.value_or(0) > 0);
    }

    void backwardFlops_standWithTheModuleThatRanForward() {
        const auto profile = TrainingFixture::read(m_fixture->profile("stack").file);
        const profile::Column* forward = profile->column("flops", Direction::Forward);
        const profile::Column* backward = profile->column("flops", Direction::Backward);
        int layers = 0;
        for (profile::ScopeId scope = 0; scope < profile->scopeCount(); ++scope) {
            const auto index = static_cast<std::size_t>(scope);
            if (profile->kind(scope) == ScopeKind::Module && profile->className(scope).ends_with("Linear")) {
                QCOMPARE(backward->total[index], 2 * forward->total[index]);
                ++layers;
            }
        }
        // Three calls of a block with seven layers each, two of a feed-forward with three, the head.
        QCOMPARE(layers, 3 * 7 + 2 * 3 + 1);
    }

    void accumulatedGradients_standWithTheirOwners() {
        const auto profile = TrainingFixture::read(m_fixture->profile("perceptron").file);
        const profile::Column* gradients = profile->column("gradients", Direction::Forward);
        std::map<std::string, int> rows;
        for (profile::ScopeId scope = 0; scope < profile->scopeCount(); ++scope) {
            if (profile->name(scope) == "autograd::AccumulateGrad") {
                ++rows[std::string(profile->path(profile->parent(scope)))];
            }
            if (profile->kind(scope) == ScopeKind::Module && !profile->hasChildren(scope)) {
                QVERIFY(gradients != nullptr);
            }
        }
        QCOMPARE(rows, (std::map<std::string, int>{{"0", 1}, {"2", 1}}));
        QCOMPARE(gradients->total[0], (32 * 64 + 64 + 64 * 32 + 32) * 4);
    }

    void nothingToDifferentiate_isSaid() {
        const auto result = m_fixture->profile("linear_all_frozen");
        QVERIFY(result.latencyNs && !result.training->backwardNs && !result.training->flops);
        QCOMPARE(result.training->reasons.at("backward"), std::string("no parameter or input requires a gradient"));
    }

    void trainingStep_hasTheOptimizerAsItsOwnRow_data() {
        QTest::addColumn<QString>("optimizer");
        QTest::addColumn<qint64>("state");
        const qint64 parameters = (32 * 64 + 64 + 64 * 32 + 32) * 4;
        QTest::newRow("sgd") << "sgd" << qint64{0};
        QTest::newRow("adam") << "adam" << 2 * parameters + 4 * 4;
    }
    void trainingStep_hasTheOptimizerAsItsOwnRow() {
        QFETCH(QString, optimizer);
        QFETCH(qint64, state);
        const auto result = m_fixture->profile("perceptron", optimizer.toStdString());
        const protocol::TrainingResult& training = *result.training;
        QCOMPARE(training.optimizer, optimizer.toStdString());
        QCOMPARE(training.optimizerStateBytes.value_or(-1), state);
        QVERIFY(!training.optimizerStateFormula.empty());
        QVERIFY(training.optimizerNs.value_or(0) > 0);
        QVERIFY(training.stepPeakBytes.value_or(0) >= training.peakBytes.value_or(1) || state == 0);
        const auto profile = TrainingFixture::read(result.file);
        QCOMPARE(selfOf(*profile, "latency", Direction::Backward, "optimizer " + optimizer.toStdString()),
                 training.optimizerNs.value_or(-1));
    }

    void afterATrainingStep_theWeightsAreTheCapturedOnes_data() { rowsOf({"perceptron", "resnet", "stack", "writes_input"}); }
    void afterATrainingStep_theWeightsAreTheCapturedOnes() {
        QFETCH(QString, name);
        const CapturedModule module(name.toStdString(), kTrainingSet);
        const int handle = m_fixture->load(module);
        protocol::ProfileParams params;
        params.call = module.callParams(handle);
        params.repetitions = 3;
        params.train = "adam";
        const auto result = valueOf(m_fixture->engine.profile(params, {}));
        QVERIFY(result.training->stepNs.has_value());
        QVERIFY(valueOf(m_fixture->engine.validate(module.callParams(handle), {})).exact);
        QVERIFY(valueOf(m_fixture->engine.gradients(module.callParams(handle), {})).exact);
        QVERIFY(valueOf(m_fixture->engine.validate(module.callParams(handle), {})).exact);
    }

    void unknownOptimizer_isInvalidArgument() {
        const CapturedModule module("perceptron", kTrainingSet);
        protocol::ProfileParams params;
        params.call = module.callParams(m_fixture->load(module));
        params.train = "lion";
        QCOMPARE(m_fixture->engine.profile(params, {}).error().code, base::ErrorCode::InvalidArgument);
    }

    void everyPass_leavesNothingBehind() {
        const CapturedModule module("stack", kTrainingSet);
        const int handle = m_fixture->load(module);
        protocol::ProfileParams plain;
        plain.call = module.callParams(handle);
        plain.repetitions = 3;
        const auto before = valueOf(m_fixture->engine.profile(plain, {}));
        protocol::ProfileParams train = plain;
        train.train = "sgd";
        (void)valueOf(m_fixture->engine.profile(train, {}));
        protocol::MemoryParams memory;
        memory.call = plain.call;
        (void)valueOf(m_fixture->engine.memory(memory, {}));
        QVERIFY(!at::hasCallbacks());
        QVERIFY(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) == nullptr);
        const auto after = valueOf(m_fixture->engine.profile(plain, {}));
        QVERIFY(!at::hasCallbacks());
        QCOMPARE(after.flops, before.flops);
        QCOMPARE(after.peakBytes, before.peakBytes);
        QCOMPARE(after.activationBytes, before.activationBytes);
        QVERIFY(!after.training);
        QVERIFY(valueOf(m_fixture->engine.validate(module.callParams(handle), {})).exact);
    }

    void cancelInAnyPass_leavesNothingBehind_data() {
        rowsOf({"warm-up", "timing", "flops", "memory", "backward warm-up", "backward", "backward flops", "backward memory"});
    }
    void cancelInAnyPass_leavesNothingBehind() {
        QFETCH(QString, name);
        const CapturedModule module("perceptron", kTrainingSet);
        const int handle = m_fixture->load(module);
        protocol::ProfileParams params;
        params.call = module.callParams(handle);
        params.train = "adam";
        params.repetitions = 4;
        std::stop_source stop;
        const auto result =
            m_fixture->engine.profile(params, {stop.get_token(), [&](std::string_view stage, std::int64_t, std::int64_t) {
                                                   if (stage == name.toStdString()) {
                                                       stop.request_stop();
                                                   }
                                               }});
        QVERIFY(!result);
        QCOMPARE(result.error().code, base::ErrorCode::Cancelled);
        checkUndisturbed(module, handle);
    }

    void cancelInTheMemoryPasses_leavesNothingBehind_data() {
        QTest::addColumn<int>("report");
        for (int report = 0; report < 4; ++report) {
            QTest::addRow("report %d", report) << report;
        }
    }
    void cancelInTheMemoryPasses_leavesNothingBehind() {
        QFETCH(int, report);
        const CapturedModule module("perceptron", kTrainingSet);
        const int handle = m_fixture->load(module);
        protocol::MemoryParams params;
        params.call = module.callParams(handle);
        std::stop_source stop;
        int seen = 0;
        const auto result =
            m_fixture->engine.memory(params, {stop.get_token(), [&](std::string_view, std::int64_t, std::int64_t) {
                                                  if (seen++ == report) {
                                                      stop.request_stop();
                                                  }
                                              }});
        QVERIFY(!result);
        QCOMPARE(result.error().code, base::ErrorCode::Cancelled);
        checkUndisturbed(module, handle);
    }

    void operatorThatFailsInBackward_leavesNothingBehind() {
        const CapturedModule module("perceptron", kTrainingSet);
        const int handle = m_fixture->load(module);
        auto params = module.callParams(handle);
        // A gradient of another shape than the output's.
        params.call["gradients"]["of"] = "captured";
        params.call["gradients"]["outputs"]["/output"] = params.call["gradients"]["parameters"]["0.bias"];
        const auto result = m_fixture->engine.gradients(params, {});
        QVERIFY(!result);
        QVERIFY(!result.error().message.empty());
        checkUndisturbed(module, handle);
    }

private:
    // Neither callbacks nor gradients are left, and weights and results are the captured ones.
    void checkUndisturbed(const CapturedModule& module, int handle) {
        QVERIFY(!at::hasCallbacks());
        QVERIFY(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) == nullptr);
        QVERIFY(valueOf(m_fixture->engine.validate(module.callParams(handle), {})).exact);
        QVERIFY(valueOf(m_fixture->engine.gradients(module.callParams(handle), {})).exact);
    }

    static void rowsOf(std::initializer_list<const char*> names) {
        QTest::addColumn<QString>("name");
        for (const char* name : names) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }

    /// What the fused attention kernels of the CPU execute in backward, which PyTorch's counter counts as 0.
    static std::int64_t attentionBackward(const std::string& name) {
        // Five products of batch x heads x length x length x width, 2 FLOPs each.
        const auto calls = [](std::int64_t count, std::int64_t pairs, std::int64_t length, std::int64_t width) {
            return count * 5 * 2 * pairs * length * length * width;
        };
        if (name == "block") {
            return calls(1, 2 * 4, 64, 32);
        }
        if (name == "stack") {
            return calls(3, 2 * 4, 32, 32);
        }
        if (name == "bert" || name == "llama") {
            return calls(2, 2 * 4, 16, 16);
        }
        return 0;
    }

    std::unique_ptr<TrainingFixture> m_fixture;
};

ML_TEST_MAIN(TrainingTest)
#include "tst_Training.moc"
