// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/LoopbackServer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace modulelens::test {

namespace {

/// Reads until `end` is found or `size` bytes are there. False: the connection ended.
bool readUntil(int connection, std::string& buffer, const std::function<bool(const std::string&)>& isEnough) {
    while (!isEnough(buffer)) {
        char bytes[65536];
        const ssize_t got = ::recv(connection, bytes, sizeof(bytes), 0);
        if (got <= 0) {
            return false;
        }
        buffer.append(bytes, static_cast<std::size_t>(got));
    }
    return true;
}

ServedRequest parseHead(const std::string& head) {
    ServedRequest request;
    const std::size_t firstSpace = head.find(' ');
    const std::size_t secondSpace = head.find(' ', firstSpace + 1);
    request.method = head.substr(0, firstSpace);
    request.target = head.substr(firstSpace + 1, secondSpace - firstSpace - 1);
    std::size_t at = head.find("\r\n") + 2;
    while (at < head.size()) {
        const std::size_t end = head.find("\r\n", at);
        const std::string line = head.substr(at, end - at);
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) {
            break;
        }
        std::string name = line.substr(0, colon);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        request.headers[name] = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
        at = end + 2;
    }
    return request;
}

bool sendAll(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace

LoopbackServer::LoopbackServer(Handler handler) : m_handler(std::move(handler)) {
    m_listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (m_listener < 0 || ::bind(m_listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(m_listener, 64) != 0 || ::getsockname(m_listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        std::abort();
    }
    m_port = ntohs(address.sin_port);
    m_acceptor = std::thread([this] { acceptAll(); });
}

LoopbackServer::~LoopbackServer() {
    m_ends = true;
    ::shutdown(m_listener, SHUT_RDWR);
    m_acceptor.join();
    {
        const std::lock_guard lock(m_mutex);
        for (const int connection : m_connections) {
            ::shutdown(connection, SHUT_RDWR);
        }
    }
    for (std::thread& server : m_servers) {
        server.join();
    }
    for (const int connection : m_connections) {
        ::close(connection);
    }
    ::close(m_listener);
}

std::vector<ServedRequest> LoopbackServer::requests() const {
    const std::lock_guard lock(m_mutex);
    return m_requests;
}

void LoopbackServer::awaitRequests(std::size_t count) const {
    while (requests().size() < count) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void LoopbackServer::acceptAll() {
    while (!m_ends) {
        const int connection = ::accept(m_listener, nullptr, nullptr);
        if (connection < 0) {
            return;
        }
        const std::lock_guard lock(m_mutex);
        m_connections.push_back(connection);
        m_servers.emplace_back([this, connection] { serve(connection); });
    }
}

void LoopbackServer::serve(int connection) {
    std::string buffer;
    while (!m_ends &&
           readUntil(connection, buffer, [](const std::string& text) { return text.find("\r\n\r\n") != std::string::npos; })) {
        const std::size_t headEnd = buffer.find("\r\n\r\n") + 4;
        ServedRequest request = parseHead(buffer.substr(0, headEnd));
        const std::size_t length =
            request.headers.contains("content-length") ? std::stoul(request.headers["content-length"]) : 0;
        if (!readUntil(connection, buffer, [&](const std::string& text) { return text.size() >= headEnd + length; })) {
            break;
        }
        request.body = buffer.substr(headEnd, length);
        buffer.erase(0, headEnd + length);
        ServedAnswer answered;
        {
            const std::lock_guard lock(m_mutex);
            m_requests.push_back(request);
            answered = m_handler(request);
        }
        if (!answer(connection, answered)) {
            break;
        }
    }
    ::shutdown(connection, SHUT_RDWR);
}

bool LoopbackServer::answer(int connection, const ServedAnswer& answered) const {
    while (answered.hangs && !m_ends) {
        pollfd watched{connection, POLLIN, 0};
        if (::poll(&watched, 1, 50) > 0) {
            return false;
        }
    }
    std::string text = "HTTP/1.1 " + std::to_string(answered.status) + " Answer\r\n";
    for (const auto& [name, value] : answered.headers) {
        text += name + ": " + value + "\r\n";
    }
    text += "Content-Length: " + std::to_string(answered.body.size()) + "\r\n\r\n";
    const bool isCut = answered.cutAfter < answered.body.size();
    return sendAll(connection, text + answered.body.substr(0, answered.cutAfter)) && !isCut;
}

}  // namespace modulelens::test
