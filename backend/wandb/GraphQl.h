// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/http/HttpClient.h"
#include "backend/wandb/SignIn.h"

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>

namespace modulelens::wandb {

/// Called before each wait of a request that is tried again: why, and how long.
using RetryNotice = std::function<void(const std::string& reason, std::chrono::milliseconds wait)>;

/// Settings for the connection to the server of `signIn`.
[[nodiscard]] http::ClientSettings clientSettings(const SignIn& signIn, const RetryNotice& onRetry);

/// What an answer of the server says went wrong, or nothing: an array "errors", an "error", a status that is no success, a body
/// that is no JSON object. The server reports errors of requests with several statuses, so that the body counts, not the status.
[[nodiscard]] std::optional<base::Error> answerError(const http::Response& response, const std::string& operation);

/// Sends operations to the server's one endpoint. Thread-safe.
class GraphQl {
public:
    /// `client` has the credentials of `signIn` and outlives this.
    GraphQl(http::Client& client, const SignIn& signIn);

    /// The member "data" of the answer. `operation` is the name in `document`. Blocks on the network.
    /// Unavailable: the server or the sign-in refuses. NotFound, AlreadyExists, InvalidArgument: what the server says.
    [[nodiscard]] base::Result<nlohmann::json> run(const std::string& operation, const std::string& document,
                                                   const nlohmann::json& variables, std::stop_token stop) const;

    [[nodiscard]] const std::string& baseUrl() const { return m_baseUrl; }

private:
    http::Client& m_client;
    std::string m_baseUrl;
    std::string m_userName;
};

}  // namespace modulelens::wandb
