// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"
#include "widgets/Colours.h"
#include "widgets/FlameGraph.h"
#include "widgets/FlameGraphLegend.h"
#include "widgets/FlameGraphPainter.h"
#include "widgets/FlameGraphTip.h"
#include "widgets/ScopeMenu.h"
#include "widgets/ThemeController.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>

using namespace modulelens::models;
using namespace modulelens::profile;
using namespace modulelens::widgets;
using modulelens::test::foldedBuilder;
using modulelens::test::foldedProfile;
using modulelens::test::kTwoBlockModel;
using modulelens::test::randomProfile;
using modulelens::test::scopeNamed;

namespace {

/// A view and its flame graph, shown offscreen.
struct Shown {
    ProfileView view;
    FlameGraph flame{&view};

    explicit Shown(std::shared_ptr<const Profile> profile, QSize size = {832, 300}) {
        flame.setReduceMotion(true);
        view.setProfile(std::move(profile));
        flame.resize(size);
        flame.show();
    }

    ScopeId scope(const char* name) const { return scopeNamed(*view.profile(), name); }
    QString selected() const { return view.selection() < 0 ? QString() : view.displayName(view.selection()); }
    QPoint centreOf(ScopeId id) const {
        const auto place = flame.flameLayout().find(*view.profile(), view.childOrder(), id).at(0);
        return flame.boxRect(place.row, flame.flameLayout().row(place.row)[place.index]).center();
    }
};

FlameSpan spanOf(const Shown& shown, const char* name) {
    const auto place = shown.flame.flameLayout().find(*shown.view.profile(), shown.view.childOrder(), shown.scope(name)).at(0);
    return shown.flame.flameLayout().row(place.row)[place.index];
}

} // namespace

