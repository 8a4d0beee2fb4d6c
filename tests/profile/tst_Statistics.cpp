// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Statistics.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <cmath>
#include <numeric>

using namespace modulelens::profile;

namespace {

const std::vector<std::int64_t> kFirst = {100, 120, 110, 400, 130, 105, 115, 125, 90, 140};
const std::vector<std::int64_t> kSecond = {50, 70, 54, 180, 66, 50, 60, 61, 44, 71};

bool isNear(double left, double right) {
    return std::abs(left - right) <= 1e-12 * std::abs(right);
}

/// 100 samples about 1000 that rise by `rise` from first to last, with a fixed pattern of -5 to 5 on top.
std::vector<std::int64_t> series(int rise) {
    std::vector<std::int64_t> samples;
    samples.reserve(100);
    for (int i = 0; i < 100; ++i) {
        samples.push_back(1000 + rise * i / 99 + i * 37 % 11 - 5);
    }
    return samples;
}

} // namespace

/// Expected values by numpy and a second implementation of the generator, or by hand.
class Statistics : public QObject {
    Q_OBJECT

private slots:
    void generator_isSplitMix() {
        QCOMPARE(Random(0).next(), std::uint64_t{16294208416658607535U});
        QCOMPARE(Random(42).next(), std::uint64_t{13679457532755275413U});
        Random random(7);
        std::vector<std::size_t> drawn;
        drawn.reserve(6);
        for (int i = 0; i < 6; ++i) {
            drawn.push_back(random.below(10));
        }
        QCOMPARE(drawn, (std::vector<std::size_t>{3, 0, 9, 5, 4, 2}));
    }

    void everyStatistic_isItself() {
        // A report once gave the maximum under the name of the minimum, and a total as a mean.
        const auto statistics = summarize(kFirst, 1);
        QVERIFY(statistics.has_value());
        QCOMPARE(statistics->count, 10);
        QCOMPARE(statistics->medianNs, 118);   // 117.5, halves up
        QCOMPARE(statistics->p25Ns, 106);      // 106.25
        QCOMPARE(statistics->p75Ns, 129);      // 128.75
        QCOMPARE(statistics->p95Ns, 283);
        QCOMPARE(statistics->minimumNs, 90);
        QCOMPARE(statistics->maximumNs, 400);
        QCOMPARE(statistics->meanNs, 144);     // 143.5
        QCOMPARE(statistics->medianInterval.low, 105.0);
        QCOMPARE(statistics->medianInterval.high, 132.5);
    }

    void fewSamples_areStillDescribed() {
        const auto odd = summarize(std::vector<std::int64_t>{7, 1, 5}, 0);
        QCOMPARE(odd->medianNs, 5);
        QCOMPARE(odd->p25Ns, 3);
        QCOMPARE(odd->p95Ns, 7);
        QCOMPARE(odd->meanNs, 4);
        QCOMPARE(odd->medianInterval.low, 1.0);
        QCOMPARE(odd->medianInterval.high, 7.0);
        const auto one = summarize(std::vector<std::int64_t>{11}, 0);
        QCOMPARE(one->medianNs, 11);
        QCOMPARE(one->p95Ns, 11);
        QCOMPARE(one->medianInterval.high, 11.0);
    }

    void noSamples_areNoNumber() { QVERIFY(!summarize({}, 0).has_value()); }

    void pairedRatio_isTheMedianOfRatios() {
        const auto paired = pairedRatio(kFirst, kSecond, 3);
        QVERIFY(paired.has_value());
        QCOMPARE(paired->pairs, 10);
        QVERIFY(isNear(paired->ratio, 2.0185185185185186));
        QVERIFY(isNear(paired->interval.low, 1.94424882629108));
        QVERIFY(isNear(paired->interval.high, 2.0727272727272728));
    }

    void failedRuns_haveNoRatio() {
        // A failed operator was once recorded as a speed-up of exactly 1.
        QVERIFY(!pairedRatio({}, kSecond, 0).has_value());
        QVERIFY(!pairedRatio(std::vector<std::int64_t>{0, 0}, std::vector<std::int64_t>{5, 5}, 0).has_value());
        QVERIFY(!pairedRatio(std::vector<std::int64_t>{5, 5}, std::vector<std::int64_t>{0, -1}, 0).has_value());
        QCOMPARE(pairedRatio(std::vector<std::int64_t>{0, 6}, std::vector<std::int64_t>{5, 3}, 0)->ratio, 2.0);
    }

