// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/JobModel.h"

#include "backend/operations/JobQueue.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <semaphore>

namespace modulelens::models {

class JobModelTest : public QObject {
    Q_OBJECT

    /// A job that runs until `gate` is opened or it is asked to stop.
    static operations::JobRequest waiting(std::binary_semaphore& gate) {
        return {"test", "Wait", "", [&gate](const operations::OperationContext& context) -> base::Result<std::string> {
                    const std::stop_callback onStop(context.stop, [&gate] { gate.release(); });
                    gate.acquire();
                    if (context.stop.stop_requested()) {
                        return base::Error{base::ErrorCode::Cancelled, "stopped", {}};
                    }
                    return std::string("ended");
                }};
    }

    static QList<int> ids(const JobModel& jobs) {
        QList<int> found;
        for (int row = 0; row < jobs.rowCount(); ++row) {
            found.append(jobs.idAt(row));
        }
        return found;
    }

private slots:
    void rows_areRunningThenWaitingThenEndedNewestFirst() {
        std::binary_semaphore open(1);
        std::binary_semaphore alsoOpen(1);
        std::binary_semaphore closed(0);
        JobModel jobs;
        const int first = jobs.add(waiting(open), {}, {});
        const int second = jobs.add(waiting(alsoOpen), {}, {});
        const int third = jobs.add(waiting(closed), {}, {});
        const int fourth = jobs.add(waiting(open), {}, {});
        const int fifth = jobs.add(waiting(open), {}, {});
        QTRY_COMPARE(jobs.stateOf(third), JobModel::State::Running);
        QCOMPARE(ids(jobs), (QList<int>{third, fourth, fifth, second, first}));
        QCOMPARE(jobs.runningRow(), 0);
    }

    void shortJob_saysHowShortItWas() {
        std::binary_semaphore open(1);
        JobModel jobs;
        const int job = jobs.add(waiting(open), {}, {});
        QTRY_COMPARE(jobs.stateOf(job), JobModel::State::Done);
        const QString time = jobs.index(0, JobModel::TimeColumn).data().toString();
        // A slow machine may take a second for it.
        QVERIFY2(time != QStringLiteral("00:00") &&
                     (time.endsWith(QStringLiteral("ms")) || time.endsWith(QStringLiteral("ns")) || time.contains(u':')),
                 qPrintable(time));
    }

    void runningJob_neverSaysThatNoTimePassed() {
        std::binary_semaphore closed(0);
        JobModel jobs;
        const int job = jobs.add(waiting(closed), {}, {});
        QTRY_COMPARE(jobs.stateOf(job), JobModel::State::Running);
        const QString time = jobs.index(0, JobModel::TimeColumn).data().toString();
        QVERIFY2(time == QStringLiteral("under 1 s") || (time.contains(u':') && time != QStringLiteral("00:00")),
                 qPrintable(time));
    }

    void cancelAll_endsWhatRunsAndWhatWaits() {
        std::binary_semaphore closed(0);
        std::binary_semaphore neverReached(0);
        JobModel jobs;
        const int running = jobs.add(waiting(closed), {}, {});
        QTRY_COMPARE(jobs.stateOf(running), JobModel::State::Running);
        QList<int> queued;
        for (int i = 0; i < 200; ++i) {
            queued.append(jobs.add(waiting(neverReached), {}, {}));
        }
        jobs.cancelAll();
        QTRY_VERIFY(jobs.isIdle());
        QCOMPARE(jobs.stateOf(running), JobModel::State::Cancelled);
        for (const int id : queued) {
            QCOMPARE(jobs.stateOf(id), JobModel::State::Cancelled);
        }
        QVERIFY2(!neverReached.try_acquire(), "a queued job was started");
    }
};

} // namespace modulelens::models

using modulelens::models::JobModelTest;
ML_TEST_MAIN(JobModelTest)

#include "tst_JobModel.moc"
