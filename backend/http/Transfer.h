// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/http/HttpClient.h"

#include <memory>

namespace modulelens::http {

/// How one attempt ended.
struct Attempt {
    Response response;
    std::optional<base::Error> error;      ///< Set when there is no whole answer.
    bool isWorthRetrying = false;          ///< Of the error: the network's fault, and no byte of the body was handed on.
};

/// A connection with its libcurl handles. Confined to its thread while in use.
class Connection {
public:
    Connection();
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Sends `request` once, to `url`, following no redirect. `withCredentials`: those of `settings`.
    [[nodiscard]] Attempt send(const Request& request, const std::string& url, bool withCredentials,
                               const ClientSettings& settings, std::stop_token stop);

private:
    struct Handles;
    std::unique_ptr<Handles> m_handles;
};

/// `url` without its query and fragment, for messages.
[[nodiscard]] std::string withoutQuery(const std::string& url);

}  // namespace modulelens::http