    void oneSideAgainstItself_pairsNeighbours() {
        const auto ratio = neighbourRatio(std::vector<std::int64_t>{100, 110, 100, 110, 100, 110, 100, 110, 7}, 1);
        QCOMPARE(ratio->pairs, 4);
        QVERIFY(ratio->interval.high <= 1.1 && ratio->interval.low >= 1 / 1.1);
        QVERIFY(!neighbourRatio(std::vector<std::int64_t>{100}, 1).has_value());
    }

    void manySamples_areResampledLess() {
        std::vector<std::int64_t> samples(20'000);
        std::iota(samples.begin(), samples.end(), 1);
        const auto statistics = summarize(samples, 0);
        QCOMPARE(statistics->medianNs, 10'001);   // 10000.5, halves up
        QVERIFY(statistics->medianInterval.low < 10'000 && statistics->medianInterval.high > 10'001);
    }

    void band_reachesAsFarAsTheInterval() {
        QVERIFY(isNear(bandOf({1.0, {0.98, 1.03}, 30}), 0.03));
        QVERIFY(isNear(bandOf({1.0, {0.80, 1.03}, 30}), 0.25));
        QVERIFY(isNear(1 + bandOf({1.05, {1.04, 1.06}, 30}), 1.06));
        QCOMPARE(smallestDifference(0.0), 0.01);
        QCOMPARE(smallestDifference(0.2), 0.2);
    }

    void verdicts_data() {
        QTest::addColumn<double>("low");
        QTest::addColumn<double>("high");
        QTest::addColumn<double>("delta");
        QTest::addColumn<QString>("verdict");
        QTest::newRow("clearly above") << 1.02 << 1.10 << 0.01 << "faster";
        QTest::newRow("only just above") << 1.01 << 1.10 << 0.01 << "ambiguous";
        QTest::newRow("above 1, within the band") << 1.02 << 1.10 << 0.05 << "ambiguous";
        QTest::newRow("clearly below") << 0.80 << 0.90 << 0.05 << "slower";
        QTest::newRow("below the band's inverse, not below 1 - band") << 0.90 << 0.952 << 0.05 << "slower";
        QTest::newRow("within") << 0.995 << 1.005 << 0.01 << "same";
        QTest::newRow("too wide") << 0.9 << 1.2 << 0.01 << "ambiguous";
        QTest::newRow("exactly 1") << 1.0 << 1.0 << 0.01 << "same";
    }
    void verdicts() {
        QFETCH(double, low);
        QFETCH(double, high);
        QFETCH(double, delta);
        QFETCH(QString, verdict);
        QCOMPARE(QString::fromStdString(std::string(verdictName(verdictOf({low, high}, delta)))), verdict);
        // The other side sees the mirror image.
        const QString mirrored = verdict == "faster" ? "slower" : verdict == "slower" ? "faster" : verdict;
        QCOMPARE(QString::fromStdString(std::string(verdictName(verdictOf({1 / high, 1 / low}, delta)))), mirrored);
    }

    void risingTimes_areThrottled() {
        const auto hot = driftOf(series(150));
        QVERIFY(hot.has_value());
        QVERIFY(isNear(hot->change, 0.13953488372093023));
        QVERIFY(isNear(hot->score, 14.107339223101361));
        QVERIFY(isThrottled(hot, 0.05));
        QVERIFY(!isThrottled(hot, 0.15));
        const auto flat = driftOf(series(0));
        QCOMPARE(flat->change, 0.0);
        QVERIFY(isNear(flat->score, 0.23824934301205591));
        QVERIFY(!isThrottled(flat, 0.01));
        QVERIFY(!isThrottled(driftOf(series(-150)), 0.01));
    }

    void fewSamples_sayNothingOfDrift() {
        QVERIFY(!driftOf(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7}).has_value());
        QVERIFY(!isThrottled(std::nullopt, 0.0));
    }

    void warmUp_endsWhenThreeWindowsAgree() {
        WarmUp warmUp;
        for (int i = 0; i < 5; ++i) {
            warmUp.add(2000);
        }
        for (int i = 0; i < 14; ++i) {
            warmUp.add(1000 + i % 3);
            QVERIFY(!warmUp.isSteady());
        }
        warmUp.add(1000);
        QVERIFY(warmUp.isSteady());
        QCOMPARE(warmUp.runs(), 20);
    }

    void slowlyFallingTimes_areNotSteady() {
        WarmUp warmUp;
        for (int i = 0; i < 60; ++i) {
            warmUp.add(100'000 - 1'000 * i);
            QVERIFY(!warmUp.isSteady());
        }
    }
};

ML_TEST_MAIN(Statistics)
#include "tst_Statistics.moc"
