// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/Task.h"

#include "tests/support/TestMain.h"

#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>
#include <QThread>

#include <stdexcept>

namespace modulelens::models {

class TaskTest : public QObject {
    Q_OBJECT

private slots:
    void result_comesBackToTheCallersThread() {
        TaskPool pool(2);
        QThread* workedIn = nullptr;
        QThread* deliveredIn = nullptr;
        int value = 0;
        pool.run(
            this,
            [&workedIn] {
                workedIn = QThread::currentThread();
                return base::Result<int>(42);
            },
            [&](const base::Result<int>& outcome) {
                deliveredIn = QThread::currentThread();
                value = outcome.hasValue() ? outcome.value() : -1;
            });
        QTRY_COMPARE(value, 42);
        QVERIFY(workedIn != QThread::currentThread());
        QCOMPARE(deliveredIn, QThread::currentThread());
        QTRY_VERIFY(pool.isIdle());
    }

    void exception_becomesAnError() {
        TaskPool pool(0);
        QString message;
        pool.run(
            this, []() -> base::Result<int> { throw std::runtime_error("out of cheese"); },
            [&message](const base::Result<int>& outcome) { message = QString::fromStdString(outcome.error().message); });
        QVERIFY2(message.contains(QStringLiteral("out of cheese")), qPrintable(message));
    }

    void contextThatIsGone_getsNothing() {
        TaskPool pool(1);
        QSemaphore start;
        bool delivered = false;
        auto context = std::make_unique<QObject>();
        pool.run(context.get(), [&start] { start.acquire(); }, [&delivered](const base::Result<void>&) { delivered = true; });
        QSignalSpy idle(&pool, &TaskPool::idle);
        context.reset();
        start.release();
        QVERIFY(idle.wait());
        QVERIFY(!delivered);
    }

    void withoutThreads_runsAtOnce() {
        TaskPool pool(0);
        int value = 0;
        pool.run(this, [] { return 7; }, [&value](const base::Result<int>& outcome) { value = outcome.value(); });
        QCOMPARE(value, 7);
    }

    void latest_dropsTheOlderResultAndAsksItToStop() {
        TaskPool pool(2);
        LatestTask task(pool);
        QSemaphore start;
        bool stopped = false;
        QStringList results;
        task.run(
            [&](std::stop_token stop) {
                start.acquire();
                stopped = stop.stop_requested();
                return base::Result<int>(1);
            },
            [&results](const base::Result<int>&) { results.append(QStringLiteral("old")); });
        task.run([](std::stop_token) { return base::Result<int>(2); },
                 [&results](const base::Result<int>&) { results.append(QStringLiteral("new")); });
        QTRY_COMPARE(results, QStringList(QStringLiteral("new")));
        QSignalSpy idle(&pool, &TaskPool::idle);
        start.release();
        QVERIFY(idle.wait());
        QCOMPARE(results, QStringList(QStringLiteral("new")));
        QVERIFY(stopped);
    }

    void longWork_saysThatItIsBusy() {
        TaskPool pool(1);
        LatestTask task(pool);
        QSignalSpy busy(&task, &LatestTask::busyChanged);
        QSemaphore finish;
        task.run([&finish](std::stop_token) { finish.acquire(); }, [](const base::Result<void>&) {});
        QVERIFY(busy.wait());
        QCOMPARE(busy.first().first().toBool(), true);
        finish.release();
        QTRY_COMPARE(busy.count(), 2);
        QCOMPARE(busy.last().first().toBool(), false);
    }
};

} // namespace modulelens::models

using modulelens::models::TaskTest;
ML_TEST_MAIN(TaskTest)

#include "tst_Task.moc"
