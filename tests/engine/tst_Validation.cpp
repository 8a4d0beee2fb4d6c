// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Oracle.h"
#include "backend/engine/TensorComparison.h"
#include "tests/support/TestMain.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <QTest>

#include <limits>

using namespace modulelens;
using engine::compareTensors;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// 1, 2, 3, ... as [rows, columns].
at::Tensor counting(std::int64_t rows, std::int64_t columns) {
    return at::arange(1, rows * columns + 1, at::TensorOptions().dtype(at::kFloat)).reshape({rows, columns});
}

std::vector<std::int64_t> index(std::initializer_list<std::int64_t> values) {
    return values;
}

}  // namespace

/// Candidates that must fail, and the numbers that a comparison gives. Values by hand or from torch.testing.assert_close.
class ValidationTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void zeros_fail() {
        const auto leaf = compareTensors(counting(4, 6), at::zeros({4, 6}), "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.statistics.failedCheck, std::string("values"));
        QCOMPARE(leaf.mismatched, 24);
        QCOMPARE(leaf.maxAbsDiff.value_or(0), 24.0);
        QCOMPARE(leaf.maxRelDiff.value_or(0), 1.0);
        QCOMPARE(leaf.statistics.normRelativeError.value_or(0), 1.0);
        QVERIFY(!leaf.statistics.cosine);
    }

    void zerosForTinyProbabilities_failByTheOracle() {
        // A softmax over 393216 has values below the absolute tolerance: zeros are close to it, and yet wrong.
        const at::Tensor truth = at::full({1, 393216}, 1.0 / 393216, at::kDouble);
        const at::Tensor captured = truth.to(at::kFloat);
        const at::Tensor zeros = at::zeros_like(captured);
        QCOMPARE(compareTensors(captured, zeros, "").verdict, std::string("close"));
        QCOMPARE(engine::compareWithOracle(truth, captured, zeros, 2).verdict, std::string("fail"));
        QCOMPARE(engine::compareWithOracle(truth, captured, captured, 2).verdict, std::string("pass"));
    }

    void oneElement_fails() {
        const at::Tensor expected = counting(4, 6);
        at::Tensor got = expected.clone();
        got[2][5] = 18.001F;
        const auto leaf = compareTensors(expected, got, "");
        QCOMPARE(leaf.mismatched, 1);
        QCOMPARE(leaf.statistics.firstBadIndex, index({2, 5}));
        QCOMPARE(leaf.worstIndex, index({2, 5}));
    }

