// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Aggregate.h"
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <set>

using namespace modulelens::profile;

namespace {

/// Two calls of layer 0, one of layer 1; layer 0 runs aten::mm twice in its first call.
std::shared_ptr<const Profile> calls() {
    ProfileBuilder builder;
    const int root = builder.addScope(-1, ScopeKind::Module, "Model", "", "Model", 0);
    const auto layer = [&](const char* name, int call, std::initializer_list<std::int64_t> operators) {
        const int scope = builder.addScope(root, ScopeKind::Module, name, name, "Block", call);
        builder.addSelf(scope, "latency", Direction::Forward, 1);
        builder.addSelf(scope, "high_water", Direction::Forward, 100 + call);
        for (const std::int64_t nanoseconds : operators) {
            const int op = builder.addScope(scope, ScopeKind::Operator, "aten::mm", name, "", 0);
            builder.addSelf(op, "latency", Direction::Forward, nanoseconds);
        }
    };
    layer("0", 0, {10, 20});
    layer("1", 0, {40});
    layer("0", 1, {80});
    return builder.build().value();
}

QStringList rows(const Profile& profile) {
    QStringList result;
    for (ScopeId scope = 0; scope < profile.scopeCount(); ++scope) {
        result += QString(profile.depth(scope), ' ') + QString::fromStdString(std::string(profile.name(scope))) + "=" +
                  QString::number(profile.column("latency", Direction::Forward)->total[static_cast<std::size_t>(scope)]);
    }
    return result;
}

} // namespace

class TestAggregate : public QObject {
    Q_OBJECT

private slots:
    void byCall_isTheSourceItself() {
        const auto source = calls();
        QCOMPARE(aggregate(source, Grouping::Call).value().profile, source);
    }

    void byModule_withoutRepetition_isTheSourceItself() {
        const auto source = modulelens::test::foldedProfile("R;a;aten::x 5\nR;b;aten::x 7\n");
        const Aggregation merged = aggregate(source, Grouping::Module).value();
        QCOMPARE(merged.profile, source);
        QVERIFY(merged.members.empty());
    }

    void manyEqualSiblings_mergeBeyondTheLinearLimit() {
        ProfileBuilder builder;
        const int root = builder.addScope(-1, ScopeKind::Module, "R", "", "R", 0);
        for (int i = 0; i < 1000; ++i) {
            const int op = builder.addScope(root, ScopeKind::Operator, "aten::op" + std::to_string(i % 100), "", "", i);
            builder.addSelf(op, "latency", Direction::Forward, i);
        }
        const Aggregation merged = aggregate(builder.build().value(), Grouping::Module).value();
        QCOMPARE(merged.profile->scopeCount(), 101);
        QCOMPARE(merged.members[1], 10);
        QCOMPARE(merged.profile->name(1), std::string_view("aten::op0"));
        QCOMPARE(merged.profile->name(100), std::string_view("aten::op99"));
        QCOMPARE(merged.profile->column("latency", Direction::Forward)->total[1], 4500);
    }

    void byModule_mergesCallsAndEqualOperators() {
        const Aggregation merged = aggregate(calls(), Grouping::Module).value();
        QCOMPARE(rows(*merged.profile), QStringList({"Model=153", " 0=112", "  aten::mm=110", " 1=41", "  aten::mm=40"}));
        QCOMPARE(merged.members, std::vector<std::int32_t>({1, 2, 3, 1, 1}));
        QCOMPARE(merged.groupOf, std::vector<ScopeId>({0, 1, 2, 2, 3, 4, 1, 2}));
        QCOMPARE(merged.first, std::vector<ScopeId>({0, 1, 2, 4, 5}));
        QCOMPARE(merged.profile->column("high_water", Direction::Forward)->total[1], 101);
    }

    void byClass_mergesSiblingsOfOneClass() {
        const Aggregation merged = aggregate(calls(), Grouping::Class).value();
        QCOMPARE(rows(*merged.profile), QStringList({"Model=153", " Block=153", "  aten::mm=150"}));
        QCOMPARE(merged.members, std::vector<std::int32_t>({1, 3, 4}));
    }

    void byOperator_isFlatAndKeepsModulesOwnTimeInTheRoot() {
        const Aggregation merged = aggregate(calls(), Grouping::Operator).value();
        QCOMPARE(rows(*merged.profile), QStringList({"Model=153", " aten::mm=150"}));
        QCOMPARE(merged.profile->column("latency", Direction::Forward)->self[0], 3);
    }

    void unknownMembers_areLeftOut() {
        ProfileBuilder builder;
        const int root = builder.addScope(-1, ScopeKind::Module, "R", "", "R", 0);
        const int a = builder.addScope(root, ScopeKind::Operator, "aten::a", "", "", 0);
        [[maybe_unused]] const int again = builder.addScope(root, ScopeKind::Operator, "aten::a", "", "", 1);
        [[maybe_unused]] const int other = builder.addScope(root, ScopeKind::Operator, "aten::b", "", "", 0);
        builder.addSelf(a, "flops", Direction::Forward, 3);
        builder.markUnknownWhereUnset("flops", Direction::Forward);
        const Aggregation merged = aggregate(builder.build().value(), Grouping::Module).value();
        const Column& flops = *merged.profile->column("flops", Direction::Forward);
        QCOMPARE(flops.self, std::vector<std::int64_t>({kUnknown, 3, kUnknown}));
    }

    void randomTrees_keepEveryTotalAndMergeEqualSiblings_data() {
        QTest::addColumn<int>("grouping");
        QTest::newRow("module") << static_cast<int>(Grouping::Module);
        QTest::newRow("class") << static_cast<int>(Grouping::Class);
        QTest::newRow("operator") << static_cast<int>(Grouping::Operator);
    }

    void randomTrees_keepEveryTotalAndMergeEqualSiblings() {
        QFETCH(int, grouping);
        const auto source = modulelens::test::randomProfile(4000, 5);
        const Aggregation merged = aggregate(source, static_cast<Grouping>(grouping)).value();
        for (const Column& column : source->columns()) {
            QCOMPARE(merged.profile->column(column.metric, column.direction)->total[0], column.total[0]);
        }
        for (ScopeId scope = 0; scope < merged.profile->scopeCount(); ++scope) {
            QCOMPARE(merged.groupOf[static_cast<std::size_t>(merged.first[static_cast<std::size_t>(scope)])], scope);
            std::set<std::tuple<ScopeKind, std::int32_t, std::int32_t>> seen;
            for (ScopeId child = scope + 1; child < merged.profile->subtreeEnd(scope);
                 child = merged.profile->subtreeEnd(child)) {
                const bool byModule = grouping == static_cast<int>(Grouping::Module);
                QVERIFY(seen.emplace(merged.profile->kind(child), merged.profile->nameId(child),
                                     byModule ? merged.profile->pathId(child) : 0)
                            .second);
            }
        }
    }
};

ML_TEST_MAIN(TestAggregate)
#include "tst_Aggregate.moc"