class TestFlameGraph : public QObject {
    Q_OBJECT

private slots:
    void click_selectsAndDoubleClickZooms() {
        Shown shown(foldedProfile(kTwoBlockModel));
        QTest::mouseClick(shown.flame.viewport(), Qt::LeftButton, {}, shown.centreOf(shown.scope("attn")));
        QCOMPARE(shown.selected(), QString("attn"));
        const QPoint at = shown.centreOf(shown.scope("0"));
        QTest::mouseDClick(shown.flame.viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(shown.view.zoomRoot(), shown.scope("0"));
        QTest::mouseDClick(shown.flame.viewport(), Qt::LeftButton, {}, shown.centreOf(shown.scope("0")));
        QCOMPARE(shown.view.zoomRoot(), shown.scope("layers"));
        QTest::mouseClick(shown.flame.viewport(), Qt::LeftButton, {}, QPoint(400, 290));
        QCOMPARE(shown.selected(), QString("attn"));
    }

    void keyboardWalk_reachesEveryScope() {
        Shown shown(foldedProfile(kTwoBlockModel));
        QTest::keyClick(&shown.flame, Qt::Key_Down);
        QCOMPARE(shown.selected(), QString("Model"));
        const auto press = [&](Qt::Key key) {
            QTest::keyClick(&shown.flame, key);
            return shown.selected();
        };
        QCOMPARE(press(Qt::Key_Down), QString("layers"));
        QCOMPARE(press(Qt::Key_Right), QString("head"));
        QCOMPARE(press(Qt::Key_Right), QString("head"));
        QCOMPARE(press(Qt::Key_Left), QString("layers"));
        QCOMPARE(press(Qt::Key_Down), QString("0"));
        QCOMPARE(press(Qt::Key_Down), QString("attn"));
        QCOMPARE(press(Qt::Key_Right), QString("up"));
        QCOMPARE(press(Qt::Key_Down), QString("aten::addmm"));
        QCOMPARE(press(Qt::Key_Down), QString("aten::addmm"));
        QCOMPARE(press(Qt::Key_Up), QString("up"));
        QCOMPARE(press(Qt::Key_Return), QString("up"));
        QCOMPARE(shown.view.zoomRoot(), shown.scope("up"));
        QCOMPARE(press(Qt::Key_Escape), QString("up"));
        QCOMPARE(shown.view.zoomRoot(), shown.scope("0"));
        press(Qt::Key_Backspace);
        press(Qt::Key_Minus);
        QCOMPARE(shown.view.zoomRoot(), 0);
        press(Qt::Key_Plus);
        QCOMPARE(shown.view.zoomRoot(), shown.scope("layers"));
        QCOMPARE(press(Qt::Key_Home), QString("layers"));
        QCOMPARE(press(Qt::Key_Up), QString("Model"));
        QCOMPARE(shown.view.zoomRoot(), 0);
        QTest::keyClick(&shown.flame, Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(shown.view.zoomRoot(), shown.scope("layers"));
    }

    void enterOnAMergedScope_zoomsToItsParent() {
        std::string text = "R;a 100000\n";
        for (int i = 0; i < 40; ++i) {
            text += "R;b;small" + std::to_string(i) + " 100\n";
        }
        Shown shown(foldedProfile(text));
        shown.view.select(shown.scope("small7"));
        QVERIFY(shown.flame.flameLayout().find(*shown.view.profile(), shown.view.childOrder(), shown.scope("small7")).size() ==
                1);
        QTest::keyClick(&shown.flame, Qt::Key_Enter);
        QCOMPARE(shown.view.zoomRoot(), shown.scope("b"));
    }

    void searchStates_haveFourLooks() {
        Shown shown(foldedProfile(kTwoBlockModel));
        FlameGraphPainter painter;
        shown.view.setMetric("latency");
        const Theme& theme = Theme::current();
        const auto colours = [&](const char* name) { return painter.coloursOf(shown.view, spanOf(shown, name)); };
        const QColor own = colours("aten::addmm").fill;
        shown.view.setSearchText("up");
        QCOMPARE(colours("up").fill, theme.classFill(classHue(u"Linear"), Theme::Step::Strong));
        QCOMPARE(colours("aten::addmm").fill, own);
        QCOMPARE(colours("0").fill, theme.classFill(std::nullopt, Theme::Step::Quiet));
        QCOMPARE(colours("0").text, theme.text2);
        QCOMPARE(colours("head").fill, theme.classFill(std::nullopt, Theme::Step::Quiet));
        QCOMPARE(colours("head").text, theme.text3);
        QCOMPARE(colours("aten::_softmax").fill, theme.hot);
    }

    void heaviestSelfOfAModuleWithChildren_isHotOnlyWhereNoChildLies() {
        Shown shown(foldedProfile("Model 600\nModel;a:Block 100\nModel;b:Block 300\n"));
        const Theme& theme = Theme::current();
        FlameGraphPainter painter;
        QCOMPARE(shown.view.hotspot(), 0);
        QVERIFY(painter.coloursOf(shown.view, spanOf(shown, "Model")).fill != theme.hot);
        const QImage picture = shown.flame.viewport()->grab().toImage();
        const QRect box = shown.flame.boxRect(0, shown.flame.flameLayout().row(0)[0]);
        const auto at = [&](double share) {
            return picture.pixelColor(box.left() + static_cast<int>(share * box.width()), box.top() + 2);
        };
        QVERIFY(at(.3) != theme.hot);
        QCOMPARE(at(.42), theme.hot);
        QCOMPARE(at(.98), theme.hot);
    }

    void operators_takeTheHueOfTheirModule() {
        Shown shown(foldedProfile(kTwoBlockModel));
        FlameGraphPainter painter;
        QCOMPARE(painter.coloursOf(shown.view, spanOf(shown, "aten::addmm")).fill,
                 Theme::current().classFill(classHue(u"Linear"), Theme::Step::Strong));
        QCOMPARE(painter.coloursOf(shown.view, spanOf(shown, "layers")).fill,
                 Theme::current().classFill(std::nullopt, Theme::Step::Quiet));
    }

    void labels_dropThePrefixThenElideThenGoAway() {
        Shown shown(foldedProfile(kTwoBlockModel));
        FlameGraphPainter painter;
        const FlameSpan span = spanOf(shown, "aten::addmm");
        QCOMPARE(painter.labelOf(shown.view, span, 400), QString("aten::addmm"));
        QStringList seen;
        for (int halfPixels = 800; halfPixels >= 0; --halfPixels) {
            const QString label = painter.labelOf(shown.view, span, halfPixels / 2.0);
            if (seen.isEmpty() || seen.last() != label) {
                seen += label;
            }
        }
        QCOMPARE(seen.value(0), QString("aten::addmm"));
        QCOMPARE(seen.value(1), QString("addmm"));
        QCOMPARE(seen.last(), QString());
        for (const QString& label : seen) {
            QVERIFY(label.isEmpty() || label.size() >= 4);
        }
    }

    void unknownMetric_isSaidInWords() {
        ProfileBuilder builder = foldedBuilder(kTwoBlockModel);
        builder.setFact("unknown.peak", "the device reports no memory");
        Shown shown(builder.build().value());
        QVERIFY(shown.flame.emptyText().isEmpty());
        shown.view.setMetric("peak");
        QCOMPARE(shown.flame.flameLayout().rowCount(), 0);
        QCOMPARE(shown.flame.emptyText(), QString("Peak is unknown\nThe device reports no memory."));
        QCOMPARE(shown.flame.accessibleDescription(), QString("Peak is unknown: The device reports no memory."));
        QVERIFY(!shown.flame.grab().isNull());
        shown.view.setProfile(nullptr);
        QVERIFY(shown.flame.emptyText().startsWith("No profile yet"));
        QTest::keyClick(&shown.flame, Qt::Key_Down);
        QTest::keyClick(&shown.flame, Qt::Key_Return);
        QTest::mouseMove(shown.flame.viewport(), QPoint(50, 50));
        QVERIFY(!shown.flame.grab().isNull());
    }

    void maximumMetric_givesNoWidths() {
        ProfileBuilder builder = foldedBuilder(kTwoBlockModel);
        builder.addSelf(0, "high_water", Direction::Forward, 5);
        Shown shown(builder.build().value());
        shown.view.setMetric("high_water");
        QCOMPARE(shown.flame.flameLayout().rowCount(), 0);
        QVERIFY(shown.flame.emptyText().startsWith("High water has no flame graph"));
    }

    void zeroTotal_isNotUnknown() {
        Shown shown(foldedProfile("R;a 0\n"));
        QVERIFY(shown.flame.emptyText().startsWith("Latency is 0 here"));
    }

    void tooltip_saysNumbersAndShares() {
        Shown shown(foldedProfile(kTwoBlockModel));
        const QStringList lines = shown.flame.tipLines(spanOf(shown, "attn"));
        QCOMPARE(lines.value(0), QString("layers.0.attn  Attention"));
        QCOMPARE(lines.value(1), QString("800\u00A0ns total, 0\u00A0ns self"));
        QCOMPARE(lines.value(2), QString("57.1\u00A0% of all, 80.8\u00A0% of 0"));
        QVERIFY(shown.flame.tipLines(spanOf(shown, "aten::_softmax")).contains("The heaviest self of this profile"));
        QTest::mouseMove(shown.flame.viewport(), shown.centreOf(shown.scope("attn")));
        const auto* tip = shown.flame.findChild<FlameGraphTip*>();
        QVERIFY(tip != nullptr && tip->isVisible());
        QCOMPARE(shown.view.hovered(), shown.scope("attn"));
        QVERIFY(shown.flame.rect().contains(tip->geometry()));
        QTest::mouseMove(shown.flame.viewport(), shown.centreOf(shown.scope("head")));
        QVERIFY(shown.flame.rect().contains(tip->geometry()));
    }

    void mergedTooltip_namesTheHeaviest() {
        std::string text = "R;a 100000\n";
        for (int i = 0; i < 40; ++i) {
            text += "R;small" + std::to_string(i) + " " + std::to_string(100 + i) + "\n";
        }
        Shown shown(foldedProfile(text));
        const FlameSpan span = spanOf(shown, "small0");
        QCOMPARE(span.hiddenCount, 40);
        QCOMPARE(shown.flame.tipLines(span), QStringList({"40 more in R", "small39  139\u00A0ns", "small38  138\u00A0ns",
                                                          "and 38 others; Enter zooms to R"}));
    }

    void selection_isDescribedForScreenReaders() {
        Shown shown(foldedProfile(kTwoBlockModel));
        QVERIFY(shown.flame.accessibleDescription().startsWith("Nothing selected"));
        shown.view.select(shown.scope("head"));
        QCOMPARE(shown.flame.accessibleDescription(), QString("head, Latency 300\u00A0ns, 21.4\u00A0% of all"));
    }

    void menu_copiesNameAndTable() {
        Shown shown(foldedProfile(kTwoBlockModel));
        const std::unique_ptr<QMenu> menu(makeScopeMenu(&shown.view, shown.scope("attn"), nullptr));
        const auto trigger = [&](const QString& text) {
            for (QAction* action : menu->actions()) {
                if (action->text() == text) {
                    action->trigger();
                    return;
                }
            }
            QFAIL("no such action");
        };
        trigger("Copy qualified name");
        QCOMPARE(QApplication::clipboard()->text(), QString("layers.0.attn"));
        trigger("Copy as Markdown");
        QVERIFY(QApplication::clipboard()->text().contains("| attn | Attention | 500 | 300 |"));
        trigger("Find all Attention");
        QCOMPARE(shown.view.searchText(), QString("Attention"));
        trigger("Zoom here");
        QCOMPARE(shown.view.zoomRoot(), shown.scope("attn"));
    }

    void legend_namesTheHeaviestClasses() {
        ProfileView view;
        view.setProfile(foldedProfile(kTwoBlockModel));
        const FlameGraphLegend legend(&view);
        QCOMPARE(legend.classes(), QStringList({"Attention", "Linear", "LayerNorm"}));
    }

    void contentHeight_followsTheRows() {
        Shown shown(foldedProfile(kTwoBlockModel));
        QSignalSpy heights(&shown.flame, &FlameGraph::contentHeightChanged);
        const int both = shown.flame.contentHeight();
        shown.view.setDirection(ProfileView::Direction::Forward);
        QCOMPARE(shown.flame.contentHeight(), both - FlameGraphPainter::rowHeight());
        QVERIFY(heights.count() >= 1);
    }

    void zoomAnimation_endsWithTheSamePicture() {
        Shown still(foldedProfile(kTwoBlockModel));
        still.view.zoomTo(still.scope("0"));
        Shown moving(foldedProfile(kTwoBlockModel));
        moving.flame.setReduceMotion(false);
        moving.view.zoomTo(moving.scope("0"));
        moving.view.zoomUp();
        moving.view.zoomTo(moving.scope("0"));
        QVERIFY(!moving.flame.grab().isNull());
        still.flame.clearFocus();
        moving.flame.clearFocus();
        QTRY_COMPARE(moving.flame.grab().toImage(), still.flame.grab().toImage());
    }

    void everyLabel_isReadableInBothThemes_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }

    void everyLabel_isReadableInBothThemes() {
        QFETCH(bool, dark);
        ThemeController controller;
        controller.setSetting(dark ? ThemeController::Setting::Dark : ThemeController::Setting::Light);
        Shown shown(randomProfile(4000, 3), {1400, 500});
        FlameGraphPainter painter;
        for (const char* needle : {"", "op7"}) {
            shown.view.setSearchText(needle);
            for (int row = 0; row < shown.flame.flameLayout().rowCount(); ++row) {
                for (const FlameSpan& span : shown.flame.flameLayout().row(row)) {
                    const auto colours = painter.coloursOf(shown.view, span);
                    QVERIFY(contrastRatio(colours.fill, colours.text) >= 4.5);
                }
            }
        }
        const QImage picture = shown.flame.grab().toImage();
        QCOMPARE(picture.pixelColor(2, 2), Theme::current().surface);
        const QRect root = shown.flame.boxRect(0, shown.flame.flameLayout().row(0)[0]);
        QCOMPARE(picture.pixelColor(root.center().x(), root.center().y()),
                 Theme::current().classFill(std::nullopt, Theme::Step::Quiet));
    }

    void themeSwitch_repaintsInNewColours() {
        ThemeController controller;
        controller.setSetting(ThemeController::Setting::Light);
        Shown shown(foldedProfile(kTwoBlockModel));
        const QImage light = shown.flame.grab().toImage();
        controller.setSetting(ThemeController::Setting::Dark);
        const QImage dark = shown.flame.grab().toImage();
        QCOMPARE(dark.pixelColor(2, 2), Theme::of(Theme::Mode::Dark).surface);
        QVERIFY(light != dark);
    }

    void aMillionScopes_arePaintedAndHit() {
        Shown shown(foldedProfile("R 1\n"), {1432, 600});
        shown.view.setGrouping(Grouping::Call);
        shown.view.setProfile(randomProfile(1000000, 8));
        QVERIFY(!shown.flame.grab().isNull());
        int hits = 0;
        for (int x = 20; x < 1400; x += 7) {
            for (int y = 6; y < 590; y += 20) {
                hits += shown.flame.spanAt({x, y}) != nullptr ? 1 : 0;
            }
        }
        QVERIFY(hits > 100);
    }
};

ML_TEST_MAIN(TestFlameGraph)
#include "tst_FlameGraph.moc"
