// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/GraphQl.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/base/Guarded.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace modulelens::wandb {

namespace {

using nlohmann::json;

constexpr int kDepth = 200;
constexpr std::uint64_t kAnswerBytes = std::uint64_t{256} << 20;

std::string textOf(const json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The first message of {"errors": [{"message"}]}, {"error": "..."} or {"error": {"message"}}.
std::optional<std::string> serverMessage(const json& body) {
    const auto errors = body.find("errors");
    if (errors != body.end() && errors->is_array() && !errors->empty()) {
        const json& first = errors->front();
        return first.is_object() && first.contains("message") ? textOf(first["message"]) : textOf(first);
    }
    const auto error = body.find("error");
    if (error != body.end() && !error->is_null()) {
        return error->is_object() && error->contains("message") ? textOf((*error)["message"]) : textOf(*error);
    }
    return std::nullopt;
}

std::string lowered(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return text;
}

base::Error refusal(int status, const std::string& message, const std::string& operation) {
    const std::string what = "W&B refused " + operation + ": " + message.substr(0, 500);
    const std::string small = lowered(message);
    if (status == 401) {
        return {base::ErrorCode::Unavailable, what, "The key is wrong or was revoked; set WANDB_API_KEY or the netrc entry."};
    }
    if (status == 403 || small.find("permission") != std::string::npos) {
        return {base::ErrorCode::Unavailable, what, "The account has no access to it, or the name is mistyped."};
    }
    if (status == 404 || small.find("not found") != std::string::npos) {
        return {base::ErrorCode::NotFound, what, "It does not exist, or the account has no access to it."};
    }
    if (status == 409) {
        return {base::ErrorCode::AlreadyExists, what, ""};
    }
    if (status == 429) {
        return {base::ErrorCode::Unavailable, what, "The server's rate limit is reached; try again in a minute."};
    }
    return {status >= 500 ? base::ErrorCode::Unavailable : base::ErrorCode::InvalidArgument, what, ""};
}

}  // namespace

http::ClientSettings clientSettings(const SignIn& signIn, const RetryNotice& onRetry) {
    http::ClientSettings settings;
    settings.userAgent = "modulelens/0.1";
    settings.caFile = signIn.caFile;
    settings.credentials = {signIn.baseUrl, "api", signIn.key};
    settings.onRetry = onRetry;
    return settings;
}

std::optional<base::Error> answerError(const http::Response& response, const std::string& operation) {
    const std::string status = "it answered " + std::to_string(response.status);
    if (const auto depth = base::checkJsonDepth(response.body, kDepth, "the server's answer"); !depth) {
        return depth.error();
    }
    const json body = json::parse(response.body, nullptr, false);
    if (body.is_discarded() || !body.is_object()) {
        return refusal(
            http::isSuccess(response.status) ? 502 : response.status,
            status + (response.body.empty() ? " and nothing else" : ", but not in JSON; a proxy may stand in between"),
            operation);
    }
    if (const auto message = serverMessage(body)) {
        return refusal(response.status, *message, operation);
    }
    if (!http::isSuccess(response.status)) {
        return refusal(response.status, status, operation);
    }
    return std::nullopt;
}

GraphQl::GraphQl(http::Client& client, const SignIn& signIn)
    : m_client(client), m_baseUrl(signIn.baseUrl), m_userName(signIn.userName) {}

base::Result<json> GraphQl::run(const std::string& operation, const std::string& document, const json& variables,
                                std::stop_token stop) const {
    return base::guarded("asking W&B", [&]() -> base::Result<json> {
        const json body = {{"query", document}, {"variables", variables}, {"operationName", operation}};
        const std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
        http::Request request;
        request.method = http::Method::Post;
        request.url = m_baseUrl + "/graphql";
        request.withCredentials = true;
        request.headers = {{"Content-Type", "application/json"}};
        if (!m_userName.empty()) {
            request.headers.push_back({"X-WANDB-USERNAME", m_userName});
        }
        request.body = std::as_bytes(std::span(text.data(), text.size()));
        request.bodyLimitBytes = kAnswerBytes;
        base::Result<http::Response> response = m_client.send(request, stop);
        if (!response) {
            return response.error();
        }
        if (const auto error = answerError(*response, operation)) {
            return *error;
        }
        json answer = json::parse(response->body);
        const auto data = answer.find("data");
        if (data == answer.end() || !data->is_object()) {
            return base::Error{base::ErrorCode::Corrupt, "W&B answered " + operation + " without data.", ""};
        }
        return std::move(*data);
    });
}

}  // namespace modulelens::wandb
