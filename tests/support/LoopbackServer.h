// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace modulelens::test {

/// A request as a LoopbackServer got it. Names of headers are in lower case.
struct ServedRequest {
    std::string method;
    std::string target;                        ///< Path and query.
    std::map<std::string, std::string> headers;
    std::string body;
};

/// What a LoopbackServer answers.
struct ServedAnswer {
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::size_t cutAfter = std::string::npos;  ///< Bytes of the body after which the connection is closed.
    bool hangs = false;                        ///< Sends nothing until the server ends.
};

/// An HTTP/1.1 server on 127.0.0.1 and a free port, for clients under test. The handler is called by several threads, one
/// call at a time.
class LoopbackServer {
public:
    using Handler = std::function<ServedAnswer(const ServedRequest&)>;

    explicit LoopbackServer(Handler handler);
    ~LoopbackServer();
    LoopbackServer(const LoopbackServer&) = delete;
    LoopbackServer& operator=(const LoopbackServer&) = delete;

    /// "http://127.0.0.1:PORT".
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(m_port); }
    [[nodiscard]] int port() const { return m_port; }
    /// Every request so far, in order.
    [[nodiscard]] std::vector<ServedRequest> requests() const;
    /// Blocks until `count` requests arrived.
    void awaitRequests(std::size_t count) const;

private:
    void acceptAll();
    void serve(int connection);
    bool answer(int connection, const ServedAnswer& answer) const;

    Handler m_handler;
    int m_listener = -1;
    int m_port = 0;
    std::atomic<bool> m_ends{false};
    mutable std::mutex m_mutex;
    std::vector<ServedRequest> m_requests;
    std::vector<int> m_connections;
    std::vector<std::thread> m_servers;
    std::thread m_acceptor;
};

}  // namespace modulelens::test
