// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/ChildOrder.h"
#include "backend/profile/Profile.h"
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens::profile;
using modulelens::test::foldedProfile;
using modulelens::test::scopeNamed;

namespace {

std::int64_t total(const Profile& profile, std::string_view metric, std::string_view name,
                   Direction direction = Direction::Forward) {
    return profile.column(metric, direction)->total[static_cast<std::size_t>(scopeNamed(profile, name))];
}

ProfileParts threeScopes() {
    ProfileParts parts;
    parts.parent = {-1, 0, 0};
    parts.kind.assign(3, ScopeKind::Module);
    parts.call.assign(3, 0);
    parts.name = parts.path = parts.className = {0, 0, 0};
    parts.texts = "x";
    parts.textEnds = {1};
    parts.columns = {{"latency", Direction::Forward, {1, 2, 3}, {}, {}}};
    return parts;
}

} // namespace

class TestProfileBuilder : public QObject {
    Q_OBJECT

private slots:
    void scopesInAnyOrder_becomePreorder() {
        ProfileBuilder builder;
        const int root = builder.addScope(-1, ScopeKind::Module, "R", "", "R", 0);
        const int a = builder.addScope(root, ScopeKind::Module, "a", "a", "A", 0);
        const int b = builder.addScope(root, ScopeKind::Module, "b", "b", "B", 0);
        const int aa = builder.addScope(a, ScopeKind::Module, "aa", "a.aa", "A", 0);
        const int bb = builder.addScope(b, ScopeKind::Operator, "aten::bb", "b", "", 3);
        const int ab = builder.addScope(a, ScopeKind::Module, "ab", "a.ab", "A", 0);
        for (const int scope : {root, a, b, aa, bb, ab}) {
            builder.addSelf(scope, "latency", Direction::Forward, 1 << scope);
        }
        const auto profile = builder.build().value();
        QStringList rows;
        for (ScopeId scope = 0; scope < profile->scopeCount(); ++scope) {
            rows += QString(profile->depth(scope), ' ') + QString::fromStdString(std::string(profile->name(scope))) + "=" +
                    QString::number(profile->columns()[0].self[static_cast<std::size_t>(scope)]) + "/" +
                    QString::number(profile->columns()[0].total[static_cast<std::size_t>(scope)]);
        }
        QCOMPARE(rows, QStringList({"R=1/63", " a=2/42", "  aa=8/8", "  ab=32/32", " b=4/20", "  aten::bb=16/16"}));
        QCOMPARE(profile->subtreeEnd(1), 4);
        QCOMPARE(profile->parent(3), 1);
        QCOMPARE(profile->call(5), 3);
        QCOMPARE(profile->path(5), std::string_view("b"));
        QVERIFY(profile->className(5).empty());
        QVERIFY(profile->isInside(3, 1));
        QVERIFY(!profile->isInside(4, 1));
    }

    void totals_followTheRuleOfEachMetric() {
        ProfileBuilder builder;
        const int root = builder.addScope(-1, ScopeKind::Module, "R", "", "R", 0);
        const int a = builder.addScope(root, ScopeKind::Module, "a", "a", "A", 0);
        const int b = builder.addScope(a, ScopeKind::Module, "b", "a.b", "B", 0);
        builder.addSelf(a, "latency", Direction::Forward, 5);
        builder.addSelf(b, "latency", Direction::Forward, 7);
        builder.addSelf(b, "latency", Direction::Forward, 1);
        builder.addSelf(a, "high_water", Direction::Forward, 5);
        builder.addSelf(a, "high_water", Direction::Forward, 4);
        builder.addSelf(b, "high_water", Direction::Forward, 9);
        builder.addSelf(a, "parameters", Direction::Forward, 16);
        builder.addSelf(b, "parameters", Direction::Forward, 4);
        const auto profile = builder.build().value();
        QCOMPARE(total(*profile, "latency", "R"), 13);
        QCOMPARE(total(*profile, "latency", "b"), 8);
        QCOMPARE(total(*profile, "high_water", "R"), 9);
        QCOMPARE(total(*profile, "high_water", "a"), 9);
        QCOMPARE(total(*profile, "parameters", "a"), 20);
        QCOMPARE(profile->column("flops", Direction::Forward), nullptr);
        QCOMPARE(profile->column("latency", Direction::Backward), nullptr);
    }

    void unknownValues_areNeverZero() {
        ProfileBuilder builder;
        const int root = builder.addScope(-1, ScopeKind::Module, "R", "", "R", 0);
        const int a = builder.addScope(root, ScopeKind::Module, "a", "a", "A", 0);
        const int b = builder.addScope(root, ScopeKind::Module, "b", "b", "B", 0);
        [[maybe_unused]] const int bb = builder.addScope(b, ScopeKind::Module, "bb", "b.bb", "B", 0);
        builder.addSelf(a, "flops", Direction::Forward, 10);
        builder.markUnknownWhereUnset("flops", Direction::Forward);
        builder.markUnknownWhereUnset("activation", Direction::Forward);
        const auto profile = builder.build().value();
        QCOMPARE(total(*profile, "flops", "b"), kUnknown);
        QCOMPARE(total(*profile, "flops", "R"), 10);
        QCOMPARE(total(*profile, "activation", "R"), kUnknown);
    }

