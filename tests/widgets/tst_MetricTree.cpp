// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"
#include "widgets/FlameGraph.h"
#include "widgets/MetricTree.h"
#include "widgets/MetricTreeDelegate.h"
#include "widgets/ThemeController.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QScrollBar>
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

struct Shown {
    ProfileView view;
    MetricTree tree{&view};

    explicit Shown(std::shared_ptr<const Profile> profile, QSize size = {1300, 500}) {
        view.setProfile(std::move(profile));
        tree.resize(size);
        tree.show();
    }

    ScopeId scope(const char* name) const { return scopeNamed(*view.profile(), name); }
    QModelIndex index(const char* name) const { return tree.treeModel()->indexOf(scope(name)); }
    QString current() const { return tree.currentIndex().siblingAtColumn(0).data().toString(); }
    QStringList columns() const {
        QStringList names;
        for (int column = 0; column < tree.header()->count(); ++column) {
            if (!tree.header()->isSectionHidden(column)) {
                names += tree.treeModel()->headerData(column, Qt::Horizontal).toString();
            }
        }
        return names;
    }
};

} // namespace

class TestMetricTree : public QObject {
    Q_OBJECT

private slots:
    void opensAlongTheHeaviestPath() {
        const Shown shown(foldedProfile(kTwoBlockModel));
        for (const char* name : {"Model", "layers", "0", "attn"}) {
            QVERIFY2(shown.tree.isExpanded(shown.index(name)), name);
        }
        QVERIFY(!shown.tree.isExpanded(shown.index("1")));
        QVERIFY(!shown.tree.isExpanded(shown.index("up")));
    }

    void widestFrame_isTheRowSelectedInTheTree() {
        Shown shown(randomProfile(2000, 6));
        FlameGraph flame(&shown.view);
        flame.setReduceMotion(true);
        flame.resize(1200, 400);
        flame.show();
        const int row = 3;
        QVERIFY(flame.flameLayout().rowCount() > row);
        const FlameSpan* widest = nullptr;
        for (const FlameSpan& span : flame.flameLayout().row(row)) {
            if (span.hiddenCount == 0 && (widest == nullptr || span.width > widest->width)) {
                widest = &span;
            }
        }
        QVERIFY(widest != nullptr);
        const ScopeId scope = widest->scope;
        QTest::mouseClick(flame.viewport(), Qt::LeftButton, {}, flame.boxRect(row, *widest).center());
        QCOMPARE(shown.tree.treeModel()->scopeAt(shown.tree.currentIndex()), scope);
        QCOMPARE(shown.tree.selectionModel()->selectedRows().size(), 1);
        QVERIFY(shown.tree.visualRect(shown.tree.currentIndex()).intersects(shown.tree.viewport()->rect()));
    }

    void selectedRow_staysInSightWithAllAboveItWhereThereIsRoom() {
        Shown shown(randomProfile(2000, 6), {1300, 160});
        const QModelIndex hot = shown.tree.treeModel()->indexOf(shown.view.hotspot());
        const auto isInSight = [&shown](const QModelIndex& index) {
            const QRect row = shown.tree.visualRect(index);
            return row.isValid() && row.top() >= 0 && row.bottom() < shown.tree.viewport()->height();
        };
        shown.view.select(shown.view.hotspot());
        QVERIFY(isInSight(hot));
        // The flame graph above takes room away, then gives more than before.
        shown.tree.resize(1300, 110);
        QVERIFY(isInSight(hot));
        shown.tree.resize(1300, 900);
        QVERIFY(isInSight(hot));
        QCOMPARE(shown.tree.verticalScrollBar()->value(), 0);
        // Another profile: the old place in the list means nothing.
        shown.tree.expandAll();
        shown.tree.verticalScrollBar()->setValue(shown.tree.verticalScrollBar()->maximum());
        shown.view.setProfile(randomProfile(1500, 5));
        const QModelIndex current = shown.tree.currentIndex();
        QVERIFY(current.isValid() ? isInSight(current) : shown.tree.verticalScrollBar()->value() == 0);
    }

    void treeSelection_isTheViewsSelection() {
        Shown shown(foldedProfile(kTwoBlockModel));
        shown.tree.setCurrentIndex(shown.index("0"));
        QCOMPARE(shown.view.selection(), shown.scope("0"));
        QTest::keyClick(&shown.tree, Qt::Key_Down);
        QCOMPARE(shown.view.selection(), shown.scope("attn"));
        shown.view.select(shown.scope("norm"));
        QCOMPARE(shown.current(), QString("norm"));
        QVERIFY(shown.tree.isExpanded(shown.index("1")));
        shown.view.select(ProfileView::kNoScope);
        QVERIFY(shown.tree.selectionModel()->selectedRows().isEmpty());
    }

