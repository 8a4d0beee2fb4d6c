// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/rpc/Dispatcher.h"

#include "backend/base/Guarded.h"
#include "backend/rpc/Framing.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace modulelens::rpc {

namespace {

// JSON-RPC 2.0 reserves these; both stand for faults of the peer that no ErrorCode describes better.
constexpr int kParseError = -32700;
constexpr int kMethodNotFound = -32601;

struct Entry {
    Request request;
    std::stop_source stop;
};

base::Error cancelledError(const std::string& method) {
    return {base::ErrorCode::Cancelled, "the request '" + method + "' was cancelled", {}};
}

} // namespace

struct Dispatcher::Data {
    Send send;
    ErrorEncoder encodeError;
    std::map<std::string, Handler, std::less<>> handlers;

    std::mutex writeMutex;

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::shared_ptr<Entry>> queue;
    std::shared_ptr<Entry> running;
    bool closed = false;

    // Touched by the reader thread only.
    FrameReader frames;

    void write(const Message& message) {
        const std::string framed = frameMessage(serializeMessage(message));
        const std::lock_guard lock(writeMutex);
        send(framed);
    }

    void answerError(std::optional<std::int64_t> id, Response::ErrorObject error) {
        Response response;
        response.id = id;
        response.error = std::move(error);
        write(response);
    }

    void answer(std::int64_t id, base::Result<nlohmann::json> result) {
        if (!result) {
            answerError(id, encodeError(result.error()));
            return;
        }
        Response response;
        response.id = id;
        response.result = *std::move(result);
        write(response);
    }

    void accept(Request request) {
        const std::int64_t id = request.id;
        if (handlers.find(request.method) == handlers.end()) {
            answerError(id, {kMethodNotFound, "there is no method '" + request.method + "'", nullptr});
            return;
        }
        std::optional<base::Error> refusal;
        {
            const std::lock_guard lock(mutex);
            const auto hasId = [&](const std::shared_ptr<Entry>& entry) { return entry->request.id == id; };
            if (closed) {
                refusal = cancelledError(request.method);
            } else if ((running && hasId(running)) || std::find_if(queue.begin(), queue.end(), hasId) != queue.end()) {
                refusal =
                    base::Error{base::ErrorCode::InvalidArgument, "the request id " + std::to_string(id) + " is in use", {}};
            } else {
                auto entry = std::make_shared<Entry>();
                entry->request = std::move(request);
                queue.push_back(std::move(entry));
            }
        }
        if (refusal) {
            answer(id, *std::move(refusal));
        } else {
            changed.notify_one();
        }
    }

    void cancel(const nlohmann::json& params) {
        const auto id = params.find("id");
        if (!params.is_object() || id == params.end() || !id->is_number_integer()) {
            return;
        }
        const auto number = id->get<std::int64_t>();
        std::shared_ptr<Entry> removed;
        std::shared_ptr<Entry> stopped;
        {
            const std::lock_guard lock(mutex);
            if (running && running->request.id == number) {
                stopped = running;
            }
            for (auto entry = queue.begin(); entry != queue.end(); ++entry) {
                if ((*entry)->request.id == number) {
                    removed = *entry;
                    queue.erase(entry);
                    break;
                }
            }
        }
        if (stopped) {
            stopped->stop.request_stop();
        }
        if (removed) {
            answer(number, cancelledError(removed->request.method));
        }
    }

    void take(std::string_view body) {
        base::Result<Message> message = parseMessage(body);
        if (!message) {
            answerError(std::nullopt, {kParseError, message.error().message, nullptr});
            return;
        }
        if (auto* request = std::get_if<Request>(&*message)) {
            accept(std::move(*request));
        } else if (const auto* notification = std::get_if<Notification>(&*message)) {
            if (notification->method == kCancelMethod) {
                cancel(notification->params);
            }
        }
    }
};

Dispatcher::Dispatcher(Send send, ErrorEncoder encodeError) : m_data(std::make_unique<Data>()) {
    m_data->send = std::move(send);
    m_data->encodeError = std::move(encodeError);
}

Dispatcher::~Dispatcher() = default;

void Dispatcher::addMethod(std::string name, Handler handler) {
    m_data->handlers.emplace(std::move(name), std::move(handler));
}

base::Result<void> Dispatcher::receive(std::string_view bytes) {
    m_data->frames.append(bytes);
    while (true) {
        const base::Result<std::optional<std::string>> body = m_data->frames.next();
        if (!body) {
            return body.error();
        }
        if (!*body) {
            return {};
        }
        m_data->take(**body);
    }
}

bool Dispatcher::isMidMessage() const {
    return m_data->frames.isMidMessage();
}

bool Dispatcher::runNext() {
    std::shared_ptr<Entry> entry;
    {
        std::unique_lock lock(m_data->mutex);
        m_data->changed.wait(lock, [this] { return m_data->closed || !m_data->queue.empty(); });
        if (m_data->queue.empty()) {
            return false;
        }
        entry = m_data->queue.front();
        m_data->queue.pop_front();
        m_data->running = entry;
    }
    const Request& request = entry->request;
    const Handler& handler = m_data->handlers.find(request.method)->second;
    const RequestInfo info{request.id, entry->stop.get_token()};
    base::Result<nlohmann::json> result = base::guarded(request.method, [&] { return handler(request.params, info); });
    {
        const std::lock_guard lock(m_data->mutex);
        m_data->running.reset();
    }
    m_data->answer(request.id, std::move(result));
    return true;
}

void Dispatcher::close() {
    std::deque<std::shared_ptr<Entry>> queued;
    std::shared_ptr<Entry> running;
    {
        const std::lock_guard lock(m_data->mutex);
        m_data->closed = true;
        queued.swap(m_data->queue);
        running = m_data->running;
    }
    m_data->changed.notify_all();
    if (running) {
        running->stop.request_stop();
    }
    for (const std::shared_ptr<Entry>& entry : queued) {
        m_data->answer(entry->request.id, cancelledError(entry->request.method));
    }
}

void Dispatcher::notify(std::string_view method, const nlohmann::json& params) {
    m_data->write(Notification{std::string(method), params});
}

} // namespace modulelens::rpc
