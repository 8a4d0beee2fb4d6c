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
