// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/MetricTreeModel.h"
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"

#include <QAbstractItemModelTester>
#include <QTest>

using namespace modulelens::models;
using namespace modulelens::profile;
using modulelens::test::foldedBuilder;
using modulelens::test::foldedProfile;
using modulelens::test::scopeNamed;

namespace {

const char* const kModel =
    "Model;layers;0:pkg.nn:Block;attn;aten::bmm 50/70\nModel;layers;0:pkg.nn:Block 4/4\n"
    "Model;layers;1:pkg.nn:Block;mlp 200/10\nModel;head 30/0\n";

/// Five equal layers, one of which holds the heaviest self forward and another backward, and one with another child.
const char* const kLayers =
    "Model;layers;0:Block;mlp 110/900\nModel;layers;1:Block;mlp 100/0\nModel;layers;2:Block;other 50/0\n"
    "Model;layers;3:Block;mlp 300/0\nModel;layers;4:Block;mlp 120/0\nModel;layers;5:Wide;mlp 10/0\n";

void collect(const QAbstractItemModel& model, const QModelIndex& parent, const QString& indent, int column, QStringList& rows) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
        const QModelIndex index = model.index(row, 0, parent);
        rows += indent + index.data().toString() + "=" + index.siblingAtColumn(column).data().toString();
        collect(model, index, indent + " ", column, rows);
    }
}

QStringList rows(const QAbstractItemModel& model, int column) {
    QStringList result;
    collect(model, {}, "", column, result);
    return result.replaceInStrings(QString(QChar(0xA0)), " ");
}

int columnOf(const MetricTreeModel& model, const std::string& metric) {
    for (int column = 0; column < model.columnCount(); ++column) {
        if (model.metricOf(column) != nullptr && model.metricOf(column)->id == metric) {
            return column;
        }
    }
    return -1;
}

} // namespace

