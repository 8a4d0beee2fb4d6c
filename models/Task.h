// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Guarded.h"
#include "backend/base/Result.h"

#include <QObject>
#include <QPointer>

#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

class QThreadPool;
class QTimer;

namespace modulelens::models {

/// The one door off the GUI thread: runs blocking work on a pool and brings its result back. Lives in the GUI thread, where
/// all its functions are called; outlives everything that runs work through it. The destructor waits for running work.
class TaskPool : public QObject {
    Q_OBJECT

public:
    /// `threads` 0 runs everything at once in the calling thread, for tests.
    explicit TaskPool(int threads, QObject* parent = nullptr);
    ~TaskPool() override;

    /// Runs `work()` on the pool; it returns base::Result<T> (or T) and may throw. Then calls `done(Result<T>)` in the GUI
    /// thread, unless `context` is gone by then.
    template <class Work, class Done>
    void run(QObject* context, Work work, Done done) {
        using Outcome = decltype(base::guarded("", work));
        QPointer<QObject> receiver(context);
        submit([this, receiver, work = std::move(work), done = std::move(done)]() mutable {
            auto outcome = std::make_shared<Outcome>(base::guarded("background work", work));
            deliver([receiver, outcome, done = std::move(done)]() mutable {
                if (!receiver.isNull()) {
                    done(std::move(*outcome));
                }
            });
        });
    }

    /// True when nothing runs and nothing waits to be delivered.
    [[nodiscard]] bool isIdle() const { return m_open == 0; }

signals:
    /// The last open task was delivered.
    void idle();

private:
    void submit(std::function<void()> body);
    void deliver(std::function<void()> body);

    std::unique_ptr<QThreadPool> m_threads;
    int m_open = 0;
};

/// Work of which only the newest result counts: a new run asks the one before to stop and drops its result. Tells when work
/// has taken long enough that a person should see it. Confined to its thread (the GUI thread).
class LatestTask : public QObject {
    Q_OBJECT

public:
    explicit LatestTask(TaskPool& pool, QObject* parent = nullptr);
    ~LatestTask() override;

    /// As TaskPool::run; `work(std::stop_token)`.
    template <class Work, class Done>
    void run(Work work, Done done) {
        const std::stop_token stop = begin();
        const int generation = m_generation;
        m_pool.run(
            this, [work = std::move(work), stop]() mutable { return work(stop); },
            [this, generation, done = std::move(done)](auto&& outcome) mutable {
                if (generation == m_generation) {
                    finish();
                    done(std::forward<decltype(outcome)>(outcome));
                }
            });
    }

    /// Asks running work to stop; its result is dropped.
    void cancel();
    [[nodiscard]] bool isRunning() const { return m_running; }

signals:
    /// Running for over 200 ms (true), or over again (false).
    void busyChanged(bool busy);

private:
    [[nodiscard]] std::stop_token begin();
    void finish();

    TaskPool& m_pool;
    std::stop_source m_stop;
    std::unique_ptr<QTimer> m_timer;
    int m_generation = 0;
    bool m_running = false;
    bool m_busy = false;
};

} // namespace modulelens::models