    void notInAnyChild_canBeSelected() {
        Shown shown(foldedProfile(kTwoBlockModel));
        const QModelIndex rest = shown.tree.treeModel()->index(2, 0, shown.index("Model"));
        QCOMPARE(rest.data().toString(), QString("not in any child"));
        shown.tree.setCurrentIndex(rest);
        QCOMPARE(shown.current(), QString("not in any child"));
        QCOMPARE(shown.view.selection(), 0);
    }

    void chevron_opensAndCloses() {
        Shown shown(foldedProfile(kTwoBlockModel));
        const QRect row = shown.tree.visualRect(shown.index("0"));
        const QPoint chevron(MetricTreeDelegate::chevronLeft(2) + 7, row.center().y());
        QTest::mouseClick(shown.tree.viewport(), Qt::LeftButton, {}, chevron);
        QVERIFY(!shown.tree.isExpanded(shown.index("0")));
        QTest::mouseClick(shown.tree.viewport(), Qt::LeftButton, {}, chevron);
        QVERIFY(shown.tree.isExpanded(shown.index("0")));
        QCOMPARE(shown.view.selection(), ProfileView::kNoScope);
    }

    void doubleClickAndEnter_zoomTheFlame() {
        Shown shown(foldedProfile(kTwoBlockModel));
        const QPoint at = shown.tree.visualRect(shown.index("layers")).center();
        QTest::mouseDClick(shown.tree.viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(shown.view.zoomRoot(), shown.scope("layers"));
        shown.tree.setCurrentIndex(shown.index("0"));
        QTest::keyClick(&shown.tree, Qt::Key_Return);
        QCOMPARE(shown.view.zoomRoot(), shown.scope("0"));
        QTest::keyClick(&shown.tree, Qt::Key_Backspace);
        QCOMPARE(shown.view.zoomRoot(), shown.scope("layers"));
    }

    void narrowWindows_dropColumnsInTheAgreedOrder() {
        ProfileBuilder builder = foldedBuilder(kTwoBlockModel);
        for (const char* metric : {"flops", "parameters", "activation"}) {
            builder.addSelf(0, metric, Direction::Forward, 5);
        }
        Shown shown(builder.build().value());
        shown.tree.resize(1400, 400);
        QCOMPARE(shown.columns(), QStringList({"Module", "Class", "Latency, total", "Self", "Of parent", "Forward", "Backward",
                                               "FLOPs", "Params", "Activation"}));
        shown.tree.resize(1100, 400);
        QVERIFY(!shown.columns().contains("Class"));
        QVERIFY(shown.columns().contains("Forward"));
        shown.tree.resize(860, 400);
        QVERIFY(!shown.columns().contains("Backward"));
        QVERIFY(shown.columns().contains("FLOPs"));
        shown.tree.resize(520, 400);
        QCOMPARE(shown.columns(), QStringList({"Module", "Latency, total"}));
    }

    void unwantedColumns_stayHidden() {
        Shown shown(foldedProfile(kTwoBlockModel), {1400, 400});
        shown.tree.setColumnWanted(MetricTreeModel::SelfColumn, false);
        QVERIFY(!shown.columns().contains("Self"));
        shown.view.setMetric("flops");
        shown.view.setMetric("latency");
        QVERIFY(!shown.columns().contains("Self"));
        shown.tree.setColumnWanted(MetricTreeModel::SelfColumn, true);
        QVERIFY(shown.columns().contains("Self"));
    }

    void headerClick_sortsDescendingFirstAndNotTheFlame() {
        Shown shown(foldedProfile(kTwoBlockModel));
        const QModelIndex root = shown.tree.treeModel()->index(0, 0);
        const auto firstChild = [&] { return shown.tree.treeModel()->index(0, 0, root).data().toString(); };
        const auto click = [&](int column) {
            QTest::mouseClick(shown.tree.header()->viewport(), Qt::LeftButton, {},
                              QPoint(shown.tree.header()->sectionViewportPosition(column) + 20, 10));
        };
        QCOMPARE(firstChild(), QString("layers"));
        click(MetricTreeModel::ModuleColumn);
        QCOMPARE(firstChild(), QString("head"));
        click(MetricTreeModel::SelfColumn);
        QCOMPARE(firstChild(), QString("head"));
        click(MetricTreeModel::DrivingColumn);
        QCOMPARE(firstChild(), QString("layers"));
        click(MetricTreeModel::DrivingColumn);
        QCOMPARE(firstChild(), QString("head"));
        QCOMPARE(shown.view.displayName(shown.view.childOrder().children(0).front()), QString("layers"));
    }

    void metricSwitch_keepsRowsOpen() {
        ProfileBuilder builder = foldedBuilder(kTwoBlockModel);
        builder.addSelf(scopeNamed(*foldedProfile(kTwoBlockModel), "norm"), "flops", Direction::Forward, 5);
        Shown shown(builder.build().value());
        shown.tree.setExpanded(shown.index("1"), true);
        shown.view.setMetric("flops");
        QVERIFY(shown.tree.isExpanded(shown.index("1")));
        QVERIFY(shown.tree.isExpanded(shown.index("attn")));
    }

    void search_opensTheRowsOfMatches() {
        Shown shown(foldedProfile(kTwoBlockModel));
        shown.view.setSearchText("norm");
        QVERIFY(shown.tree.isExpanded(shown.index("1")));
        shown.view.selectNextMatch();
        QCOMPARE(shown.current(), QString("norm"));
    }

    void copy_isAMarkdownTable() {
        Shown shown(foldedProfile(kTwoBlockModel));
        shown.view.select(shown.scope("head"));
        QTest::keyClick(&shown.tree, Qt::Key_C, Qt::ControlModifier);
        QVERIFY(QApplication::clipboard()->text().contains("| head | Linear | 200 | 100 |"));
    }

    void hotPath_isMarkedOnAncestorsOnly() {
        Shown shown(foldedProfile(kTwoBlockModel));
        const MetricTreeDelegate delegate(shown.tree.treeModel());
        QVERIFY(delegate.isOnHotPath(shown.index("attn")));
        QVERIFY(delegate.isOnHotPath(shown.index("Model")));
        QVERIFY(!delegate.isOnHotPath(shown.index("aten::_softmax")));
        QVERIFY(!delegate.isOnHotPath(shown.index("head")));
        QCOMPARE(delegate.fullScale(), 1402.0);
        shown.view.setShare(ProfileView::Share::Self);
        QCOMPARE(delegate.fullScale(), 800.0);
    }

    void heaviestSelfOfAModuleWithChildren_isHotInTheRowOfWhatNoChildExplains() {
        Shown shown(foldedProfile("Model 600\nModel;a:Block;b:Linear 100\nModel;c:Block 50\n"));
        const MetricTreeDelegate delegate(shown.tree.treeModel());
        const QModelIndex model = shown.index("Model");
        const QModelIndex rest = model.model()->index(model.model()->rowCount(model) - 1, 0, model);
        QCOMPARE(rest.data().toString(), QString("not in any child"));
        QVERIFY(!delegate.isWhollyHot(model));
        QVERIFY(delegate.isWhollyHot(rest));
        QVERIFY(!delegate.isWhollyHot(shown.index("c")));
        QVERIFY(shown.tree.isExpanded(shown.index("a")));
        shown.view.setShare(ProfileView::Share::Self);
        QVERIFY(delegate.isWhollyHot(model));
    }

    void bothThemes_paintEveryState() {
        for (const auto setting : {ThemeController::Setting::Light, ThemeController::Setting::Dark}) {
            ThemeController controller;
            controller.setSetting(setting);
            Shown shown(foldedProfile(kTwoBlockModel));
            shown.view.select(shown.scope("attn"));
            shown.view.setSearchText("norm");
            const QImage picture = shown.tree.viewport()->grab().toImage();
            const QRect row = shown.tree.visualRect(shown.index("attn"));
            QCOMPARE(picture.pixelColor(1, row.center().y()), Theme::current().accent);
            QCOMPARE(picture.pixelColor(5, row.top() + 2), Theme::current().accentSoft);
            shown.view.setMetric("activation");
            QVERIFY(!shown.tree.grab().isNull());
            shown.view.setProfile(nullptr);
            QVERIFY(!shown.tree.grab().isNull());
        }
    }

    void aMillionScopes_openOnlyWhatIsLookedAt() {
        Shown shown(foldedProfile("R 1\n"));
        shown.view.setGrouping(Grouping::Call);
        shown.view.setProfile(randomProfile(1000000, 8));
        QVERIFY(!shown.tree.grab().isNull());
        shown.view.select(999999);
        QCOMPARE(shown.tree.treeModel()->scopeAt(shown.tree.currentIndex()), 999999);
    }
};

ML_TEST_MAIN(TestMetricTree)
#include "tst_MetricTree.moc"