class TestMetricTreeModel : public QObject {
    Q_OBJECT

private slots:
    void modelTester_isContentThroughEveryChange() {
        ProfileView view;
        MetricTreeModel model(&view);
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        view.setProfile(modulelens::test::randomProfile(300, 1));
        for (const char* metric : {"flops", "parameters", "high_water", "latency"}) {
            view.setMetric(metric);
        }
        view.setShare(ProfileView::Share::Self);
        view.setOrder(ProfileView::Order::Time);
        for (const Grouping grouping : {Grouping::Call, Grouping::Class, Grouping::Operator}) {
            view.setGrouping(grouping);
            for (int column = 0; column < model.columnCount(); ++column) {
                model.sort(column, Qt::AscendingOrder);
                model.sort(column, Qt::DescendingOrder);
            }
        }
        view.setProfile(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void rows_areHeaviestFirstWithTheRestLast() {
        ProfileView view;
        view.setProfile(foldedProfile(kModel));
        const MetricTreeModel model(&view);
        QCOMPARE(rows(model, MetricTreeModel::DrivingColumn),
                 QStringList({"Model=368 ns", " layers=338 ns", "  1=210 ns", "   mlp=210 ns", "  0=128 ns", "   attn=120 ns",
                              "    aten::bmm=120 ns", "   not in any child=8 ns", " head=30 ns"}));
        QCOMPARE(rows(model, MetricTreeModel::OfParentColumn),
                 QStringList({"Model=100 %", " layers=91.8 %", "  1=62.1 %", "   mlp=100 %", "  0=37.9 %", "   attn=93.8 %",
                              "    aten::bmm=100 %", "   not in any child=6.3 %", " head=8.2 %"}));
    }

    void classColumn_isTheBareClassOrTheWordOperator() {
        ProfileView view;
        view.setProfile(foldedProfile(kModel));
        const MetricTreeModel model(&view);
        const auto text = [&](const char* name) {
            return model.indexOf(scopeNamed(*view.profile(), name), MetricTreeModel::ClassColumn).data().toString();
        };
        QCOMPARE(text("0"), QString("Block"));
        QCOMPARE(text("aten::bmm"), QString("operator"));
    }

    void sort_byAnyColumnKeepsExpandedRows() {
        ProfileView view;
        view.setProfile(foldedProfile(kModel));
        MetricTreeModel model(&view);
        const ScopeId block = scopeNamed(*view.profile(), "0");
        const QPersistentModelIndex kept = model.indexOf(block);
        const QPersistentModelIndex rest = model.index(1, 0, kept);
        QVERIFY(model.isUnattributed(rest));
        QCOMPARE(kept.row(), 1);
        model.sort(MetricTreeModel::ModuleColumn, Qt::AscendingOrder);
        QCOMPARE(kept.row(), 0);
        QCOMPARE(model.scopeAt(kept), block);
        QVERIFY(model.isUnattributed(rest));
        QCOMPARE(rest.parent(), QModelIndex(kept));
        model.sort(MetricTreeModel::DrivingColumn, Qt::AscendingOrder);
        QCOMPARE(model.index(0, 0, model.index(0, 0)).data().toString(), QString("head"));
        model.sort(-1);
        QCOMPARE(kept.row(), 1);
        view.setOrder(ProfileView::Order::Time);
        QCOMPARE(kept.row(), 0);
    }

    void sortRole_isANumber() {
        ProfileView view;
        view.setProfile(foldedProfile("R;a 10000000000000\nR;b 9\n"));
        const MetricTreeModel model(&view);
        QCOMPARE(model.index(0, MetricTreeModel::DrivingColumn, model.index(0, 0)).data(MetricTreeModel::SortRole),
                 QVariant(qlonglong(10000000000000)));
    }

    void unknown_isInWordsAndItsColumnIsNotUseful() {
        ProfileBuilder builder = foldedBuilder("R;a;aten::x 5\n");
        builder.addSelf(1, "flops", Direction::Forward, 0);
        builder.markUnknownWhereUnset("flops", Direction::Forward);
        builder.addSelf(1, "parameters", Direction::Forward, 40);
        ProfileView view;
        view.setProfile(builder.build().value());
        const MetricTreeModel model(&view);
        const QModelIndex leaf = model.indexOf(scopeNamed(*view.profile(), "aten::x"));
        QCOMPARE(leaf.siblingAtColumn(columnOf(model, "flops")).data().toString(), QString("not captured"));
        QVERIFY(!leaf.siblingAtColumn(columnOf(model, "flops")).data(MetricTreeModel::SortRole).isValid());
        QCOMPARE(leaf.parent().siblingAtColumn(columnOf(model, "flops")).data().toString(), QString("0"));
        QCOMPARE(leaf.siblingAtColumn(columnOf(model, "parameters")).data().toString(), QString("—"));
        QVERIFY(model.isColumnUseful(columnOf(model, "flops")));
        QVERIFY(!model.isColumnUseful(columnOf(model, "activation")));
        QVERIFY(!model.isColumnUseful(columnOf(model, "latency")));
        QVERIFY(!model.isColumnUseful(MetricTreeModel::BackwardColumn));
        view.setMetric("activation");
        QCOMPARE(leaf.siblingAtColumn(MetricTreeModel::DrivingColumn).data().toString(), QString("not captured"));
        QVERIFY(model.isColumnUseful(columnOf(model, "latency")));
    }

    void overhead_isLastAndHasNoOtherMetrics() {
        ProfileBuilder builder = foldedBuilder("R;a;aten::x 5\n");
        builder.addSelf(builder.addScope(0, ScopeKind::Unattributed, "not in any operator", "", "", 0), "latency",
                        Direction::Forward, 900);
        builder.addSelf(0, "flops", Direction::Forward, 3);
        ProfileView view;
        view.setProfile(builder.build().value());
        MetricTreeModel model(&view);
        const QModelIndex rest = model.index(1, 0, model.index(0, 0));
        QCOMPARE(rest.data().toString(), QString("not in any operator"));
        QCOMPARE(rest.siblingAtColumn(columnOf(model, "flops")).data().toString(), QString("—"));
        model.sort(MetricTreeModel::SelfColumn, Qt::DescendingOrder);
        QCOMPARE(model.index(1, 0, model.index(0, 0)).data().toString(), QString("not in any operator"));
    }

    void equalSiblings_areOneRowWithTheirSumAndSpread() {
        ProfileView view;
        view.setProfile(foldedProfile(kLayers));
        view.setDirection(ProfileView::Direction::Forward);
        MetricTreeModel model(&view);
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        // The heaviest self keeps a row of its own, and so do the layer with another child and the one of another class.
        QCOMPARE(rows(model, MetricTreeModel::DrivingColumn),
                 QStringList({"Model=690 ns", " layers=690 ns", "  3=300 ns", "   mlp=300 ns", "  0, 1, 4=330 ns",
                              "   4=120 ns", "    mlp=120 ns", "   0=110 ns", "    mlp=110 ns", "   1=100 ns", "    mlp=100 ns",
                              "  2=50 ns", "   other=50 ns", "  5=10 ns", "   mlp=10 ns"}));
        const QModelIndex layers = model.index(0, 0, model.index(0, 0));
        const QModelIndex fold = model.index(1, 0, layers);
        QCOMPARE(model.foldedAt(fold).size(), 3U);
        QCOMPARE(model.foldedAt(layers).size(), 0U);
        QCOMPARE(fold.data(MetricTreeModel::SpreadRole).toString().replace(QChar(0xA0), ' '), QString::fromUtf8("100–120 ns"));
        QCOMPARE(fold.siblingAtColumn(MetricTreeModel::ClassColumn).data().toString(), QString("Block"));
        QCOMPARE(fold.siblingAtColumn(MetricTreeModel::OfParentColumn).data().toString().replace(QChar(0xA0), ' '),
                 QString("47.8 %"));
        QCOMPARE(model.depthOf(model.index(0, 0, fold)), 3);
        // What the row stands for when it is selected is the first of them in the run.
        QCOMPARE(model.scopeAt(fold), scopeNamed(*view.profile(), "0"));
        QVERIFY(!model.isUnattributed(fold));
    }

    void fold_staysThroughSortingAndGoesWithItsReason() {
        ProfileView view;
        view.setProfile(foldedProfile(kLayers));
        view.setDirection(ProfileView::Direction::Forward);
        MetricTreeModel model(&view);
        const QPersistentModelIndex fold = model.index(1, 0, model.index(0, 0, model.index(0, 0)));
        const QPersistentModelIndex member = model.index(0, 0, fold);
        QCOMPARE(member.data().toString(), QString("4"));
        view.setOrder(ProfileView::Order::Time);
        QCOMPARE(fold.row(), 0);
        QCOMPARE(member.row(), 2);
        QCOMPARE(member.parent(), QModelIndex(fold));
        // By backward alone the first of them is the heaviest: the others are another fold, with the one that was it before.
        view.setDirection(ProfileView::Direction::Backward);
        QVERIFY(!fold.isValid());
        QVERIFY(member.isValid());
        QCOMPARE(member.parent().data().toString(), QString("1, 3, 4"));
    }

    void manyLayers_areNamedByTheirRange() {
        std::string text = "M;0:Block 90\n";
        for (const int layer : {3, 2, 1, 5, 7, 6}) {
            text += "M;" + std::to_string(layer) + ":Block 10\n";
        }
        ProfileView view;
        view.setProfile(foldedProfile(text));
        const MetricTreeModel model(&view);
        QCOMPARE(model.index(1, 0, model.index(0, 0)).data().toString(), QString::fromUtf8("1–3, 5–7"));
    }

    void otherNumbers_areNoEquals() {
        ProfileBuilder builder = foldedBuilder("R;a:Block 9\nR;b:Block 1\nR;c:Block 2\nR;d:Block 3\n");
        ProfileView view;
        view.setProfile(builder.build().value());
        const MetricTreeModel same(&view);
        QCOMPARE(same.rowCount(same.index(0, 0)), 2);
        ProfileBuilder other = foldedBuilder("R;a:Block 9\nR;b:Block 1\nR;c:Block 2\nR;d:Block 3\n");
        other.addSelf(2, "flops", Direction::Forward, 5);
        view.setProfile(other.build().value());
        QCOMPARE(same.rowCount(same.index(0, 0)), 4);
    }

    void self_showsInTheDrivingColumn() {
        ProfileView view;
        view.setProfile(foldedProfile(kModel));
        const MetricTreeModel model(&view);
        view.setShare(ProfileView::Share::Self);
        const QModelIndex index = model.indexOf(scopeNamed(*view.profile(), "0"), MetricTreeModel::DrivingColumn);
        QCOMPARE(model.drivingValue(index), 8);
        QCOMPARE(model.headerData(MetricTreeModel::DrivingColumn, Qt::Horizontal).toString(), QString("Latency, self"));
    }
};

ML_TEST_MAIN(TestMetricTreeModel)
#include "tst_MetricTreeModel.moc"
