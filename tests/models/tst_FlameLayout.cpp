// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/FlameLayout.h"
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <cmath>

using namespace modulelens::models;
using namespace modulelens::profile;
using modulelens::test::foldedProfile;
using modulelens::test::randomProfile;
using modulelens::test::scopeNamed;

namespace {

struct Laid {
    std::shared_ptr<const Profile> profile;
    std::unique_ptr<ChildOrder> order;
    FlameLayout layout;
};

Laid lay(std::shared_ptr<const Profile> profile, double width, bool bothLanes, bool heaviest, ScopeId root = 0,
         double fold = 3) {
    Laid laid;
    laid.profile = std::move(profile);
    FlameInput input;
    input.forward = laid.profile->column("latency", Direction::Forward);
    input.backward = bothLanes ? laid.profile->column("latency", Direction::Backward) : nullptr;
    const Column* forward = input.forward;
    const Column* backward = input.backward;
    ChildOrder::Before before;
    if (heaviest) {
        before = [forward, backward](ScopeId left, ScopeId right) {
            const auto weight = [&](ScopeId scope) {
                const auto at = static_cast<std::size_t>(scope);
                return forward->total[at] + (backward != nullptr ? backward->total[at] : 0);
            };
            return weight(left) > weight(right);
        };
    }
    laid.order = std::make_unique<ChildOrder>(laid.profile, before);
    input.profile = laid.profile.get();
    input.order = laid.order.get();
    input.root = root;
    input.width = width;
    input.foldWidth = fold;
    input.isHeaviestFirst = heaviest;
    laid.layout = FlameLayout::compute(input);
    return laid;
}

/// "name left-right" for each box, rows separated by " | ".
QString boxes(const Laid& laid) {
    QStringList rows;
    for (int row = 0; row < laid.layout.rowCount(); ++row) {
        QStringList spans;
        for (const FlameSpan& span : laid.layout.row(row)) {
            const QString name = span.hiddenCount > 0 ? "+" + QString::number(span.hiddenCount)
                                 : span.isPass        ? (span.lane == FlameLane::Forward ? QString("fwd") : QString("bwd"))
                                                      : QString::fromStdString(std::string(laid.profile->name(span.scope)));
            spans += name + " " + QString::number(span.left) + "-" + QString::number(span.right());
        }
        rows += spans.join(", ");
    }
    return rows.join(" | ");
}

const FlameSpan* spanOf(const FlameLayout& layout, int row, ScopeId scope, FlameLane lane) {
    for (const FlameSpan& span : layout.row(row)) {
        if (span.scope == scope && span.lane == lane && span.hiddenCount == 0) {
            return &span;
        }
    }
    return nullptr;
}

} // namespace

class TestFlameLayout : public QObject {
    Q_OBJECT

private slots:
    void oneLane_followsTheOrder() {
        const QString text = "R;a 20\nR;b;aten::x 50\nR 30\n";
        QCOMPARE(boxes(lay(foldedProfile(text.toStdString()), 100, false, false)),
                 QString("R 0-100 | a 0-20, b 20-70 | aten::x 20-70"));
        QCOMPARE(boxes(lay(foldedProfile(text.toStdString()), 100, false, true)),
                 QString("R 0-100 | b 0-50, a 50-70 | aten::x 0-50"));
    }

    void bothDirections_standSideBySide() {
        QCOMPARE(boxes(lay(foldedProfile("R;a 10/20\nR;b 30/40\n"), 100, true, true)),
                 QString("R 0-100 | fwd 0-40, bwd 40-100 | b 0-30, a 30-40, b 40-80, a 80-100"));
    }

    void narrowChildren_mergeIntoOneBox() {
        const QString text = "R;a 90\nR;b 2\nR;c 2\nR;d 2\n";
        QCOMPARE(boxes(lay(foldedProfile(text.toStdString()), 96, false, true)), QString("R 0-96 | a 0-90, +3 90-96"));
    }

    void overhead_standsLastAndIsNotMerged() {
        ProfileBuilder builder = modulelens::test::foldedBuilder("R;a 30\nR;b 1\nR;c 1\n");
        builder.addSelf(builder.addScope(0, ScopeKind::Unattributed, "rest", "", "", 0), "latency", Direction::Forward, 68);
        const auto profile = builder.build().value();
        const Column& column = *profile->column("latency", Direction::Forward);
        const ChildOrder order(profile, [&](ScopeId left, ScopeId right) {
            const bool isRest = profile->kind(left) == ScopeKind::Unattributed;
            if (isRest != (profile->kind(right) == ScopeKind::Unattributed)) {
                return !isRest;
            }
            return column.total[static_cast<std::size_t>(left)] > column.total[static_cast<std::size_t>(right)];
        });
        FlameInput input;
        input.profile = profile.get();
        input.order = &order;
        input.forward = &column;
        input.width = 100;
        Laid laid;
        laid.profile = profile;
        laid.layout = FlameLayout::compute(input);
        QCOMPARE(boxes(laid), QString("R 0-100 | a 0-30, +2 30-32, rest 32-100"));
    }

    void narrowRuns_mergeInPlaceInTimeOrder() {
        QCOMPARE(boxes(lay(foldedProfile("R;a 2\nR;b 2\nR;c 50\nR;d 2\nR;e 44\n"), 100, false, false)),
                 QString("R 0-100 | +2 0-4, c 4-54, +1 54-56, e 56-100"));
    }

    void narrowestRuns_leaveTheirPlaceEmpty() {
        QCOMPARE(boxes(lay(foldedProfile("R;a 1\nR;c 99\n"), 100, false, false)), QString("R 0-100 | c 1-100"));
    }