    void nanForANumber_fails() {
        const at::Tensor expected = counting(2, 3);
        at::Tensor got = expected.clone();
        got[1][1] = kNan;
        const auto leaf = compareTensors(expected, got, "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.statistics.failedCheck, std::string("non_finite"));
        QCOMPARE(leaf.statistics.nanExpected, 0);
        QCOMPARE(leaf.statistics.nanGot, 1);
        QCOMPARE(leaf.statistics.nanMismatched, 1);
        QCOMPARE(leaf.statistics.firstBadIndex, index({1, 1}));
        QCOMPARE(leaf.statistics.cosine.value_or(0), 1.0);
        QVERIFY(leaf.reason.find("1 of them NaN on one side alone") != std::string::npos);
    }

    void aNumberForNan_fails() {
        at::Tensor expected = counting(2, 3);
        expected[0][2] = kNan;
        const auto leaf = compareTensors(expected, counting(2, 3), "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.statistics.nanExpected, 1);
        QCOMPARE(leaf.statistics.nanGot, 0);
    }

    void nanElsewhere_failsTwice() {
        at::Tensor expected = counting(2, 3);
        at::Tensor got = expected.clone();
        expected[0][0] = kNan;
        got[1][2] = kNan;
        const auto leaf = compareTensors(expected, got, "");
        QCOMPARE(leaf.statistics.nanMismatched, 2);
        QCOMPARE(leaf.mismatched, 2);
    }

    void infinityOfTheOtherSign_fails() {
        at::Tensor expected = counting(2, 3);
        expected[0][1] = kInfinity;
        expected[1][0] = -kInfinity;
        at::Tensor got = expected.clone();
        QCOMPARE(compareTensors(expected, got, "").verdict, std::string("exact"));
        QCOMPARE(compareTensors(expected, got, "").statistics.infiniteGot, 2);
        got[1][0] = kInfinity;
        const auto leaf = compareTensors(expected, got, "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.statistics.infiniteMismatched, 1);
        QCOMPARE(leaf.statistics.failedCheck, std::string("non_finite"));
        QCOMPARE(leaf.statistics.firstBadIndex, index({1, 0}));
    }

    void oneRowShifted_fails() {
        const at::Tensor expected = counting(4, 6);
        const auto leaf = compareTensors(expected, expected.roll({1}, {0}), "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.mismatched, 24);
        QCOMPARE(leaf.maxAbsDiff.value_or(0), 18.0);
    }

    void lastTileUnwritten_fails() {
        const at::Tensor expected = counting(8, 8);
        at::Tensor got = expected.clone();
        got.slice(0, 4).slice(1, 4).fill_(kNan);
        const auto leaf = compareTensors(expected, got, "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.mismatched, 16);
        QCOMPARE(leaf.statistics.firstBadIndex, index({4, 4}));
    }

    void broadcastShape_fails() {
        // torch.allclose says yes to these.
        const at::Tensor column = at::ones({3, 1});
        const auto leaf = compareTensors(column, at::ones({3, 4}), "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.statistics.failedCheck, std::string("structure"));
        QCOMPARE(compareTensors(at::ones({}), at::ones({1}), "").statistics.failedCheck, std::string("structure"));
        QCOMPARE(compareTensors(at::ones({3, 4}), at::ones({4, 3}), "").statistics.failedCheck, std::string("structure"));
    }

    void otherKindsOfTensor_fail() {
        const at::Tensor dense = at::ones({3, 3});
        QCOMPARE(compareTensors(dense, dense.to_sparse(), "").reason,
                 std::string("expected float32[3, 3], got a sparse tensor"));
        QCOMPARE(compareTensors(dense, dense.to(at::kDouble), "").statistics.failedCheck, std::string("structure"));
    }

    void ulp_countsRepresentableNumbers_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<double>("from");
        QTest::addColumn<double>("to");
        QTest::addColumn<qint64>("distance");
        QTest::newRow("next float") << int(at::kFloat) << 1.0 << 1.0 + 0x1p-23 << qint64{1};
        QTest::newRow("float below one") << int(at::kFloat) << 1.0 << 1.0 - 0x1p-24 << qint64{1};
        QTest::newRow("one to two") << int(at::kFloat) << 1.0 << 2.0 << qint64{1} * (1 << 23);
        QTest::newRow("negative") << int(at::kFloat) << -1.0 << -2.0 << qint64{1} * (1 << 23);
        QTest::newRow("across zero") << int(at::kFloat) << 0x1p-149 << -0x1p-149 << qint64{2};
        QTest::newRow("bfloat16") << int(at::kBFloat16) << 1.0 << 1.0 + 0x1p-7 << qint64{1};
        QTest::newRow("half") << int(at::kHalf) << 1.0 << 1.0 + 0x1p-9 << qint64{2};
        QTest::newRow("double") << int(at::kDouble) << 1.0 << 1.0 + 0x1p-50 << qint64{4};
        QTest::newRow("double across zero") << int(at::kDouble) << 0x1p-1074 << -0x1p-1074 << qint64{2};
        QTest::newRow("doubles far apart") << int(at::kDouble) << 1e308 << -1e308 << std::numeric_limits<qint64>::max();
    }
    void ulp_countsRepresentableNumbers() {
        QFETCH(int, type);
        QFETCH(double, from);
        QFETCH(double, to);
        QFETCH(qint64, distance);
        const auto options = at::TensorOptions().dtype(static_cast<at::ScalarType>(type));
        const auto leaf = compareTensors(at::full({2}, from, options), at::full({2}, to, options), "");
        QCOMPARE(leaf.statistics.maxUlp.value_or(-1), distance);
    }

    void bothZeros_areNoUlpApart() {
        const auto leaf = compareTensors(at::zeros({2}), -at::zeros({2}), "");
        QCOMPARE(leaf.verdict, std::string("close"));
        QCOMPARE(leaf.statistics.maxUlp.value_or(-1), 0);
    }

    void vectors_giveCosineAndNormError() {
        // (3, 4) and (4, 3): cosine 24 / 25, difference (1, -1) of norm sqrt 2, by 5.
        at::Tensor expected = at::zeros({2});
        expected[0] = 3.0F;
        expected[1] = 4.0F;
        const auto leaf = compareTensors(expected, expected.flip(0), "");
        QVERIFY(std::abs(leaf.statistics.cosine.value_or(0) - 0.96) < 1e-12);
        QVERIFY(std::abs(leaf.statistics.normRelativeError.value_or(0) - std::sqrt(2.0) / 5) < 1e-12);
        QVERIFY(compareTensors(expected, -expected, "").statistics.cosine.value_or(1) < -0.999999);
    }

    void oracle_allowsTwiceTheCapturedError() {
        // Captured is 1e-4 off the truth.
        const at::Tensor truth = at::full({4}, 1.0, at::kDouble);
        const at::Tensor captured = at::full({4}, 1.0001F);
        const auto at = [&](float value) { return engine::compareWithOracle(truth, captured, at::full({4}, value), 2); };
        QCOMPARE(at(1.00019F).verdict, std::string("pass"));
        QCOMPARE(at(0.99981F).verdict, std::string("pass"));
        QCOMPARE(at(1.00021F).verdict, std::string("fail"));
        QCOMPARE(at(kNan).verdict, std::string("fail"));
        QCOMPARE(at(kInfinity).verdict, std::string("fail"));
        // assert_close refuses what the oracle finds better than the capture.
        QCOMPARE(compareTensors(captured, at::full({4}, 1.0F), "").verdict, std::string("fail"));
        QCOMPARE(at(1.0F).verdict, std::string("pass"));
    }

    void oracle_wantsOverflowInTheSamePlace() {
        const at::Tensor truth = at::full({2}, 1e6, at::kDouble);
        const at::Tensor captured = at::full({2}, kInfinity, at::kHalf);
        QCOMPARE(engine::compareWithOracle(truth, captured, captured, 2).verdict, std::string("pass"));
        QCOMPARE(engine::compareWithOracle(truth, captured, at::full({2}, 60000, at::kHalf), 2).verdict, std::string("fail"));
    }

    void oracle_saysWhyThereIsNone() {
        const at::Tensor ids = at::arange(3);
        QVERIFY(!engine::compareWithOracle(ids.to(at::kDouble), ids, ids, 2).reason.empty());
        const at::Tensor wide = at::ones({3}, at::kDouble);
        QVERIFY(!engine::compareWithOracle(wide, wide, wide, 2).reason.empty());
        const at::Tensor one = at::ones({3});
        QVERIFY(!engine::compareWithOracle(at::ones({4}, at::kDouble), one, one, 2).reason.empty());
    }
};

ML_TEST_MAIN(ValidationTest)
#include "tst_Validation.moc"
