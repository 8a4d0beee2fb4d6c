// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/rpc/Framing.h"
#include "backend/rpc/Message.h"
#include "backend/workerclient/PendingRequest.h"
#include "backend/workerclient/ProcessEnd.h"
#include "backend/workerclient/ScratchFolder.h"

#include <QObject>
#include <QProcess>

#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace modulelens::workerclient {

/// What other threads may read of the session.
struct SessionFacts {
    std::atomic<int> generation = 0;
    std::atomic<std::int64_t> processId = 0;
};

/// The worker process and the table of requests. Confined to its thread, whose event loop must run.
class WorkerSession : public QObject {
    Q_OBJECT

public:
    WorkerSession(LaunchCommand command, SessionFacts& facts);

    /// Starts the process unless it runs.
    void ensureStarted();
    /// Sends `request`, after starting the process if need be.
    void submit(const std::shared_ptr<PendingRequest>& request);
    /// Asks the worker to stop the request; a worker that has not answered two seconds later is killed.
    void stop(const std::shared_ptr<PendingRequest>& request, base::ErrorCode reason);
    /// Completes everything as Cancelled and ends the process; ended() follows.
    void shutDown();

signals:
    /// After shutDown(): the process is gone.
    void ended();

private:
    enum class State { NotRunning, Initializing, Ready };

    void sendInitialize();
    /// Ends a start that takes longer than the limit, unless a request in wait has a time limit of its own.
    void onStartLimit();
    void send(const rpc::Message& message);
    void dispatch(const std::shared_ptr<PendingRequest>& request);
    void onStandardOutput();
    void onStandardError();
    void onProcessError(QProcess::ProcessError error);
    void onFinished(int exitCode, QProcess::ExitStatus status);
    void onMessage(rpc::Message message);
    void onResponse(rpc::Response response);
    void onInitialized(base::Result<nlohmann::json> result);
    void onNotification(const rpc::Notification& notification);
    void logLine(const std::string& line);
    /// The worker cannot be used any more: everything open completes with `error`, the process is killed.
    void abandon(const base::Error& error);
    /// While shutting down this is the end: ended() is emitted.
    void completeAll(const base::Error& error);
    void forgetProcess();
    /// Oldest method under way, for messages.
    [[nodiscard]] std::string currentMethod() const;

    LaunchCommand m_command;
    SessionFacts& m_facts;
    std::unique_ptr<ScratchFolder> m_scratch;
    std::unique_ptr<QProcess> m_process;
    State m_state = State::NotRunning;
    bool m_shuttingDown = false;
    rpc::FrameReader m_frames;
    OutputTail m_standardError;
    std::int64_t m_nextId = 1;
    nlohmann::json m_initializeResult;
    std::vector<std::shared_ptr<PendingRequest>> m_waiting;              ///< Until the worker is ready.
    std::map<std::int64_t, std::shared_ptr<PendingRequest>> m_sent;      ///< By id on the wire.
};

} // namespace modulelens::workerclient
