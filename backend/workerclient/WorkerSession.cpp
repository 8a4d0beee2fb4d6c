// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/workerclient/WorkerSession.h"

#include "backend/base/Guarded.h"
#include "backend/protocol/ErrorObject.h"
#include "backend/protocol/WorkerMessages.h"

#include <QCoreApplication>
#include <QTimer>

#include <csignal>
#include <filesystem>
#include <system_error>

namespace modulelens::workerclient {

namespace {

constexpr std::int64_t kInitializeId = 0;
constexpr std::chrono::milliseconds kGrace{2000};

base::Error stoppedError(base::ErrorCode reason, const std::string& method) {
    if (reason == base::ErrorCode::Timeout) {
        return {reason, "'" + method + "' did not end within its time limit", "Allow more time with --timeout."};
    }
    return {reason, (method.empty() ? "the request" : "'" + method + "'") + " was cancelled", {}};
}

/// What a request that was asked to stop ends with, given the worker's answer. A result that came all the same counts,
/// unless it came after the time limit.
base::Result<nlohmann::json> answerAfterStop(const PendingRequest& request, base::Result<nlohmann::json> answer) {
    const std::optional<base::ErrorCode>& reason = request.stopReason();
    if (!reason) {
        return answer;
    }
    const bool ended = answer.hasValue() || answer.error().code != base::ErrorCode::Cancelled;
    if (*reason == base::ErrorCode::Cancelled && ended) {
        return answer;
    }
    return stoppedError(*reason, request.method());
}

} // namespace

WorkerSession::WorkerSession(LaunchCommand command, SessionFacts& facts) : m_command(std::move(command)), m_facts(facts) {}

void WorkerSession::ensureStarted() {
    if (m_state != State::NotRunning || m_shuttingDown) {
        return;
    }
    // A cleaner of temporary folders may have taken it while no worker was running.
    std::error_code ignored;
    if (!m_scratch || !std::filesystem::exists(m_scratch->path(), ignored)) {
        base::Result<std::unique_ptr<ScratchFolder>> made = ScratchFolder::create(m_command.scratchFolder);
        if (!made) {
            completeAll(made.error());
            return;
        }
        m_scratch = *std::move(made);
    }
    if (m_command.arguments.empty()) {
        completeAll({base::ErrorCode::EnvironmentMissing, "no worker program is set", "Name one in MODULELENS_WORKER."});
        return;
    }
    QStringList arguments;
    for (std::size_t i = 1; i < m_command.arguments.size(); ++i) {
        arguments.append(QString::fromStdString(m_command.arguments[i]));
    }
    m_frames = rpc::FrameReader();
    m_standardError.clear();
    m_process = std::make_unique<QProcess>();
    connect(m_process.get(), &QProcess::readyReadStandardOutput, this, &WorkerSession::onStandardOutput);
    connect(m_process.get(), &QProcess::readyReadStandardError, this, &WorkerSession::onStandardError);
    connect(m_process.get(), &QProcess::errorOccurred, this, &WorkerSession::onProcessError);
    connect(m_process.get(), &QProcess::finished, this, &WorkerSession::onFinished);
    m_state = State::Initializing;
    m_process->start(QString::fromStdString(m_command.arguments.front()), arguments);
    if (m_state == State::Initializing) {
        ++m_facts.generation;
        m_facts.processId = m_process->processId();
        QTimer::singleShot(m_command.startLimit, m_process.get(), [this] { onStartLimit(); });
        sendInitialize();
    }
}

void WorkerSession::onStartLimit() {
    const bool isAwaitedLonger = std::any_of(m_waiting.begin(), m_waiting.end(),
                                             [](const auto& request) { return request->context().timeout.has_value(); });
    if (m_state != State::Initializing || isAwaitedLonger) {
        return;
    }
    abandon({base::ErrorCode::Timeout,
             "the worker '" + m_command.arguments.front() + "' was not ready after " +
                 std::to_string(std::chrono::ceil<std::chrono::seconds>(m_command.startLimit).count()) + " s",
             "Check that MODULELENS_WORKER names a ModuleLens worker, or allow more time with --timeout."});
}

void WorkerSession::sendInitialize() {
    protocol::InitializeParams params;
    const QString client = QCoreApplication::applicationName() + QLatin1Char(' ') + QCoreApplication::applicationVersion();
    params.client = client.trimmed().toStdString();
    params.scratchFolder = m_scratch->path().string();
    params.threads = m_command.threads;
    send(rpc::Request{kInitializeId, protocol::method::kInitialize, protocol::toJson(params)});
}

void WorkerSession::submit(const std::shared_ptr<PendingRequest>& request) {
    if (m_shuttingDown) {
        request->complete(stoppedError(base::ErrorCode::Cancelled, request->method()));
        return;
    }
    if (const auto limit = request->context().timeout) {
        QTimer::singleShot(*limit, this, [this, request] { stop(request, base::ErrorCode::Timeout); });
    }
    if (m_state == State::Ready) {
        dispatch(request);
        return;
    }
    m_waiting.push_back(request);
    ensureStarted();
}

void WorkerSession::dispatch(const std::shared_ptr<PendingRequest>& request) {
    if (request->method() == protocol::method::kInitialize) {
        request->complete(m_initializeResult);
        return;
    }
    const std::int64_t id = m_nextId++;
    m_sent.emplace(id, request);
    send(rpc::Request{id, request->method(), request->takeParams()});
}

void WorkerSession::send(const rpc::Message& message) {
    if (!m_process) {
        return;
    }
    const std::string framed = rpc::frameMessage(rpc::serializeMessage(message));
    m_process->write(framed.data(), static_cast<qint64>(framed.size()));
}

void WorkerSession::stop(const std::shared_ptr<PendingRequest>& request, base::ErrorCode reason) {
    if (const auto waiting = std::find(m_waiting.begin(), m_waiting.end(), request); waiting != m_waiting.end()) {
        m_waiting.erase(waiting);
        request->complete(stoppedError(reason, request->method()));
        if (m_waiting.empty() && m_state == State::Initializing) {
            // Nobody waits for a worker that may never get ready; the next request starts a new one.
            abandon(stoppedError(reason, request->method()));
        }
        return;
    }
    const auto sent = std::find_if(m_sent.begin(), m_sent.end(), [&](const auto& entry) { return entry.second == request; });
    if (sent == m_sent.end() || request->stopReason()) {
        return;
    }
    request->setStopReason(reason);
    send(rpc::Notification{protocol::method::kCancel, {{"id", sent->first}}});
    QTimer::singleShot(kGrace, this, [this, id = sent->first, request] {
        const auto open = m_sent.find(id);
        if (open != m_sent.end() && open->second == request) {
            abandon({base::ErrorCode::WorkerCrashed,
                     "the worker was killed because '" + request->method() + "' did not stop when asked to",
                     "Try again; the worker is started anew."});
        }
    });
}

void WorkerSession::onStandardOutput() {
    const QByteArray bytes = m_process->readAllStandardOutput();
    m_frames.append(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
    while (m_process && m_state != State::NotRunning) {
        base::Result<std::optional<std::string>> body = m_frames.next();
        if (!body) {
            abandon({base::ErrorCode::WorkerCrashed, "the worker answered garbage: " + body.error().message,
                     "Check that MODULELENS_WORKER names a ModuleLens worker of this version."});
            return;
        }
        if (!*body) {
            return;
        }
        base::Result<rpc::Message> message = rpc::parseMessage(**body);
        if (!message) {
            abandon({base::ErrorCode::WorkerCrashed, "the worker answered garbage: " + message.error().message,
                     "Check that MODULELENS_WORKER names a ModuleLens worker of this version."});
            return;
        }
        onMessage(*std::move(message));
    }
}

void WorkerSession::onMessage(rpc::Message message) {
    if (auto* response = std::get_if<rpc::Response>(&message)) {
        onResponse(std::move(*response));
    } else if (const auto* notification = std::get_if<rpc::Notification>(&message)) {
        onNotification(*notification);
    } else {
        abandon({base::ErrorCode::WorkerCrashed, "the worker answered garbage: it sent a request of its own",
                 "Check that MODULELENS_WORKER names a ModuleLens worker of this version."});
    }
}

void WorkerSession::onResponse(rpc::Response response) {
    if (!response.id) {
        const base::Error refused = protocol::fromErrorObject(*response.error);
        abandon({base::ErrorCode::WorkerCrashed, "the worker could not read a message: " + refused.message,
                 "Check that worker and client are of one version."});
        return;
    }
    base::Result<nlohmann::json> answer = response.error
                                              ? base::Result<nlohmann::json>(protocol::fromErrorObject(*response.error))
                                              : base::Result<nlohmann::json>(*std::move(response.result));
    if (*response.id == kInitializeId && m_state == State::Initializing) {
        onInitialized(std::move(answer));
        return;
    }
    const auto found = m_sent.find(*response.id);
    if (found == m_sent.end()) {
        if (m_shuttingDown) {
            return; // The answer to our shutdown request.
        }
        abandon({base::ErrorCode::WorkerCrashed,
                 "the worker answered a request that is not open (id " + std::to_string(*response.id) + ")",
                 "Check that worker and client are of one version."});
        return;
    }
    const std::shared_ptr<PendingRequest> request = found->second;
    m_sent.erase(found);
    request->complete(answerAfterStop(*request, std::move(answer)));
}

void WorkerSession::onInitialized(base::Result<nlohmann::json> result) {
    if (!result) {
        abandon(result.error().within("starting the worker"));
        return;
    }
    const base::Result<protocol::InitializeResult> facts = protocol::parseInitializeResult(*result);
    if (!facts) {
        abandon({base::ErrorCode::WorkerCrashed, "the worker answered garbage: " + facts.error().message,
                 "Check that MODULELENS_WORKER names a ModuleLens worker of this version."});
        return;
    }
    if (facts->protocolVersion != protocol::kProtocolVersion) {
        abandon({base::ErrorCode::EnvironmentMissing,
                 "the worker '" + facts->worker + "' speaks protocol version " + std::to_string(facts->protocolVersion) +
                     ", this program speaks " + std::to_string(protocol::kProtocolVersion),
                 "Use the worker that came with this program."});
        return;
    }
    m_initializeResult = *std::move(result);
    m_state = State::Ready;
    for (const std::shared_ptr<PendingRequest>& request : std::exchange(m_waiting, {})) {
        dispatch(request);
    }
}

void WorkerSession::onNotification(const rpc::Notification& notification) {
    if (notification.method == protocol::method::kProgress) {
        const base::Result<protocol::Progress> progress = protocol::parseProgress(notification.params);
        const auto found = progress ? m_sent.find(progress->requestId) : m_sent.end();
        if (found != m_sent.end() && found->second->context().progress) {
            const std::shared_ptr<PendingRequest> request = found->second;
            static_cast<void>(base::guarded("progress", [&] { request->context().progress(*progress); }));
        }
    } else if (notification.method == protocol::method::kLog) {
        if (const base::Result<protocol::LogEntry> entry = protocol::parseLogEntry(notification.params)) {
            logLine(entry->text);
        }
    }
}

void WorkerSession::onStandardError() {
    const QByteArray bytes = m_process->readAllStandardError();
    for (const std::string& line :
         m_standardError.append(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())))) {
        logLine(line);
    }
}

