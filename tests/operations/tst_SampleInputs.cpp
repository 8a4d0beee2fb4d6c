// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/SampleInputs.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/TestMain.h"

using namespace modulelens;
using base::ErrorCode;
using operations::parseSampleInput;
using operations::SampleInput;

namespace {

template <class Number>
std::vector<Number> numbersOf(const SampleInput& input) {
    std::vector<Number> numbers(input.bytes.size() / sizeof(Number));
    std::memcpy(numbers.data(), input.bytes.data(), input.bytes.size());
    return numbers;
}

} // namespace

class SampleInputsTest : public QObject {
    Q_OBJECT

private slots:
    void floats_areStandardNormalAndAlwaysTheSame() {
        const auto input = parseSampleInput("float32[100,200]", 0);
        QVERIFY(input.hasValue());
        QCOMPARE(input->shape, (std::vector<std::int64_t>{100, 200}));
        const std::vector<float> numbers = numbersOf<float>(*input);
        double sum = 0;
        double squares = 0;
        for (const float number : numbers) {
            sum += number;
            squares += static_cast<double>(number) * number;
        }
        const auto count = static_cast<double>(numbers.size());
        QVERIFY(std::abs(sum / count) < 0.03);
        QVERIFY(std::abs(squares / count - 1) < 0.05);
        QVERIFY(parseSampleInput("float32[100,200]", 0)->bytes == input->bytes);
        QVERIFY(parseSampleInput("float32[100,200]", 1)->bytes != input->bytes);
    }

    void integers_stayInTheirRange() {
        const auto input = parseSampleInput("ids=int64[1000]:-3..4", 0);
        QVERIFY(input.hasValue());
        QCOMPARE(input->name, std::string("ids"));
        const std::vector<std::int64_t> numbers = numbersOf<std::int64_t>(*input);
        QCOMPARE(*std::min_element(numbers.begin(), numbers.end()), std::int64_t{-3});
        QCOMPARE(*std::max_element(numbers.begin(), numbers.end()), std::int64_t{4});
    }

    void halves_areRoundedFloats() {
        // The same generator feeds both; a bfloat16 keeps 8 bits of the number, a float16 11.
        const std::vector<double> exact = numbersOf<double>(*parseSampleInput("float64[64]", 3));
        const std::vector<std::uint16_t> brain = numbersOf<std::uint16_t>(*parseSampleInput("bfloat16[64]", 3));
        const std::vector<std::uint16_t> half = numbersOf<std::uint16_t>(*parseSampleInput("float16[64]", 3));
        for (std::size_t i = 0; i < exact.size(); ++i) {
            const std::uint32_t wide = static_cast<std::uint32_t>(brain[i]) << 16U;
            float value = 0;
            std::memcpy(&value, &wide, sizeof value);
            QVERIFY(std::abs(value - exact[i]) <= std::abs(exact[i]) / 256);
            const double fromHalf = std::ldexp(1024 + (half[i] & 0x3ffU), static_cast<int>((half[i] >> 10U) & 0x1fU) - 25);
            QVERIFY(std::abs(fromHalf - std::abs(exact[i])) <= std::abs(exact[i]) / 2048);
        }
    }

    void plainValues_areTakenAsTheyAre() {
        QCOMPARE(parseSampleInput("16000", 0)->value->dump(), std::string("16000"));
        QCOMPARE(parseSampleInput("-0.5", 0)->value->dump(), std::string("-0.5"));
        QCOMPARE(parseSampleInput("true", 0)->value->dump(), std::string("true"));
        QCOMPARE(parseSampleInput("none", 0)->value->dump(), std::string("null"));
        QCOMPARE(parseSampleInput("mode='fast'", 0)->value->dump(), std::string("\"fast\""));
        QCOMPARE(parseSampleInput("float32[]", 0)->shape.size(), 0U);
    }

    void nonsense_isRefused() {
        for (const char* text :
             {"float33[1]", "float32[1", "float32[-1]", "float32[a]", "int64[2]:5..1", "int64[2]5..1", "x",
              "float32[1000000000,1000000000]", "float32[9223372036854775807,3]", "qint8[1]", "@x.safetensors"}) {
            const auto input = parseSampleInput(text, 0);
            QVERIFY2(!input.hasValue() && input.error().code == ErrorCode::InvalidArgument, text);
        }
        QVERIFY(parseSampleInput("@/nowhere.safetensors:x", 0).error().code == ErrorCode::NotFound);
        // The sentence names what is wrong, not something else.
        QVERIFY(parseSampleInput("float32[8", 0).error().message.find("']'") != std::string::npos);
        QVERIFY(parseSampleInput("float99[8]", 0).error().message.find("element type") != std::string::npos);
    }
};

ML_TEST_MAIN(SampleInputsTest)
#include "tst_SampleInputs.moc"
