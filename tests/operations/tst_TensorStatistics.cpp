// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/TensorStatistics.h"

#include <QTest>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/TestMain.h"

using modulelens::base::ErrorCode;
using modulelens::capture::ScalarType;
using modulelens::capture::TensorReference;
using modulelens::operations::computeStatistics;
using modulelens::operations::TensorStatistics;

namespace {

TensorReference reference(ScalarType dtype, std::vector<std::int64_t> shape) {
    TensorReference tensor;
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.storedShape = std::move(shape);
    return tensor;
}

/// Every bit pattern of `bits` bits in order, as bytes.
std::vector<std::byte> allPatterns(int bits) {
    std::vector<std::byte> bytes;
    for (std::uint32_t pattern = 0; pattern < (1U << bits); ++pattern) {
        bytes.push_back(static_cast<std::byte>(pattern & 0xFFU));
        if (bits == 16) {
            bytes.push_back(static_cast<std::byte>(pattern >> 8U));
        }
    }
    return bytes;
}

template <class Value>
std::span<const std::byte> bytesOf(const std::vector<Value>& values) {
    return std::as_bytes(std::span(values));
}

bool isClose(double got, double expected) {
    return std::abs(got - expected) <= 1e-12 * std::max(1.0, std::abs(expected));
}

/// What torch 2.13 gives, in float64, for the tensor of all bit patterns (or of their bytes seen as a wider dtype).
struct Expected {
    ScalarType dtype;
    int elements;
    int nans;
    int infinities;
    int zeros;
    double minimum;
    double maximum;
    double mean;
    double deviation;
    std::vector<std::int64_t> histogram;
};

const std::map<std::string, Expected> kExpected = {
    {"float8_e4m3fn",
     {ScalarType::Float8E4M3FN,
      256,
      2,
      0,
      2,
      -448,
      448,
      0,
      100.05772608660494,
      {2, 2, 2, 2, 4, 4, 8, 102, 103, 8, 5, 3, 3, 2, 2, 2}}},
    {"float8_e5m2",
     {ScalarType::Float8E5M2,
      256,
      6,
      2,
      2,
      -57344,
      57344,
      0,
      9535.286398933038,
      {1, 1, 1, 1, 2, 2, 4, 111, 112, 4, 3, 1, 2, 1, 1, 1}}},
    {"float8_e4m3fnuz",
     {ScalarType::Float8E4M3FNUZ,
      256,
      1,
      0,
      1,
      -240,
      240,
      0,
      54.266348685089994,
      {2, 2, 2, 2, 4, 4, 8, 103, 103, 8, 5, 3, 3, 2, 2, 2}}},
    {"float8_e5m2fnuz",
     {ScalarType::Float8E5M2FNUZ,
      256,
      1,
      0,
      1,
      -57344,
      57344,
      0,
      9403.499203519306,
      {1, 1, 1, 1, 2, 2, 4, 115, 115, 4, 3, 1, 2, 1, 1, 1}}},
    {"float8_e8m0fnu",
     {ScalarType::Float8E8M0FNU,
      256,
      1,
      0,
      0,
      5.877471754111438e-39,
      1.7014118346046923e+38,
      1.3344406545919155e+36,
      1.2230350620187748e+37,
      {250, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}}},
    {"uint8", {ScalarType::UInt8, 256, 0, 0, 1, 0, 255, 127.5, 73.90027063549903, std::vector<std::int64_t>(16, 16)}},
    {"int8", {ScalarType::Int8, 256, 0, 0, 1, -128, 127, -0.5, 73.90027063549903, std::vector<std::int64_t>(16, 16)}},
    {"float16",
     {ScalarType::Float16,
      65536,
      2046,
      2,
      2,
      -65504,
      65504,
      0,
      10377.446380316504,
      {256, 256, 256, 256, 512, 512, 1024, 28671, 28672, 1024, 513, 511, 257, 256, 256, 256}}},
    {"bfloat16",
     {ScalarType::BFloat16,
      65536,
      254,
      2,
      2,
      -3.3895313892515355e+38,
      3.3895313892515355e+38,
      0,
      1.8745832858274596e+37,
      {32, 32, 32, 32, 64, 64, 128, 6527, 57984, 128, 65, 63, 33, 32, 32, 32}}},
    {"int16", {ScalarType::Int16, 65536, 0, 0, 1, -32768, 32767, -0.5, 18918.61361860324, std::vector<std::int64_t>(16, 4096)}},
    {"uint16", {ScalarType::UInt16, 65536, 0, 0, 1, 0, 65535, 32767.5, 18918.61361860324, std::vector<std::int64_t>(16, 4096)}},
    {"int32",
     {ScalarType::Int32, 32768, 0, 0, 0, -2147385344, 2147450878, 32767, 1239840802.4771934,
      std::vector<std::int64_t>(16, 2048)}},
    {"uint32",
     {ScalarType::UInt32, 32768, 0, 0, 0, 65536, 4294967294, 2147516415, 1239869180.2893813,
      std::vector<std::int64_t>(16, 2048)}},
    {"int64",
     {ScalarType::Int64, 16384, 0, 0, 0, -9.222386863698772e+18, 9.223231292923806e+18, 422214612516768, 5.325075690826632e+18,
      std::vector<std::int64_t>(16, 1024)}},
    {"uint64",
     {ScalarType::UInt64, 16384, 0, 0, 0, 844433520132096, 1.8446744069414453e+19, 9.223794251467293e+18, 5.325197574461859e+18,
      std::vector<std::int64_t>(16, 1024)}},
    {"float32",
     {ScalarType::Float32,
      32768,
      128,
      0,
      0,
      -3.4027973020769e+38,
      3.3961511620979753e+38,
      -2.606329403499835e+33,
      1.8863441240774036e+37,
      {16, 16, 16, 16, 32, 32, 64, 448, 31807, 64, 32, 32, 17, 16, 16, 16}}},
};

} // namespace

