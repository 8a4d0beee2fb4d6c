// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Sweep.h"

#include <QFile>
#include <QTest>
#include <cstdlib>

#include "tests/operations/GoldenRegistry.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using modulelens::base::ErrorCode;
using namespace modulelens;
using namespace modulelens::operations;

/// Killing, cancelling and out of memory in the middle of a sweep by the built worker: the other points are measured, or the
/// next sweep is. The captured sizes are measured before the first point, so each stage is met once before it.
class TestSweepFaults : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(test::programPath("modulelens-worker"))) {
            QSKIP("the worker is not built, since LibTorch was not found");
        }
        m_golden = std::make_unique<test::GoldenRegistry>();
        QVERIFY2(m_golden->registry != nullptr, m_golden->error.c_str());
        qputenv("XDG_RUNTIME_DIR", m_golden->folder.path().toUtf8());
    }

    void cleanup() { qunsetenv("MODULELENS_WORKER_FAULT"); }

    void workerKilledInAPoint_failsThatPoint_data() { stages(); }
    void workerKilledInAPoint_failsThatPoint() {
        QFETCH(QString, stage);
        QFETCH(int, perPoint);
        setFault(QStringLiteral("kill-at:%1,let-pass:%2,once:%3").arg(stage).arg(perPoint).arg(marker()));
        const auto operations = worker();
        const auto report = sweep(*operations, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().text().c_str());
        QVERIFY(report->points[0].error.has_value());
        QCOMPARE(report->points[0].error->code, ErrorCode::WorkerCrashed);
        QCOMPARE(report->okCount(), 2);
        checkNextSweep(*operations);
    }

    void workerKilledBeforeTheFirstPoint_isTheError() {
        setFault(QStringLiteral("kill-at:timing,once:%1").arg(marker()));
        const auto operations = worker();
        const auto report = sweep(*operations, {});
        QVERIFY(!report.hasValue());
        QCOMPARE(report.error().code, ErrorCode::WorkerCrashed);
        checkNextSweep(*operations);
    }

    void cancelledInAPoint_endsTheSweep_data() { stages(); }
    void cancelledInAPoint_endsTheSweep() {
        QFETCH(QString, stage);
        QFETCH(int, perPoint);
        // The worker waits in the stage until it hears of it.
        setFault(QStringLiteral("hold-at:%1,let-pass:%2").arg(stage).arg(perPoint));
        const auto operations = worker();
        std::stop_source stop;
        OperationContext context;
        context.stop = stop.get_token();
        int seen = 0;
        std::string before;
        context.progress = [&](const protocol::Progress& progress) {
            const bool isNew = progress.stage == stage.toStdString() && before != progress.stage;
            before = progress.stage;
            if (isNew && seen++ == perPoint) {
                stop.request_stop();
            }
        };
        const auto report = sweep(*operations, context);
        QVERIFY(stop.stop_requested());
        QVERIFY(!report.hasValue());
        QCOMPARE(report.error().code, ErrorCode::Cancelled);
        checkNextSweep(*operations);
    }

    void outOfMemoryInAPoint_failsThatPoint_data() { stages(); }
    void outOfMemoryInAPoint_failsThatPoint() {
        QFETCH(QString, stage);
        QFETCH(int, perPoint);
        const QString witness = m_golden->folder.filePath(QStringLiteral("witness"));
        QFile::remove(witness);
        setFault(QStringLiteral("out-of-memory-at:%1,let-pass:%2,witness:%3").arg(stage).arg(perPoint).arg(witness));
        const auto operations = worker();
        const auto report = sweep(*operations, {});
        QVERIFY(QFile::exists(witness));
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().text().c_str());
        QVERIFY(report->points[0].error.has_value());
        QCOMPARE(report->points[0].error->code, ErrorCode::OutOfMemory);
        QCOMPARE(report->okCount(), 2);
        checkNextSweep(*operations);
    }

private:
    /// Stages of the worker's jobs, with how often each is met in one point: both jobs warm up.
    static void stages() {
        QTest::addColumn<QString>("stage");
        QTest::addColumn<int>("perPoint");
        QTest::newRow("warm-up") << QStringLiteral("warm-up") << 2;
        QTest::newRow("memory") << QStringLiteral("memory") << 1;
        QTest::newRow("timing") << QStringLiteral("timing") << 1;
    }

    /// A file that the first worker removes, and that later ones do not find.
    [[nodiscard]] QString marker() const {
        const QString path = m_golden->folder.filePath(QStringLiteral("marker"));
        return QFile(path).open(QIODevice::WriteOnly) ? path : QString();
    }

    static void setFault(const QString& list) { qputenv("MODULELENS_WORKER_FAULT", list.toUtf8()); }

    [[nodiscard]] std::unique_ptr<Operations> worker() const {
        return std::make_unique<Operations>(m_golden->registry,
                                            std::vector<std::string>{test::programPath("modulelens-worker").string()});
    }

    static base::Result<SweepReport> sweep(Operations& operations, const OperationContext& context) {
        SweepSettings settings;
        settings.dimensions = {{"batch", {2, 4, 6}}};
        settings.repetitions = 3;
        settings.run.threads = 1;
        return operations.sweep("golden::linear", settings, context);
    }

    static void checkNextSweep(Operations& operations) {
        const auto report = sweep(operations, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().text().c_str());
        QCOMPARE(report->okCount(), 3);
        // Linear(4, 4): a row is 4 floats.
        QCOMPARE(report->points[2].peakBytes.value_or(-1), 6 * 16);
    }

    std::unique_ptr<test::GoldenRegistry> m_golden;
};

ML_TEST_MAIN(TestSweepFaults)
#include "tst_SweepFaults.moc"
