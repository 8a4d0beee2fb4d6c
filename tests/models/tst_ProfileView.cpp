// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/ProfileView.h"
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"

#include <QSignalSpy>
#include <QTest>

using namespace modulelens::models;
using namespace modulelens::profile;
using modulelens::test::foldedBuilder;
using modulelens::test::foldedProfile;
using modulelens::test::scopeNamed;

namespace {

const char* const kModel =
    "Model;layers;0:Block;attn;aten::bmm 50/70\nModel;layers;0:Block 4/4\n"
    "Model;layers;1:Block;mlp 20/10\nModel;head 30/0\n";

} // namespace

class TestProfileView : public QObject {
    Q_OBJECT

private slots:
    void values_followDirectionAndShare() {
        ProfileView view;
        view.setProfile(foldedProfile(kModel));
        const ScopeId block = scopeNamed(*view.profile(), "0");
        QCOMPARE(view.total(block), 128);
        QCOMPARE(view.self(block), 8);
        QCOMPARE(view.value(block), 128);
        view.setShare(ProfileView::Share::Self);
        QCOMPARE(view.value(block), 8);
        view.setDirection(ProfileView::Direction::Backward);
        QCOMPARE(view.total(block), 74);
        QCOMPARE(view.forwardColumn(), nullptr);
        QCOMPARE(view.totalOf("latency", 0), 84);
    }

    void unknownMetric_isASentenceNotZero() {
        ProfileBuilder builder = foldedBuilder("R;a 5\n");
        builder.setFact("unknown.peak", "the device reports no memory");
        ProfileView view;
        view.setProfile(builder.build().value());
        QVERIFY(view.isKnown());
        QVERIFY(view.unknownSentence().isEmpty());
        view.setMetric("peak");
        QVERIFY(!view.isKnown());
        QVERIFY(!view.total(0).has_value());
        QCOMPARE(view.hotspot(), ProfileView::kNoScope);
        QCOMPARE(view.unknownSentence(), QString("Peak is unknown: the device reports no memory"));
        view.setMetric("activation");
        QCOMPARE(view.unknownSentence(), QString("Activation is unknown: this profile did not measure it"));
        view.setMetric("latency");
        view.setDirection(ProfileView::Direction::Backward);
        QVERIFY(!view.isKnown());
    }

    void countedProfile_saysThatNothingWasRun() {
        ProfileBuilder builder = foldedBuilder("R;a 5\n");
        builder.setFact("mode", "static");
        ProfileView view;
        view.setProfile(builder.build().value());
        view.setMetric("peak");
        QCOMPARE(view.unknownSentence(),
                 QString("Peak is unknown: these numbers were counted before a run; profile the version to measure it"));
    }

    void overhead_isNeverTheHotspot() {
        ProfileBuilder builder = foldedBuilder("R;a;aten::x 5\n");
        builder.addSelf(builder.addScope(0, ScopeKind::Unattributed, "not in any operator", "", "", 0), "latency",
                        Direction::Forward, 900);
        ProfileView view;
        view.setProfile(builder.build().value());
        QCOMPARE(view.displayName(view.childOrder().children(0).back()), QString("not in any operator"));
        QCOMPARE(view.hotspotSentence(), QString("Heaviest self: aten::x in a, 5\u00A0ns, 0.6\u00A0%"));
    }

    void firstKnownMetric_isShownUntilOneIsChosen() {
        ProfileBuilder builder;
        const int root = builder.addScope(-1, ScopeKind::Module, "R", "", "R", 0);
        builder.addSelf(root, "flops", Direction::Forward, 5);
        ProfileView view;
        view.setProfile(builder.build().value());
        QCOMPARE(view.metric(), std::string("flops"));
        view.setProfile(foldedProfile("R 1\n"));
        QCOMPARE(view.metric(), std::string("latency"));
        view.setMetric("parameters");
        view.setProfile(foldedProfile("R 2\n"));
        QCOMPARE(view.metric(), std::string("parameters"));
        view.setMetric("no such metric");
        QCOMPARE(view.metric(), std::string("parameters"));
    }

