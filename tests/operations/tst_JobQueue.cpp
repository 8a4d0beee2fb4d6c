// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/JobQueue.h"

#include <QTest>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>

#include "tests/support/TestMain.h"

using modulelens::base::Error;
using modulelens::base::ErrorCode;
using modulelens::base::Result;
using namespace modulelens::operations;

namespace {

JobRequest answering(const std::string& sentence) {
    return {"test", "A job", "m::a@v0", [sentence](const OperationContext&) -> Result<std::string> { return sentence; }};
}

/// A job that runs until it is told to stop, and says when it has begun.
struct Endless {
    std::promise<void> begun;

    JobRequest request() {
        return {"test", "Endless", "", [this](const OperationContext& context) -> Result<std::string> {
                    begun.set_value();
                    std::mutex mutex;
                    std::condition_variable_any changed;
                    std::unique_lock lock(mutex);
                    changed.wait(lock, context.stop, [] { return false; });
                    return Error{ErrorCode::Cancelled, "'test' was cancelled", {}};
                }};
    }
};

} // namespace

class JobQueueTest : public QObject {
    Q_OBJECT

private slots:
    void jobs_runInOrder() {
        std::vector<int> ran;
        JobQueue queue;
        for (int i = 0; i < 20; ++i) {
            const int id = queue.add({"test", "", "", [&ran, i](const OperationContext&) -> Result<std::string> {
                                          ran.push_back(i);
                                          return std::string("done");
                                      }});
            QCOMPARE(id, i + 1);
        }
        queue.waitUntilIdle();
        QCOMPARE(ran.size(), 20U);
        QVERIFY(std::is_sorted(ran.begin(), ran.end()));
    }

    void finishedJob_keepsItsSentence() {
        JobQueue queue;
        const int id = queue.add(answering("Bit-exact: 1 of 1 output."));
        queue.waitUntilIdle();
        const auto job = queue.job(id);
        QVERIFY(job.has_value());
        QCOMPARE(job->state, JobState::Done);
        QCOMPARE(job->sentence, std::string("Bit-exact: 1 of 1 output."));
        QCOMPARE(job->version, std::string("m::a@v0"));
        QVERIFY(job->started && job->finished);
        QVERIFY(!job->error);
    }

    void failingAndThrowingJobs_fail() {
        JobQueue queue;
        const int failing =
            queue.add({"test", "", "", [](const OperationContext&) -> Result<std::string> {
                           return Error{ErrorCode::WorkerCrashed, "the worker was killed by SIGKILL", "Try again."};
                       }});
        const int throwing = queue.add(
            {"test", "", "", [](const OperationContext&) -> Result<std::string> { throw std::runtime_error("boom"); }});
        queue.waitUntilIdle();
        QCOMPARE(queue.job(failing)->state, JobState::Failed);
        QCOMPARE(queue.job(failing)->sentence, std::string("The worker was killed by SIGKILL. Try again."));
        QCOMPARE(queue.job(throwing)->state, JobState::Failed);
        QVERIFY(queue.job(throwing)->error->message.find("boom") != std::string::npos);
    }

    void runningJob_isCancelled() {
        Endless endless;
        JobQueue queue;
        const int id = queue.add(endless.request());
        endless.begun.get_future().wait();
        QCOMPARE(queue.job(id)->state, JobState::Running);
        QVERIFY(queue.cancel(id));
        queue.waitUntilIdle();
        QCOMPARE(queue.job(id)->state, JobState::Cancelled);
        QVERIFY(!queue.cancel(id));
    }

    void queuedJob_isCancelledWithoutRunning() {
        Endless endless;
        bool ran = false;
        JobQueue queue;
        const int first = queue.add(endless.request());
        const int second = queue.add({"test", "", "", [&ran](const OperationContext&) -> Result<std::string> {
                                          ran = true;
                                          return std::string();
                                      }});
        QVERIFY(queue.cancel(second));
        QCOMPARE(queue.job(second)->state, JobState::Cancelled);
        QVERIFY(queue.cancel(first));
        queue.waitUntilIdle();
        QVERIFY(!ran);
    }

    void unknownJob_isRefused() {
        JobQueue queue;
        QVERIFY(!queue.cancel(7));
        QVERIFY(!queue.rerun(7));
        QVERIFY(!queue.job(7));
    }

    void rerun_isANewJobOfTheSameWork() {
        int runs = 0;
        JobQueue queue;
        const int first = queue.add(
            {"test", "Again", "", [&runs](const OperationContext&) -> Result<std::string> { return std::to_string(++runs); }});
        queue.waitUntilIdle();
        const auto second = queue.rerun(first);
        QVERIFY(second.has_value());
        queue.waitUntilIdle();
        QCOMPARE(queue.job(*second)->title, std::string("Again"));
        QCOMPARE(queue.job(*second)->sentence, std::string("2"));
        QCOMPARE(queue.job(first)->sentence, std::string("1"));
    }

    void progressAndLog_areSeenAndBounded() {
        JobQueue queue;
        const int id = queue.add({"test", "", "", [](const OperationContext& context) -> Result<std::string> {
                                      context.progress({0, "timing", 3, 20});
                                      for (int i = 0; i < 600; ++i) {
                                          context.log("line " + std::to_string(i));
                                      }
                                      return std::string("done");
                                  }});
        queue.waitUntilIdle();
        const auto job = queue.job(id);
        QCOMPARE(job->stage, std::string("timing"));
        QCOMPARE(job->done, 3);
        QCOMPARE(job->total, 20);
        QCOMPARE(job->log.size(), 500U);
        QCOMPARE(job->log.back(), std::string("line 599"));
    }

    void observer_hearsEveryChange() {
        std::mutex mutex;
        std::vector<int> heard;
        JobQueue queue([&](int id) {
            const std::lock_guard lock(mutex);
            heard.push_back(id);
        });
        const int id = queue.add(answering("x"));
        queue.waitUntilIdle();
        queue.clearFinished();
        QVERIFY(queue.jobs().empty());
        const std::lock_guard lock(mutex);
        // Added, running, done, gone.
        QVERIFY(heard.size() >= 3);
        QVERIFY(std::all_of(heard.begin(), heard.end(), [id](int other) { return other == id; }));
    }

    void observer_mayAskTheQueue() {
        JobQueue* asked = nullptr;
        std::promise<std::string> state;
        JobQueue queue([&](int id) {
            if (asked != nullptr && asked->job(id)->state == JobState::Done) {
                state.set_value(jobStateName(asked->job(id)->state));
            }
        });
        asked = &queue;
        queue.add(answering("x"));
        QCOMPARE(state.get_future().get(), std::string("done"));
    }

    void endOfQueue_cancelsWhatRuns() {
        Endless endless;
        bool ran = false;
        {
            JobQueue queue;
            queue.add(endless.request());
            queue.add({"test", "", "", [&ran](const OperationContext&) -> Result<std::string> {
                           ran = true;
                           return std::string();
                       }});
            endless.begun.get_future().wait();
        }
        QVERIFY(!ran);
    }
};

ML_TEST_MAIN(JobQueueTest)
#include "tst_JobQueue.moc"