void WorkerSession::logLine(const std::string& line) {
    std::vector<std::shared_ptr<PendingRequest>> listeners = m_waiting;
    for (const auto& [id, request] : m_sent) {
        listeners.push_back(request);
    }
    for (const std::shared_ptr<PendingRequest>& request : listeners) {
        if (request->context().log) {
            static_cast<void>(base::guarded("log", [&] { request->context().log(line); }));
        }
    }
}

void WorkerSession::onProcessError(QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) {
        return; // A crash is followed by finished(); a failed write by the end of the process.
    }
    const base::Error missing{
        base::ErrorCode::EnvironmentMissing,
        "the worker program '" + m_command.arguments.front() + "' cannot be started: " + m_process->errorString().toStdString(),
        "Build or install it, or name another worker in MODULELENS_WORKER."};
    forgetProcess();
    completeAll(missing);
}

void WorkerSession::onFinished(int exitCode, QProcess::ExitStatus status) {
    onStandardOutput();
    if (!m_process) {
        return;
    }
    onStandardError();
    const ProcessEnd end{status == QProcess::CrashExit, exitCode};
    const bool wasReady = m_state == State::Ready;
    const std::string doing = currentMethod();
    const OutputTail printed = m_standardError;
    forgetProcess();
    // A terminal sends Ctrl-C to the worker as well; the user meant to cancel.
    if (m_shuttingDown || (end.bySignal && end.code == SIGINT)) {
        completeAll(stoppedError(base::ErrorCode::Cancelled, doing));
        return;
    }
    completeAll(errorFromProcessEnd(end, wasReady, m_command.arguments.front(), doing, printed));
}

