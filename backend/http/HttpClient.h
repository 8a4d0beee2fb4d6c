// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/http/RetryPolicy.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::http {

enum class Method { Get, Post, Put };

/// What an answer says before its body.
struct ResponseHead {
    int status = 0;
    std::vector<Header> headers;
};

using ByteProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// One request.
struct Request {
    Method method = Method::Get;
    std::string url;
    std::vector<Header> headers;
    /// Sent with Post and Put, with its length; the caller keeps it alive until send() returns.
    std::span<const std::byte> body;
    /// Sent after `body`, one after the other, without being copied together; kept alive in the same way.
    std::vector<std::span<const std::byte>> bodyPieces;
    /// Sends the client's credentials, if the address lies below Credentials::baseUrl. A Get loses them with its first redirect,
    /// which may lead to a storage.
    bool withCredentials = false;
    /// Called once before the body of an answer of 2xx; an error ends the request with it.
    std::function<base::Result<void>(const ResponseHead&)> onHead;
    /// Takes the body of an answer of 2xx piece by piece; an error ends the request with it. Without it the body is kept.
    std::function<base::Result<void>(std::span<const std::byte>)> onBody;
    std::uint64_t bodyLimitBytes = std::uint64_t{64} << 20;   ///< A kept body that is larger is Corrupt.
    /// Bytes of the larger direction. Called on the thread of send().
    ByteProgress progress;
};

struct Response {
    int status = 0;
    std::vector<Header> headers;         ///< Names in lower case.
    std::string body;                    ///< Empty when onBody took it.
};

/// User name and password, and the address below which alone they are sent.
struct Credentials {
    std::string baseUrl;
    std::string user;
    std::string password;
};

struct ClientSettings {
    std::string userAgent = "modulelens";
    std::string caFile;                  ///< Certificates to trust in the place of the system's; empty: the system's.
    Credentials credentials;             ///< baseUrl empty: none.
    std::chrono::milliseconds connectTimeout{15'000};
    std::chrono::milliseconds stallTimeout{30'000};   ///< Without a byte in either direction.
    RetryPolicy retry;
    /// Called before each wait: why, and for how long. On the thread of send().
    std::function<void(const std::string& reason, std::chrono::milliseconds wait)> onRetry;
};

/// Requests over http and https by libcurl. TLS is always verified. Proxies as the environment says (https_proxy, no_proxy, ...).
/// Credentials go only with requests that ask for them, to
/// addresses below Credentials::baseUrl alone, also after redirects; redirects from https to http are refused.
/// Connections are kept and used again. Thread-safe: each call uses a connection of its own.
class Client {
public:
    explicit Client(ClientSettings settings);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Sends `request` and returns the answer, whatever its status, after the retries that the policy allows. A request whose
    /// onBody was called is not sent again. Blocks on the network; returns soon after `stop` is asked.
    /// Cancelled. Unavailable: no connection, a certificate that is not trusted, a connection that broke. Timeout: it stalled.
    /// Corrupt: a kept body above its limit, more than 10 redirects or an unfit one. InvalidArgument: an unfit URL.
    /// No message holds a query of a URL, which may be a signature, or the credentials.
    [[nodiscard]] base::Result<Response> send(const Request& request, std::stop_token stop);

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

/// True when the status is one of success.
[[nodiscard]] constexpr bool isSuccess(int status) {
    return status >= 200 && status < 300;
}

}  // namespace modulelens::http
