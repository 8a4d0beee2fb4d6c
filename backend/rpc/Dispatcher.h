// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/rpc/Message.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <string_view>

namespace modulelens::rpc {

/// The notification that asks to stop a request: params {"id": N}.
inline constexpr const char* kCancelMethod = "$/cancelRequest";

/// What a handler knows of the request that it answers.
struct RequestInfo {
    std::int64_t id = 0;
    std::stop_token stop;      ///< Requested when the peer cancels the request, or by close().
};

/// Answers one method. Its return value is the one answer of the request. Runs on the thread that calls runNext().
using Handler = std::function<base::Result<nlohmann::json>(const nlohmann::json& params, const RequestInfo& request)>;

/// The serving side of a connection: bytes in, handlers, bytes out. Every request is answered exactly once, also one that
/// names an unknown method, is cancelled before it runs, or whose handler throws. A reader thread calls receive(), one
/// executor thread calls runNext(), so that a cancellation gets through while a handler runs. Thread-safe.
class Dispatcher {
public:
    /// Writes one whole framed message. Calls never overlap. It must not call back into the dispatcher.
    using Send = std::function<void(std::string_view framed)>;
    /// The wire form of an error.
    using ErrorEncoder = std::function<Response::ErrorObject(const base::Error&)>;

    Dispatcher(Send send, ErrorEncoder encodeError);
    ~Dispatcher();
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    /// Requires: called before the first receive(); each name once.
    void addMethod(std::string name, Handler handler);

    /// Takes bytes as they arrive: queues requests, honours cancellations at once, answers what cannot be queued.
    /// Corrupt: the framing is broken, the connection cannot go on.
    [[nodiscard]] base::Result<void> receive(std::string_view bytes);
    /// True when the stream may not end here.
    [[nodiscard]] bool isMidMessage() const;

    /// Waits for a request and runs its handler to the end. False: closed, and nothing is queued.
    bool runNext();

    /// No more input. Stops the running request and answers queued ones as Cancelled; runNext() then returns false.
    void close();

    /// Sends a notification, from any thread.
    void notify(std::string_view method, const nlohmann::json& params);

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace modulelens::rpc