    void misuse_isInvalidArgument_data() {
        QTest::addColumn<int>("fault");
        QTest::newRow("no root") << 0;
        QTest::newRow("second root") << 1;
        QTest::newRow("parent that was not added") << 2;
        QTest::newRow("unknown metric") << 3;
        QTest::newRow("negative value") << 4;
        QTest::newRow("sum of one scope overflows") << 5;
        QTest::newRow("total overflows") << 6;
        QTest::newRow("scope that was not added") << 7;
    }

    void misuse_isInvalidArgument() {
        QFETCH(int, fault);
        ProfileBuilder builder;
        if (fault != 0) {
            const int root = builder.addScope(-1, ScopeKind::Module, "R", "", "R", 0);
            const int child = builder.addScope(fault == 1 ? -1 : fault == 2 ? 7 : root, ScopeKind::Module, "a", "a", "A", 0);
            constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
            builder.addSelf(fault == 7 ? 2 : root, fault == 3 ? "joules" : "latency", Direction::Forward, fault == 4 ? -1 : 1);
            builder.addSelf(fault == 5 ? root : child, "latency", Direction::Forward, fault >= 5 ? kHuge : 1);
        }
        const auto built = builder.build();
        QVERIFY(!built.hasValue());
        QCOMPARE(built.error().code, modulelens::base::ErrorCode::InvalidArgument);
        QVERIFY(!built.error().message.empty());
    }

    void hostileParts_areRefused_data() {
        QTest::addColumn<int>("fault");
        for (int fault = 0; fault < 11; ++fault) {
            QTest::addRow("fault %d", fault) << fault;
        }
    }

    void hostileParts_areRefused() {
        QFETCH(int, fault);
        QVERIFY(Profile::create(threeScopes()).hasValue());
        ProfileParts parts = threeScopes();
        switch (fault) {
            case 0:
                parts.parent = {};
                break;
            case 1:
                parts.parent = {0, 0, 0};
                break;
            case 2:
                parts.parent = {-1, 1, 0};
                break;
            case 3:
                parts.parent = {-1, 2, 0};
                break;
            case 4:
                parts.parent = {-1, -1, 0};
                break;
            case 5:
                parts.kind.pop_back();
                break;
            case 6:
                parts.name[2] = 1;
                break;
            case 7:
                parts.textEnds = {2};
                break;
            case 8:
                parts.columns[0].self.pop_back();
                break;
            case 9:
                parts.columns.push_back(parts.columns[0]);
                break;
            default:
                parts.columns[0].self[1] = -5;
                break;
        }
        QVERIFY(!Profile::create(std::move(parts)).hasValue());
    }

    void tooDeepTree_isRefused() {
        ProfileBuilder builder;
        int scope = -1;
        for (int i = 0; i <= 32768; ++i) {
            scope = builder.addScope(scope, ScopeKind::Module, "x", "x", "X", 0);
        }
        QVERIFY(!builder.build().hasValue());
    }

    void selfValues_sumToTheRootTotal() {
        const auto profile = modulelens::test::randomProfile(5000, 7);
        for (const Column& column : profile->columns()) {
            std::int64_t sum = 0;
            for (const std::int64_t value : column.self) {
                sum += value;
            }
            QCOMPARE(column.total[0], sum);
        }
    }

    void childOrder_isHeaviestFirstWithStableTies() {
        const auto profile = foldedProfile("R;a 1\nR;b 5\nR;c 5\nR;d;aten::x 9\n");
        const Column& column = *profile->column("latency", Direction::Forward);
        const ChildOrder heaviest(profile, [&](ScopeId left, ScopeId right) {
            return column.total[static_cast<std::size_t>(left)] > column.total[static_cast<std::size_t>(right)];
        });
        QStringList names;
        for (const ScopeId child : heaviest.children(0)) {
            names += QString::fromStdString(std::string(profile->name(child)));
            QCOMPARE(heaviest.row(child), names.size() - 1);
        }
        QCOMPARE(names, QStringList({"d", "b", "c", "a"}));
        QVERIFY(heaviest.children(scopeNamed(*profile, "a")).empty());
        QCOMPARE(ChildOrder(profile).row(scopeNamed(*profile, "c")), 2);
    }

    void sixMetrics_stayBelow200BytesAScope() {
        const int count = 20000;
        const auto profile = modulelens::test::randomProfile(count, 3);
        QVERIFY(profile->columns().size() >= 7);
        QVERIFY2(profile->memoryBytes() / count <= 200, qPrintable(QString::number(profile->memoryBytes() / count)));
    }
};

ML_TEST_MAIN(TestProfileBuilder)
#include "tst_ProfileBuilder.moc"
