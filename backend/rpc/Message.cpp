// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/rpc/Message.h"

#include <algorithm>

namespace modulelens::rpc {

namespace {

constexpr int kMaximumDepth = 200;

base::Error corrupt(std::string message) {
    return {base::ErrorCode::Corrupt, std::move(message), {}};
}

/// Deepest nesting of brackets outside strings; a parser or a destructor never sees a text that is deeper than allowed.
int nestingDepth(std::string_view text) {
    int depth = 0;
    int deepest = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                inString = false;
            }
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            deepest = std::max(deepest, ++depth);
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return deepest;
}

base::Result<std::int64_t> integerId(const nlohmann::json& id) {
    if (!id.is_number_integer() || (id.is_number_unsigned() && id.get<std::uint64_t>() > INT64_MAX)) {
        return corrupt("the id of a message is not an integer");
    }
    return id.get<std::int64_t>();
}

base::Result<Message> parseCall(nlohmann::json& json) {
    if (!json["method"].is_string()) {
        return corrupt("the method of a message is not a string");
    }
    std::string method = json["method"].get<std::string>();
    nlohmann::json params = nlohmann::json::object();
    if (const auto found = json.find("params"); found != json.end()) {
        if (!found->is_structured()) {
            return corrupt("the params of '" + method + "' are neither an object nor a list");
        }
        params = std::move(*found);
    }
    const auto id = json.find("id");
    if (id == json.end()) {
        return Message(Notification{std::move(method), std::move(params)});
    }
    const base::Result<std::int64_t> number = integerId(*id);
    if (!number) {
        return number.error();
    }
    return Message(Request{*number, std::move(method), std::move(params)});
}

base::Result<Response::ErrorObject> parseErrorObject(nlohmann::json& json) {
    if (!json.is_object() || !json.contains("code") || !json["code"].is_number_integer() || !json.contains("message") ||
        !json["message"].is_string()) {
        return corrupt("the error of a response has no code and message");
    }
    Response::ErrorObject error;
    error.code = json["code"].get<int>();
    error.message = json["message"].get<std::string>();
    if (json.contains("data")) {
        error.data = std::move(json["data"]);
    }
    return error;
}

base::Result<Message> parseResponse(nlohmann::json& json) {
    Response response;
    if (const auto id = json.find("id"); id != json.end() && !id->is_null()) {
        const base::Result<std::int64_t> number = integerId(*id);
        if (!number) {
            return number.error();
        }
        response.id = *number;
    }
    const bool hasResult = json.contains("result");
    if (hasResult == json.contains("error")) {
        return corrupt("a message is neither a request nor a response");
    }
    if (hasResult) {
        if (!response.id) {
            return corrupt("a result names no request");
        }
        response.result = std::move(json["result"]);
    } else {
        base::Result<Response::ErrorObject> error = parseErrorObject(json["error"]);
        if (!error) {
            return error.error();
        }
        response.error = *std::move(error);
    }
    return Message(std::move(response));
}

nlohmann::json toJson(const Request& request) {
    return {{"jsonrpc", "2.0"}, {"id", request.id}, {"method", request.method}, {"params", request.params}};
}

nlohmann::json toJson(const Notification& notification) {
    return {{"jsonrpc", "2.0"}, {"method", notification.method}, {"params", notification.params}};
}

nlohmann::json toJson(const Response& response) {
    nlohmann::json json = {{"jsonrpc", "2.0"}, {"id", nullptr}};
    if (response.id) {
        json["id"] = *response.id;
    }
    if (response.error) {
        json["error"] = {{"code", response.error->code}, {"message", response.error->message}};
        if (!response.error->data.is_null()) {
            json["error"]["data"] = response.error->data;
        }
    } else {
        json["result"] = response.result ? *response.result : nlohmann::json();
    }
    return json;
}

} // namespace

base::Result<Message> parseMessage(std::string_view body) {
    if (nestingDepth(body) > kMaximumDepth) {
        return corrupt("a message is nested deeper than " + std::to_string(kMaximumDepth) + " levels");
    }
    nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
    if (json.is_discarded()) {
        return corrupt("a message is not JSON");
    }
    if (!json.is_object()) {
        return corrupt("a message is not a JSON object");
    }
    const auto version = json.find("jsonrpc");
    if (version == json.end() || *version != "2.0") {
        return corrupt("a message is not JSON-RPC 2.0");
    }
    return json.contains("method") ? parseCall(json) : parseResponse(json);
}

std::string serializeMessage(const Message& message) {
    const nlohmann::json json = std::visit([](const auto& alternative) { return toJson(alternative); }, message);
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace modulelens::rpc
