// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/workerclient/WorkerClient.h"

#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/CalibrateMessages.h"
#include "backend/protocol/MemoryMessages.h"
#include "backend/protocol/SourceMessages.h"
#include "backend/workerclient/PendingRequest.h"
#include "backend/workerclient/WorkerSession.h"

#include <QThread>

#include <mutex>

namespace modulelens::workerclient {

namespace {

/// The way into the session's thread; closed before the session goes. Thread-safe.
class Mailbox {
public:
    explicit Mailbox(WorkerSession* session) : m_session(session) {}

    /// False: closed, `action` will not run.
    template <class Action>
    bool post(Action action) {
        const std::lock_guard lock(m_mutex);
        if (m_session == nullptr) {
            return false;
        }
        QMetaObject::invokeMethod(
            m_session, [session = m_session, action = std::move(action)] { action(*session); }, Qt::QueuedConnection);
        return true;
    }

    void close() {
        const std::lock_guard lock(m_mutex);
        m_session = nullptr;
    }

private:
    std::mutex m_mutex;
    WorkerSession* m_session;
};

base::Error cancelledError(const std::string& method) {
    return {base::ErrorCode::Cancelled, "'" + method + "' was cancelled", {}};
}

} // namespace

struct WorkerClient::Data {
    SessionFacts facts;
    QThread thread;
    std::unique_ptr<WorkerSession> session;
    std::shared_ptr<Mailbox> mailbox;

    base::Result<nlohmann::json> call(const char* method, nlohmann::json params, const RequestContext& context) {
        if (context.stop.stop_requested()) {
            return cancelledError(method);
        }
        const auto request = std::make_shared<PendingRequest>(method, std::move(params), context);
        if (!mailbox->post([request](WorkerSession& target) { target.submit(request); })) {
            return cancelledError(method);
        }
        const std::stop_callback onStop(context.stop, [box = mailbox, request] {
            static_cast<void>(
                box->post([request](WorkerSession& target) { target.stop(request, base::ErrorCode::Cancelled); }));
        });
        return request->wait();
    }
};

namespace {

/// Reads a worker's answer; a malformed one is the worker's fault.
template <class Message>
base::Result<Message> parsed(const base::Result<nlohmann::json>& answer,
                             base::Result<Message> (*parse)(const nlohmann::json&)) {
    if (!answer) {
        return answer.error();
    }
    base::Result<Message> message = parse(*answer);
    if (!message) {
        return base::Error{base::ErrorCode::WorkerCrashed, "the worker answered garbage: " + message.error().message,
                           "Check that worker and client are of one version."};
    }
    return message;
}

} // namespace

WorkerClient::WorkerClient(LaunchCommand command) : m_data(std::make_unique<Data>()) {
    m_data->session = std::make_unique<WorkerSession>(std::move(command), m_data->facts);
    m_data->session->moveToThread(&m_data->thread);
    m_data->mailbox = std::make_shared<Mailbox>(m_data->session.get());
    // quit() is thread-safe, and the thread object's own thread may be waiting for the end.
    QObject::connect(m_data->session.get(), &WorkerSession::ended, &m_data->thread, &QThread::quit, Qt::DirectConnection);
    m_data->thread.setObjectName(QStringLiteral("worker client"));
    m_data->thread.start();
}

WorkerClient::~WorkerClient() {
    static_cast<void>(m_data->mailbox->post([](WorkerSession& session) { session.shutDown(); }));
    m_data->mailbox->close();
    m_data->thread.wait();
}

void WorkerClient::prepare() {
    static_cast<void>(m_data->mailbox->post([](WorkerSession& session) { session.ensureStarted(); }));
}

base::Result<protocol::InitializeResult> WorkerClient::initialize(const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kInitialize, nlohmann::json::object(), context),
                  &protocol::parseInitializeResult);
}

base::Result<protocol::LoadResult> WorkerClient::load(const protocol::LoadParams& params, const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kLoad, protocol::toJson(params), context), &protocol::parseLoadResult);
}

base::Result<protocol::CodeResult> WorkerClient::code(const protocol::CodeParams& params, const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kCode, protocol::toJson(params), context), &protocol::parseCodeResult);
}

base::Result<protocol::SourceLoadResult> WorkerClient::load(const protocol::SourceLoadParams& params,
                                                            const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kLoad, protocol::toJson(params), context), &protocol::parseSourceLoadResult);
}

base::Result<protocol::InspectResult> WorkerClient::inspect(const protocol::InspectParams& params,
                                                            const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kInspect, protocol::toJson(params), context), &protocol::parseInspectResult);
}

base::Result<void> WorkerClient::unload(int handle, const RequestContext& context) {
    const base::Result<nlohmann::json> answer =
        m_data->call(protocol::method::kUnload, protocol::toJson(protocol::UnloadParams{handle}), context);
    if (!answer) {
        return answer.error();
    }
    return {};
}

base::Result<protocol::RunResult> WorkerClient::run(const protocol::CallParams& params, const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kRun, protocol::toJson(params), context), &protocol::parseRunResult);
}

base::Result<protocol::ValidateResult> WorkerClient::validate(const protocol::ValidateParams& params,
                                                              const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kValidate, protocol::toJson(params), context), &protocol::parseValidateResult);
}

base::Result<protocol::ProfileResult> WorkerClient::profile(const protocol::ProfileParams& params,
                                                            const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kProfile, protocol::toJson(params), context), &protocol::parseProfileResult);
}

base::Result<protocol::ProfileResult> WorkerClient::memory(const protocol::ProfileParams& params,
                                                           const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kMemory, protocol::toJson(params), context), &protocol::parseProfileResult);
}

base::Result<protocol::BenchmarkResult> WorkerClient::benchmark(const protocol::BenchmarkParams& params,
                                                                const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kBenchmark, protocol::toJson(params), context),
                  &protocol::parseBenchmarkResult);
}

base::Result<protocol::CalibrateResult> WorkerClient::calibrate(const protocol::CalibrateParams& params,
                                                                const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kCalibrate, protocol::toJson(params), context),
                  &protocol::parseCalibrateResult);
}

base::Result<protocol::MemoryResult> WorkerClient::memory(const protocol::MemoryParams& params, const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kMemory, protocol::toJson(params), context), &protocol::parseMemoryResult);
}

base::Result<protocol::ValidateResult> WorkerClient::gradients(const protocol::CallParams& params,
                                                               const RequestContext& context) {
    return parsed(m_data->call(protocol::method::kGradients, protocol::toJson(params), context),
                  &protocol::parseValidateResult);
}

int WorkerClient::generation() const {
    return m_data->facts.generation;
}

std::int64_t WorkerClient::processId() const {
    return m_data->facts.processId;
}

} // namespace modulelens::workerclient