std::string WorkerSession::currentMethod() const {
    if (!m_sent.empty()) {
        return m_sent.begin()->second->method();
    }
    return m_state == State::Initializing ? protocol::method::kInitialize : "";
}

void WorkerSession::abandon(const base::Error& error) {
    if (m_process) {
        m_process->disconnect(this);
        m_process->kill();
        m_process->waitForFinished(static_cast<int>(kGrace.count()));
    }
    forgetProcess();
    completeAll(error);
}

void WorkerSession::completeAll(const base::Error& error) {
    auto sent = std::exchange(m_sent, {});
    auto waiting = std::exchange(m_waiting, {});
    for (const auto& [id, request] : sent) {
        request->complete(request->stopReason() ? stoppedError(*request->stopReason(), request->method()) : error);
    }
    for (const std::shared_ptr<PendingRequest>& request : waiting) {
        request->complete(error);
    }
    if (m_shuttingDown) {
        emit ended();
    }
}

void WorkerSession::forgetProcess() {
    if (m_process) {
        m_process->disconnect(this);
        m_process.release()->deleteLater();
    }
    m_state = State::NotRunning;
    m_facts.processId = 0;
}

void WorkerSession::shutDown() {
    m_shuttingDown = true;
    if (!m_process) {
        completeAll(stoppedError(base::ErrorCode::Cancelled, ""));
        return;
    }
    for (const auto& [id, request] : m_sent) {
        send(rpc::Notification{protocol::method::kCancel, {{"id", id}}});
    }
    if (m_state == State::Ready) {
        send(rpc::Request{m_nextId++, protocol::method::kShutdown, nlohmann::json::object()});
        m_process->closeWriteChannel();
        QTimer::singleShot(kGrace, m_process.get(), &QProcess::kill);
    } else {
        m_process->kill();
    }
}

} // namespace modulelens::workerclient
