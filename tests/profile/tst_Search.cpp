// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Search.h"
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens::profile;
using modulelens::test::foldedProfile;

namespace {

QString states(const Profile& profile, const SearchResult& result) {
    QString letters;
    for (ScopeId scope = 0; scope < profile.scopeCount(); ++scope) {
        letters += "MIH."[static_cast<int>(result.state(scope))];
    }
    return letters;
}

} // namespace

class TestSearch : public QObject {
    Q_OBJECT

private slots:
    void states_matchInsideHoldsNone_data() {
        QTest::addColumn<QString>("needle");
        QTest::addColumn<QString>("expected");
        QTest::addColumn<qint64>("matched");
        // Scopes: Model, layers, 0:Block, attn, aten::bmm, 1:Block, mlp, head
        QTest::newRow("middle") << "attn" << "HHHMI..." << qint64(5);
        QTest::newRow("leaf") << "bmm" << "HHHHM..." << qint64(5);
        QTest::newRow("root") << "model" << "MIIIIIII" << qint64(36);
        QTest::newRow("none") << "conv" << "........" << qint64(0);
        QTest::newRow("empty") << "" << "........" << qint64(0);
        QTest::newRow("class, any case") << "bLOCK" << "HHMIIMI." << qint64(13);
        QTest::newRow("qualified name ends in the last segment") << "layers.0" << "HHMII..." << qint64(5);
        QTest::newRow("qualified name below") << "0.attn" << "HHHMI..." << qint64(5);
        QTest::newRow("first letter of the last segment") << "layers.1" << "HH...MI." << qint64(8);
    }

    void states_matchInsideHoldsNone() {
        QFETCH(QString, needle);
        QFETCH(QString, expected);
        QFETCH(qint64, matched);
        const auto profile =
            foldedProfile("Model;layers;0:Block;attn;aten::bmm 5\nModel;layers;1:Block;mlp 8\nModel;head 23\n");
        const SearchResult result = search(*profile, needle.toStdString());
        QCOMPARE(states(*profile, result), expected);
        QCOMPARE(matchedTotal(result, *profile->column("latency", Direction::Forward)), matched);
    }

    void nestedMatches_countOnce() {
        const auto profile = foldedProfile("R;attn;attn;x 5\nR;attn;y 2\n");
        const SearchResult result = search(*profile, "attn");
        QCOMPARE(result.matches().size(), std::size_t(2));
        QCOMPARE(result.outermost().size(), std::size_t(1));
        QCOMPARE(matchedTotal(result, *profile->column("latency", Direction::Forward)), 7);
    }

    void randomTrees_agreeWithTheDefinition() {
        const auto profile = modulelens::test::randomProfile(3000, 11);
        const SearchResult result = search(*profile, "op3");
        for (ScopeId scope = 0; scope < profile->scopeCount(); ++scope) {
            const auto isHit = [&](ScopeId id) { return profile->name(id).find("op3") != std::string_view::npos; };
            bool isInside = false;
            for (ScopeId above = profile->parent(scope); above >= 0; above = profile->parent(above)) {
                isInside = isInside || isHit(above);
            }
            bool holds = false;
            for (ScopeId below = scope + 1; below < profile->subtreeEnd(scope); ++below) {
                holds = holds || isHit(below);
            }
            const SearchState expected = isHit(scope) ? SearchState::Match
                                         : isInside   ? SearchState::InsideMatch
                                         : holds      ? SearchState::HoldsMatch
                                                      : SearchState::None;
            QCOMPARE(result.state(scope), expected);
        }
    }
};

ML_TEST_MAIN(TestSearch)
#include "tst_Search.moc"
