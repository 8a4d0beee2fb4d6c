// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Comparison.h"

#include "tests/support/TestMain.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <QTest>

#include <limits>

using namespace modulelens;
using engine::compareTensors;

class ComparisonTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sameBits_areExact() {
        const auto leaf = compareTensors(at::arange(6).reshape({2, 3}), at::arange(6).reshape({2, 3}), "/output");
        QCOMPARE(leaf.verdict, std::string("exact"));
        QCOMPARE(leaf.dtype, std::string("int64"));
        QCOMPARE(leaf.shape, (std::vector<std::int64_t>{2, 3}));
    }

    void strides_doNotMatter() {
        const at::Tensor tensor = at::randn({3, 4});
        QCOMPARE(compareTensors(tensor, tensor.t().contiguous().t(), "").verdict, std::string("exact"));
    }

    void withinTolerance_isClose() {
        const at::Tensor expected = at::full({4}, 1.0F);
        at::Tensor got = expected.clone();
        got[2] = 1.000001F;
        const auto leaf = compareTensors(expected, got, "");
        QCOMPARE(leaf.verdict, std::string("close"));
        QCOMPARE(leaf.mismatched, 0);
        QCOMPARE(leaf.worstIndex, (std::vector<std::int64_t>{2}));
        QCOMPARE(leaf.got, std::string("1.000001"));
    }

    void oneElementOff_fails() {
        const at::Tensor expected = at::zeros({2, 5});
        at::Tensor got = expected.clone();
        got[1][3] = 0.5F;
        const auto leaf = compareTensors(expected, got, "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.mismatched, 1);
        QCOMPARE(leaf.maxAbsDiff.value_or(-1), 0.5);
        QCOMPARE(leaf.worstIndex, (std::vector<std::int64_t>{1, 3}));
        QCOMPARE(leaf.expected, std::string("0"));
        QCOMPARE(leaf.got, std::string("0.5"));
    }

    void nanOnOneSide_fails() {
        const at::Tensor number = at::ones({3});
        at::Tensor nan = number.clone();
        nan[1] = std::numeric_limits<float>::quiet_NaN();
        QCOMPARE(compareTensors(number, nan, "").verdict, std::string("fail"));
        QCOMPARE(compareTensors(nan, number, "").verdict, std::string("fail"));
        QCOMPARE(compareTensors(nan, -nan + 2 * number, "").mismatched, 0);
    }

    void nanOnBothSides_isExactWhateverItsBits() {
        const at::Tensor nan = at::full({2}, std::numeric_limits<float>::quiet_NaN());
        QCOMPARE(compareTensors(nan, -nan, "").verdict, std::string("exact"));
    }

    void infinityOfTheOtherSign_fails() {
        const at::Tensor infinity = at::full({2}, std::numeric_limits<float>::infinity());
        QCOMPARE(compareTensors(infinity, -infinity, "").verdict, std::string("fail"));
        QCOMPARE(compareTensors(infinity, at::ones({2}), "").verdict, std::string("fail"));
        QCOMPARE(compareTensors(infinity, infinity.clone(), "").verdict, std::string("exact"));
    }

    void negativeZero_isCloseNotExact() {
        QCOMPARE(compareTensors(at::zeros({2}), -at::zeros({2}), "").verdict, std::string("close"));
    }

    void integers_haveNoTolerance() {
        const at::Tensor expected = at::full({2}, std::int64_t{1} << 62, at::kLong);
        const auto leaf = compareTensors(expected, expected + 1, "");
        QCOMPARE(leaf.verdict, std::string("fail"));
        QCOMPARE(leaf.mismatched, 2);
    }

    void otherShapeOrType_fails() {
        QCOMPARE(compareTensors(at::ones({3, 1}), at::ones({3, 4}), "").reason,
                 std::string("expected float32[3, 1], got float32[3, 4]"));
        QCOMPARE(compareTensors(at::ones({3}), at::ones({3}, at::kDouble), "").verdict, std::string("fail"));
    }

    void emptyTensors_areExact() {
        QCOMPARE(compareTensors(at::empty({0, 3}), at::empty({0, 3}), "").verdict, std::string("exact"));
    }

    void complexNumbers_compare() {
        const at::Tensor expected = at::ones({2}, at::kComplexFloat);
        QCOMPARE(compareTensors(expected, expected.clone(), "").verdict, std::string("exact"));
        QCOMPARE(compareTensors(expected, expected * 2, "").verdict, std::string("fail"));
    }

    void tolerances_areThoseOfAssertClose() {
        QCOMPARE(engine::toleranceOf(at::kHalf).relative, 1e-3);
        QCOMPARE(engine::toleranceOf(at::kBFloat16).relative, 1.6e-2);
        QCOMPARE(engine::toleranceOf(at::kFloat).absolute, 1e-5);
        QCOMPARE(engine::toleranceOf(at::kDouble).absolute, 1e-7);
        QCOMPARE(engine::toleranceOf(at::kBool).absolute, 0.0);
    }
};

ML_TEST_MAIN(ComparisonTest)
#include "tst_Comparison.moc"