    void hotspot_isTheGreatestSelf() {
        ProfileView view;
        view.setProfile(foldedProfile(kModel));
        QCOMPARE(view.hotspot(), scopeNamed(*view.profile(), "aten::bmm"));
        QCOMPARE(view.hotspotSentence(), QString("Heaviest self: aten::bmm in layers.0.attn, 120\u00A0ns, 63.8\u00A0%"));
    }

    void selectionAndZoom_surviveGroupingAndReload() {
        ProfileView view;
        view.setGrouping(Grouping::Call);
        view.setProfile(foldedProfile(kModel));
        view.select(scopeNamed(*view.profile(), "mlp"));
        view.zoomTo(scopeNamed(*view.profile(), "1"));
        view.setGrouping(Grouping::Class);
        QCOMPARE(view.displayName(view.selection()), QString("mlp"));
        QCOMPARE(view.displayName(view.zoomRoot()), QString("Block"));
        QCOMPARE(view.members(view.zoomRoot()), 2);
        view.setGrouping(Grouping::Module);
        view.select(scopeNamed(*view.profile(), "mlp"));
        view.setProfile(foldedProfile("Model;new 1\nModel;layers;1:Block;mlp 7\n"));
        QCOMPARE(view.displayName(view.selection()), QString("mlp"));
        view.setProfile(foldedProfile("Other 1\n"));
        QCOMPARE(view.selection(), ProfileView::kNoScope);
        QCOMPARE(view.zoomRoot(), 0);
        view.setProfile(nullptr);
        QVERIFY(view.profile() == nullptr);
        view.select(0);
        QCOMPARE(view.selection(), ProfileView::kNoScope);
    }

    void zoomHistory_goesBackAndForward() {
        ProfileView view;
        view.setProfile(foldedProfile(kModel));
        const ScopeId layers = scopeNamed(*view.profile(), "layers");
        const ScopeId block = scopeNamed(*view.profile(), "0");
        QSignalSpy zooms(&view, &ProfileView::zoomChanged);
        view.zoomTo(block);
        view.zoomUp();
        QCOMPARE(view.zoomRoot(), layers);
        view.goBack();
        QCOMPARE(view.zoomRoot(), block);
        QVERIFY(view.canGoForward());
        view.goBack();
        QCOMPARE(view.zoomRoot(), 0);
        QVERIFY(!view.canGoBack());
        view.goBack();
        view.goForward();
        view.goForward();
        QCOMPARE(view.zoomRoot(), layers);
        view.zoomTo(0);
        QVERIFY(!view.canGoForward());
        QCOMPARE(zooms.count(), 7);
    }

    void order_heaviestFirstOrTime() {
        ProfileView view;
        view.setProfile(foldedProfile("R;a 1\nR;b 9\n"));
        QCOMPARE(view.childOrder().children(0).front(), 2);
        view.setOrder(ProfileView::Order::Time);
        QCOMPARE(view.childOrder().children(0).front(), 1);
    }

    void search_stepsRoundAndCountsItsShare() {
        ProfileView view;
        view.setProfile(foldedProfile("R;a1 25\nR;b 50\nR;a2 25\n"));
        view.setSearchText("a");
        QCOMPARE(view.searchResult().matches().size(), std::size_t(2));
        QCOMPARE(view.matchedShare(), 0.5);
        QCOMPARE(view.currentMatch(), -1);
        view.selectNextMatch();
        QCOMPARE(view.displayName(view.selection()), QString("a1"));
        view.selectNextMatch();
        QCOMPARE(view.displayName(view.selection()), QString("a2"));
        QCOMPARE(view.currentMatch(), 1);
        view.selectNextMatch();
        QCOMPARE(view.displayName(view.selection()), QString("a1"));
        view.selectPreviousMatch();
        QCOMPARE(view.displayName(view.selection()), QString("a2"));
        view.select(scopeNamed(*view.profile(), "b"));
        view.selectPreviousMatch();
        QCOMPARE(view.displayName(view.selection()), QString("a1"));
        view.setSearchText("zzz");
        view.selectNextMatch();
        QCOMPARE(view.displayName(view.selection()), QString("a1"));
        view.setSearchText("");
        QVERIFY(!view.isSearching());
    }
};

ML_TEST_MAIN(TestProfileView)
#include "tst_ProfileView.moc"
