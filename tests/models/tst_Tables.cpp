// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/JobQueue.h"
#include "models/JobModel.h"
#include "models/LeafTableModel.h"
#include "models/TableCells.h"
#include "models/TensorTableModel.h"
#include "tests/support/TestMain.h"

#include <QAbstractItemModelTester>
#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>

namespace modulelens::models {

class TablesTest : public QObject {
    Q_OBJECT

    static operations::TensorStatistics tensor(const std::string& pointer, std::int64_t nan) {
        operations::TensorStatistics statistics;
        statistics.pointer = pointer;
        statistics.tensor.shape = {2, 3};
        statistics.elements = 6;
        statistics.nanCount = nan;
        statistics.zeroCount = 3;
        statistics.minimum = -1.5;
        statistics.histogram = {1, 2, 3};
        return statistics;
    }

private slots:
    void tensorNames_areReadable_data() {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("name");
        QTest::newRow("keyword") << "/kwargs/input_ids" << "input_ids";
        QTest::newRow("positional") << "/args/0" << "args[0]";
        QTest::newRow("tuple") << "/output/v/1" << "output[1]";
        QTest::newRow("only output") << "/output" << "output";
        QTest::newRow("escaped") << "/kwargs/a~1b" << "a/b";
    }
    void tensorNames_areReadable() {
        QFETCH(QString, pointer);
        QFETCH(QString, name);
        QCOMPARE(tensorName(pointer.toStdString()), name);
    }

    void tensors_standUnderInputsAndOutputs() {
        TensorTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setTensors({tensor("/output", 2), tensor("/args/0", 0)});
        QCOMPARE(model.rowCount(), 4);
        QVERIFY(model.index(0, 0).data(GroupRole).toBool());
        QCOMPARE(model.index(1, 0).data().toString(), QStringLiteral("args[0]"));
        QCOMPARE(model.index(1, TensorTableModel::ShapeColumn).data().toString(), QStringLiteral("[2, 3]"));
        QCOMPARE(model.index(1, TensorTableModel::SpecialColumn).data().toString(), QStringLiteral("none"));
        QCOMPARE(model.index(1, TensorTableModel::MaxColumn).data().toString(), QStringLiteral("—"));
        QCOMPARE(model.index(3, TensorTableModel::SpecialColumn).data(ChipsRole).value<CellChips>().first().text,
                 QStringLiteral("2 NaN"));
        QCOMPARE(model.nanTensorCount(), 1);
        QCOMPARE(model.firstNanTensor(), QStringLiteral("output"));
        QCOMPARE(model.infiniteTensorCount(), 0);
        operations::TensorStatistics infinite = tensor("/output", 0);
        infinite.infiniteCount = 3;
        model.setTensors({infinite, tensor("/args/0", 0)});
        QCOMPARE(model.nanTensorCount(), 0);
        QCOMPARE(model.infiniteTensorCount(), 1);
    }

    void gap_saysNotCapturedInsteadOfNumbers() {
        TensorTableModel model;
        operations::TensorStatistics gap;
        gap.pointer = "/args/0";
        gap.gap = "larger than max_bytes";
        model.setTensors({gap});
        QCOMPARE(model.index(1, TensorTableModel::SpecialColumn).data().toString(), QStringLiteral("not captured"));
        QCOMPARE(model.index(1, TensorTableModel::ZeroColumn).data().toString(), QStringLiteral("—"));
    }

    void worstLeaf_isTheFailingOneWithMostOutside() {
        LeafTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        protocol::LeafResult exact;
        exact.verdict = "exact";
        protocol::LeafResult few;
        few.verdict = "fail";
        few.mismatched = 1;
        protocol::LeafResult many;
        many.verdict = "fail";
        many.mismatched = 9;
        QCOMPARE(model.worstRow(), -1);
        model.setLeaves({exact, few, many});
        QCOMPARE(model.worstRow(), 2);
        QCOMPARE(model.failedCount(), 2);
        QCOMPARE(model.index(0, LeafTableModel::VerdictColumn).data(ChipsRole).value<CellChips>().first().text,
                 QStringLiteral("Bit-exact"));
    }

    void jobs_areShownFromStartToEnd() {
        JobModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QSemaphore finish;
        operations::JobRequest request;
        request.kind = "profile";
        request.title = "Profile attn";
        request.work = [&finish](const operations::OperationContext& context) -> base::Result<std::string> {
            protocol::Progress progress;
            progress.stage = "timing";
            progress.done = 3;
            progress.total = 4;
            context.progress(progress);
            finish.acquire();
            return std::string("0.5 ms");
        };
        QSignalSpy finished(&model, &JobModel::finished);
        const int id = model.add(request, QStringLiteral("m::attn@v0"), QStringLiteral("cpu"));
        const QModelIndex result = model.index(0, JobModel::ResultColumn);
        QTRY_COMPARE(result.data().toString(), QStringLiteral("timing · 3 of 4"));
        QCOMPARE(result.data(ProgressRole).toDouble(), 0.75);
        QCOMPARE(model.actionAt(0), JobModel::Action::Cancel);
        QCOMPARE(model.summary(), QStringLiteral("1 running"));
        finish.release();
        QVERIFY(finished.wait());
        QCOMPARE(finished.first().first().toInt(), id);
        QCOMPARE(model.stateOf(id), JobModel::State::Done);
        QCOMPARE(model.index(0, JobModel::ResultColumn).data().toString(), QStringLiteral("0.5 ms"));
        QCOMPARE(model.actionAt(0), JobModel::Action::Rerun);
        finished.clear();
        model.rerun(id);
        finish.release();
        QTRY_COMPARE(finished.count(), 1);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.index(0, JobModel::ModuleColumn).data().toString(), QStringLiteral("m::attn@v0"));
    }

    void failedJob_showsItsSentenceAndOffersTheLog() {
        JobModel model;
        operations::JobRequest request;
        request.kind = "validate";
        request.work = [](const operations::OperationContext& context) -> base::Result<std::string> {
            context.log("loading");
            return base::Error{base::ErrorCode::WorkerCrashed, "The worker died of SIGKILL.", "Run it again."};
        };
        QSignalSpy finished(&model, &JobModel::finished);
        const int id = model.add(request, {}, {});
        QTRY_COMPARE(finished.count(), 1);
        QCOMPARE(model.stateOf(id), JobModel::State::Failed);
        QVERIFY(model.sentenceOf(id).contains(QStringLiteral("SIGKILL")));
        QCOMPARE(model.actionAt(0), JobModel::Action::Log);
        QVERIFY(model.logOf(id).contains(QStringLiteral("loading")));
    }
};

} // namespace modulelens::models

using modulelens::models::TablesTest;
ML_TEST_MAIN(TablesTest)

#include "tst_Tables.moc"