class TensorStatisticsTest : public QObject {
    Q_OBJECT

private slots:
    void allBitPatterns_areAsTorchSeesThem_data() {
        QTest::addColumn<int>("unused");
        for (const auto& [name, expected] : kExpected) {
            QTest::newRow(name.c_str()) << 0;
        }
    }
    void allBitPatterns_areAsTorchSeesThem() {
        const Expected& expected = kExpected.at(QTest::currentDataTag());
        const std::vector<std::byte> bytes = allPatterns(expected.elements == 256 ? 8 : 16);
        const auto got = computeStatistics(reference(expected.dtype, {expected.elements}), bytes, {});
        QVERIFY(got.hasValue());
        QCOMPARE(got->gap, std::string());
        QCOMPARE(got->elements, expected.elements);
        QCOMPARE(got->nanCount, expected.nans);
        QCOMPARE(got->infiniteCount, expected.infinities);
        QCOMPARE(got->zeroCount, expected.zeros);
        QCOMPARE(*got->minimum, expected.minimum);
        QCOMPARE(*got->maximum, expected.maximum);
        QVERIFY2(std::abs(*got->mean - expected.mean) <= 1e-12 * expected.deviation, std::to_string(*got->mean).c_str());
        QVERIFY2(isClose(*got->standardDeviation, expected.deviation), std::to_string(*got->standardDeviation).c_str());
        QCOMPARE(got->histogram, expected.histogram);
    }

    void booleans_countAsZeroAndOne() {
        const std::vector<std::byte> bytes = {std::byte{1}, std::byte{0}, std::byte{1}, std::byte{1}};
        const auto got = computeStatistics(reference(ScalarType::Bool, {4}), bytes, {});
        QCOMPARE(*got->minimum, 0.0);
        QCOMPARE(*got->maximum, 1.0);
        QCOMPARE(*got->mean, 0.75);
        QCOMPARE(got->zeroCount, 1);
        QCOMPARE(got->histogram.front(), 1);
        QCOMPARE(got->histogram.back(), 3);
    }

