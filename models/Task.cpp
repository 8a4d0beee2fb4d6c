// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/Task.h"

#include <QThreadPool>
#include <QTimer>

namespace modulelens::models {

namespace {
constexpr int kBusyAfterMilliseconds = 200;
}

TaskPool::TaskPool(int threads, QObject* parent) : QObject(parent) {
    if (threads > 0) {
        m_threads = std::make_unique<QThreadPool>();
        m_threads->setMaxThreadCount(threads);
    }
}

TaskPool::~TaskPool() {
    if (m_threads) {
        m_threads->waitForDone();
    }
}

void TaskPool::submit(std::function<void()> body) {
    ++m_open;
    if (m_threads) {
        m_threads->start(std::move(body));
    } else {
        body();
    }
}

void TaskPool::deliver(std::function<void()> body) {
    const auto arrive = [this, body = std::move(body)] {
        body();
        if (--m_open == 0) {
            emit idle();
        }
    };
    if (m_threads) {
        QMetaObject::invokeMethod(this, arrive, Qt::QueuedConnection);
    } else {
        arrive();
    }
}

LatestTask::LatestTask(TaskPool& pool, QObject* parent) : QObject(parent), m_pool(pool), m_timer(std::make_unique<QTimer>()) {
    m_timer->setSingleShot(true);
    m_timer->setInterval(kBusyAfterMilliseconds);
    connect(m_timer.get(), &QTimer::timeout, this, [this] {
        m_busy = true;
        emit busyChanged(true);
    });
}

LatestTask::~LatestTask() {
    m_stop.request_stop();
}

void LatestTask::cancel() {
    m_stop.request_stop();
    ++m_generation;
    if (m_running) {
        finish();
    }
}

std::stop_token LatestTask::begin() {
    m_stop.request_stop();
    m_stop = std::stop_source();
    ++m_generation;
    m_running = true;
    if (!m_busy) {
        m_timer->start();
    }
    return m_stop.get_token();
}

void LatestTask::finish() {
    m_running = false;
    m_timer->stop();
    if (m_busy) {
        m_busy = false;
        emit busyChanged(false);
    }
}

} // namespace modulelens::models