    void zoomedRoot_takesTheWholeWidth() {
        const auto profile = foldedProfile("R;a 60\nR;b;x 30\nR;b;y 10\n");
        QCOMPARE(boxes(lay(profile, 100, false, true, scopeNamed(*profile, "b"))), QString("b 0-100 | x 0-75, y 75-100"));
    }

    void nothingKnown_isEmpty() {
        QCOMPARE(lay(foldedProfile("R;a 0\n"), 100, false, true).layout.rowCount(), 0);
        QCOMPARE(lay(foldedProfile("R;a 5\n"), 0, false, true).layout.rowCount(), 0);
        QCOMPARE(lay(foldedProfile("R;a 5\n"), 0, false, true).layout.hit(0, 0), nullptr);
        const auto profile = foldedProfile("R 1\n");
        const ChildOrder order(profile);
        FlameInput input;
        input.profile = profile.get();
        input.order = &order;
        input.width = 100;
        QCOMPARE(FlameLayout::compute(input).rowCount(), 0);
    }

    void randomTrees_keepTheInvariants_data() {
        QTest::addColumn<unsigned>("seed");
        QTest::addColumn<bool>("bothLanes");
        QTest::addColumn<bool>("heaviest");
        for (unsigned seed = 1; seed <= 6; ++seed) {
            QTest::addRow("seed %u", seed) << seed << (seed % 2 == 0) << (seed % 3 != 0);
        }
    }

    void randomTrees_keepTheInvariants() {
        QFETCH(unsigned, seed);
        QFETCH(bool, bothLanes);
        QFETCH(bool, heaviest);
        for (const double width : {7.0, 640.5, 20000.0}) {
            const Laid laid = lay(randomProfile(6000, seed), width, bothLanes, heaviest);
            QVERIFY(laid.layout.rowCount() > 2);
            const int firstChildRow = bothLanes ? 2 : 1;
            for (int row = 0; row < laid.layout.rowCount(); ++row) {
                double end = 0;
                for (const FlameSpan& span : laid.layout.row(row)) {
                    QVERIFY(span.width >= 0);
                    QVERIFY(span.left >= end - 1e-6);
                    end = span.right();
                    QVERIFY(end <= width + 1e-6);
                    QCOMPARE(laid.layout.hit(span.left + span.width / 2, row), &span);
                    if (row < firstChildRow) {
                        continue;
                    }
                    const ScopeId above = span.hiddenCount > 0 ? span.scope : laid.profile->parent(span.scope);
                    const FlameSpan* parent = row == firstChildRow ? &laid.layout.row(bothLanes ? 1 : 0)[0]
                                                                   : spanOf(laid.layout, row - 1, above, span.lane);
                    if (row == firstChildRow && bothLanes && span.lane == FlameLane::Backward) {
                        parent = &laid.layout.row(1)[1];
                    }
                    QVERIFY(parent != nullptr);
                    QVERIFY(span.left >= parent->left - 1e-6 && span.right() <= parent->right() + 1e-6);
                }
            }
        }
    }

    void everyScope_isFoundInItsBoxOrInTheMergedOne() {
        const Laid laid = lay(randomProfile(3000, 9), 900, true, true);
        int merged = 0;
        for (ScopeId scope = 0; scope < laid.profile->scopeCount(); ++scope) {
            for (const FlameLayout::Place& place : laid.layout.find(*laid.profile, *laid.order, scope)) {
                const FlameSpan& span = laid.layout.row(place.row)[place.index];
                if (span.hiddenCount == 0) {
                    QCOMPARE(span.scope, scope);
                } else {
                    ++merged;
                    QVERIFY(laid.profile->isInside(scope, span.scope));
                }
            }
        }
        QVERIFY(merged > 0);
    }

    void widths_areTheShareOfTheTotal() {
        const Laid laid = lay(randomProfile(2000, 4), 1000, false, true, 0, 0);
        const Column& column = *laid.profile->column("latency", Direction::Forward);
        for (int row = 0; row < laid.layout.rowCount(); ++row) {
            for (const FlameSpan& span : laid.layout.row(row)) {
                const double share = static_cast<double>(column.total[static_cast<std::size_t>(span.scope)]) /
                                     static_cast<double>(column.total[0]);
                QVERIFY(std::abs(span.width - 1000 * share) < 1e-6);
            }
        }
    }

    void deepChain_andWideRoot_areLaidOut() {
        ProfileBuilder deep;
        int scope = -1;
        for (int i = 0; i < 30000; ++i) {
            scope = deep.addScope(scope, ScopeKind::Module, "x", "x", "X", 0);
        }
        deep.addSelf(scope, "latency", Direction::Forward, 1);
        QCOMPARE(lay(deep.build().value(), 100, false, true).layout.rowCount(), 30000);

        ProfileBuilder wide;
        const int root = wide.addScope(-1, ScopeKind::Module, "R", "", "R", 0);
        for (int i = 0; i < 100000; ++i) {
            wide.addSelf(wide.addScope(root, ScopeKind::Operator, "aten::x", "", "", i), "latency", Direction::Forward, 1);
        }
        const Laid laid = lay(wide.build().value(), 100, false, true);
        QCOMPARE(boxes(laid), QString("R 0-100 | +100000 0-100"));
    }

    void aMillionScopes_visitOnlyWhatIsVisible() {
        const Laid laid = lay(randomProfile(1000000, 2), 1400, true, true);
        std::size_t spans = 0;
        for (int row = 0; row < laid.layout.rowCount(); ++row) {
            spans += laid.layout.row(row).size();
        }
        QVERIFY(spans > 100);
        QVERIFY(spans < 40000);
    }
};

ML_TEST_MAIN(TestFlameLayout)
#include "tst_FlameLayout.moc"
