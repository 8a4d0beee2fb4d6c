// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Measurement.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <algorithm>
#include <set>

using namespace modulelens;
using namespace modulelens::profile;

namespace {

/// A machine on which time passes only when something runs.
struct Machine {
    std::int64_t now = 0;
    std::string ran;

    TimedRun side(char name, std::vector<std::int64_t> costs) {
        return [this, name, costs = std::move(costs), i = std::size_t{0}]() mutable -> base::Result<Timing> {
            const std::int64_t cost = costs[std::min(i++, costs.size() - 1)];
            now += cost;
            ran += name;
            return Timing{cost, std::nullopt};
        };
    }
    MeasurementHooks hooks() {
        return {[this] { return now; }, {}};
    }
};

MeasurementPlan plan(int repetitions, std::int64_t budgetNs) {
    return {repetitions, budgetNs, std::nullopt, 5};
}

} // namespace

class TestMeasurement : public QObject {
    Q_OBJECT

private slots:
    void oneSide_hasEverySample() {
        Machine machine;
        const auto measured = measure({machine.side('a', {900, 100})}, plan(10, 1'000'000), machine.hooks());
        const MeasuredSide& side = measured->sides.at(0);
        QCOMPARE(side.firstCallNs, 900);
        QCOMPARE(side.hostNs, std::vector<std::int64_t>(10, 100));
        QCOMPARE(side.order, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
        // The first call, then three windows of five that agree.
        QCOMPARE(side.warmupRuns, 16);
        QVERIFY(!side.isWarmupCapped);
        QVERIFY(side.deviceNs.empty());
        QVERIFY(measured->again.hostNs.empty());
    }

    void sampleTime_doesNotDependOnTheirNumber() {
        for (const int repetitions : {10, 1000}) {
            Machine machine;
            const auto measured = measure({machine.side('a', {123})}, plan(repetitions, 1'000'000'000), machine.hooks());
            QCOMPARE(measured->sides[0].hostNs.size(), static_cast<std::size_t>(repetitions));
            QCOMPARE(summarize(measured->sides[0].hostNs, 0)->medianNs, 123);
            QCOMPARE(machine.now, 123 * (16 + repetitions));
        }
    }

    void twoSides_takeTurnsInDrawnOrder() {
        Machine machine;
        const auto measured =
            measure({machine.side('a', {100}), machine.side('b', {200})}, plan(40, 1'000'000), machine.hooks());
        QCOMPARE(measured->sides.size(), 2U);
        QCOMPARE(measured->sides[1].hostNs, std::vector<std::int64_t>(40, 200));
        QCOMPARE(measured->again.hostNs, std::vector<std::int64_t>(40, 100));
        const std::string timed = machine.ran.substr(32);
        QCOMPARE(timed.size(), 120U);
        std::set<std::string> orders;
        for (std::size_t round = 0; round < 40; ++round) {
            const std::string order = timed.substr(3 * round, 3);
            QCOMPARE(std::count(order.begin(), order.end(), 'a'), 2);
            orders.insert(order);
            // The order that is told is the order that was.
            QCOMPARE(timed[static_cast<std::size_t>(measured->sides[1].order[round])], 'b');
        }
        QCOMPARE(orders, (std::set<std::string>{"aab", "aba", "baa"}));
    }

    void oneSeed_givesOneOrder() {
        std::vector<std::string> ran;
        for (const std::uint64_t seed : {5U, 5U, 6U}) {
            Machine machine;
            MeasurementPlan seeded = plan(20, 1'000'000);
            seeded.seed = seed;
            QVERIFY(measure({machine.side('a', {100}), machine.side('b', {200})}, seeded, machine.hooks()).hasValue());
            ran.push_back(machine.ran);
        }
        QCOMPARE(ran[0], ran[1]);
        QVERIFY(ran[0] != ran[2]);
    }

    void driftOfTheMachine_meetsBothSides() {
        // Each run takes longer than the one before; unpaired medians of one side after the other would differ by far.
        Machine machine;
        const auto slowing = [&machine](std::int64_t factor) -> TimedRun {
            return [&machine, factor]() -> base::Result<Timing> {
                const std::int64_t cost = factor * (1000 + machine.now / 1000);
                machine.now += cost;
                return Timing{cost, std::nullopt};
            };
        };
        MeasurementPlan fixed = plan(200, 1'000'000'000);
        fixed.warmupRuns = 1;
        const auto measured = measure({slowing(2), slowing(1)}, fixed, machine.hooks());
        const auto ratio = pairedRatio(measured->sides[0].hostNs, measured->sides[1].hostNs, 1);
        QVERIFY(ratio->interval.low > 1.95 && ratio->interval.high < 2.05);
        QVERIFY(bandOf(*pairedRatio(measured->sides[0].hostNs, measured->again.hostNs, 1)) < 0.02);
        QVERIFY(isThrottled(driftOf(measured->sides[0].hostNs), 0.05));
    }

    void budget_endsTheSamplesButNotBelowThree() {
        Machine machine;
        MeasurementPlan hurried = plan(1000, 550);
        hurried.warmupRuns = 1;
        QCOMPARE(measure({machine.side('a', {100})}, hurried, machine.hooks())->sides[0].hostNs.size(), 6U);
        hurried.budgetNs = 0;
        QCOMPARE(measure({machine.side('a', {100})}, hurried, machine.hooks())->sides[0].hostNs.size(), 3U);
    }

    void unsteadyWarmUp_isCapped() {
        Machine machine;
        std::vector<std::int64_t> falling;
        falling.reserve(200);
        for (int i = 0; i < 200; ++i) {
            falling.push_back(1'000'000 - i * 10'000 / 2);
        }
        const auto measured = measure({machine.side('a', falling)}, plan(3, 1'000'000'000'000), machine.hooks());
        QVERIFY(measured->sides[0].isWarmupCapped);
        QCOMPARE(measured->sides[0].warmupRuns, 100);
        Machine slow;
        const auto hurried = measure({slow.side('a', {1'000'000})}, plan(3, 4'000'000), slow.hooks());
        QVERIFY(hurried->sides[0].isWarmupCapped);
        QCOMPARE(hurried->sides[0].warmupRuns, 2);
    }

    void fixedWarmUp_isKept() {
        Machine machine;
        MeasurementPlan fixed = plan(3, 1'000'000);
        fixed.warmupRuns = 7;
        const auto measured = measure({machine.side('a', {5, 3, 9})}, fixed, machine.hooks());
        QCOMPARE(measured->sides[0].warmupRuns, 7);
        QVERIFY(!measured->sides[0].isWarmupCapped);
    }

    void failingRun_endsIt() {
        Machine machine;
        const TimedRun failing = [] { return base::Result<Timing>(base::Error{base::ErrorCode::Cancelled, "stop", {}}); };
        QCOMPARE(measure({machine.side('a', {1}), failing}, plan(5, 1'000), machine.hooks()).error().code,
                 base::ErrorCode::Cancelled);
    }

    void deviceTimes_standBesideHostTimes() {
        std::int64_t now = 0;
        const TimedRun run = [&]() -> base::Result<Timing> {
            now += 10;
            return Timing{10, 4};
        };
        const auto measured = measure({run}, plan(5, 1'000'000), {[&] { return now; }, {}});
        QCOMPARE(measured->sides[0].deviceNs, std::vector<std::int64_t>(5, 4));
    }
};

ML_TEST_MAIN(TestMeasurement)
#include "tst_Measurement.moc"
