// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace modulelens::rpc {

struct Request {
    std::int64_t id = 0;
    std::string method;
    nlohmann::json params;
};
struct Notification {
    std::string method;
    nlohmann::json params;
};
/// Exactly one of result and error is set. `id` is absent when the peer could not read the request's id.
struct Response {
    std::optional<std::int64_t> id;
    std::optional<nlohmann::json> result;
    struct ErrorObject {
        int code = 0;
        std::string message;
        nlohmann::json data;
    };
    std::optional<ErrorObject> error;
};

using Message = std::variant<Request, Notification, Response>;

/// JSON-RPC 2.0. Corrupt: not JSON, not an object, neither request nor response, a nesting deeper than 200.
[[nodiscard]] base::Result<Message> parseMessage(std::string_view body);
/// Non-finite numbers become null; invalid UTF-8 is replaced.
[[nodiscard]] std::string serializeMessage(const Message& message);

}  // namespace modulelens::rpc