    void severalBlocks_areOneTensor() {
        std::vector<double> values(200'000);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<double>(i);
        }
        const auto got = computeStatistics(reference(ScalarType::Float64, {200, 1000}), bytesOf(values), {});
        QCOMPARE(*got->minimum, 0.0);
        QCOMPARE(*got->maximum, 199'999.0);
        QCOMPARE(*got->mean, 99'999.5);
        // Variance of 0..n-1 is (n^2 - 1) / 12.
        QVERIFY(isClose(*got->standardDeviation, std::sqrt((4e10 - 1) / 12)));
        QCOMPARE(got->histogram, std::vector<std::int64_t>(16, 12'500));
    }

    void expandedDimension_countsAsOftenAsItIsSeen() {
        TensorReference tensor = reference(ScalarType::Float32, {3, 2});
        tensor.storedShape = {1, 2};
        tensor.stride = {0, 1};
        const std::vector<float> values = {0.0F, std::numeric_limits<float>::quiet_NaN()};
        const auto got = computeStatistics(tensor, bytesOf(values), {});
        QVERIFY(got.hasValue());
        QCOMPARE(got->elements, 6);
        QCOMPARE(got->zeroCount, 3);
        QCOMPARE(got->nanCount, 3);
        QCOMPARE(got->histogram.front(), 3);
    }

    void nothingFinite_hasNoRange() {
        const std::vector<double> values = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                            std::numeric_limits<double>::quiet_NaN()};
        const auto got = computeStatistics(reference(ScalarType::Float64, {3}), bytesOf(values), {});
        QCOMPARE(got->infiniteCount, 2);
        QCOMPARE(got->nanCount, 1);
        QVERIFY(!got->minimum && !got->maximum && !got->mean && !got->standardDeviation);
        QVERIFY(got->histogram.empty());
    }

    void emptyTensor_hasNoRange() {
        const auto got = computeStatistics(reference(ScalarType::Float32, {0, 4}), {}, {});
        QVERIFY(got.hasValue());
        QCOMPARE(got->elements, 0);
        QVERIFY(!got->minimum);
    }

    void extremes_doNotOverflowTheHistogram() {
        const double largest = std::numeric_limits<double>::max();
        const std::vector<double> values = {-largest, 0, largest};
        const auto got = computeStatistics(reference(ScalarType::Float64, {3}), bytesOf(values), {});
        QCOMPARE(got->histogram.front(), 1);
        QCOMPARE(got->histogram[8], 1);
        QCOMPARE(got->histogram.back(), 1);
        QCOMPARE(*got->mean, 0.0);
        QVERIFY(!got->standardDeviation);
    }

    void dtypeWithoutOrder_isAGap() {
        const std::vector<std::byte> bytes(16);
        const auto got = computeStatistics(reference(ScalarType::Complex64, {2}), bytes, {});
        QVERIFY(got.hasValue());
        QVERIFY(got->gap.find("complex64") != std::string::npos);
        QVERIFY(!got->minimum);
    }

    void wrongNumberOfBytes_isCorrupt() {
        const std::vector<std::byte> bytes(7);
        QCOMPARE(computeStatistics(reference(ScalarType::Float32, {2}), bytes, {}).error().code, ErrorCode::Corrupt);
    }

    void stopRequest_ends() {
        std::stop_source stop;
        stop.request_stop();
        const std::vector<float> values(10);
        const auto got = computeStatistics(reference(ScalarType::Float32, {10}), bytesOf(values), stop.get_token());
        QCOMPARE(got.error().code, ErrorCode::Cancelled);
    }
};

ML_TEST_MAIN(TensorStatisticsTest)
#include "tst_TensorStatistics.moc"
