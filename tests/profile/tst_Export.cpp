// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Export.h"
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens::profile;
using modulelens::test::foldedBuilder;
using modulelens::test::foldedProfile;

class TestExport : public QObject {
    Q_OBJECT

private slots:
    void foldedStacks_roundTrip() {
        const std::string text = "R 1\nR;a;aten::x 5\nR;b 7\n";
        const auto profile = foldedProfile(text);
        QCOMPARE(foldedStacks(*profile, *profile->column("latency", Direction::Forward)), text);
    }

    void foldedStacks_hideSeparatorsInNames() {
        ProfileBuilder builder;
        const int root = builder.addScope(-1, ScopeKind::Module, "a;b\nc", "", "", 0);
        builder.addSelf(root, "latency", Direction::Forward, 3);
        const auto profile = builder.build().value();
        QCOMPARE(foldedStacks(*profile, profile->columns()[0]), std::string("a_b_c 3\n"));
    }

    void csv_quotesAndLeavesUnknownEmpty() {
        ProfileBuilder builder;
        const int root = builder.addScope(-1, ScopeKind::Module, "R, \"x\"", "", "pkg:R", 0);
        builder.addSelf(root, "latency", Direction::Forward, 3);
        builder.markUnknownWhereUnset("flops", Direction::Forward);
        QCOMPARE(csv(*builder.build().value()),
                 std::string("depth,kind,name,path,class,call,latency forward self,latency forward total,flops forward "
                             "self,flops forward total\r\n0,module,\"R, \"\"x\"\"\",,pkg:R,0,3,3,,\r\n"));
    }

    void markdown_stopsAtTheAskedLevel() {
        const auto profile = foldedProfile("R;a|b;aten::x 5\nR;c 7\n");
        QCOMPARE(markdown(*profile, 0, 1),
                 std::string("| module | class | latency forward (ns) |\n| --- | --- | ---: |\n| R | R | 12 |\n"
                             "| &nbsp;&nbsp;a\\|b | a\\|b | 5 |\n| &nbsp;&nbsp;c | c | 7 |\n"));
    }
};

ML_TEST_MAIN(TestExport)
#include "tst_Export.moc"
