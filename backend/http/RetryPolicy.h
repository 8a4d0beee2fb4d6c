// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::http {

/// A header line of a request or an answer. Names of answers are in lower case.
struct Header {
    std::string name;
    std::string value;
};

/// The value of the header `name` (lower case), or nothing. The last one where several have the name.
[[nodiscard]] std::optional<std::string_view> findHeader(const std::vector<Header>& headers, std::string_view name);

/// How often and after which waits a request is sent again.
struct RetryPolicy {
    int attempts = 5;                                   ///< In all, the first included.
    std::chrono::milliseconds shortest{2000};           ///< Before the second attempt; doubles each time.
    std::chrono::milliseconds longest{60'000};          ///< Also of what a server asks for.
};

/// True for an answer that another attempt may better: 408, 429, 5xx but 501, and 4xx that are not about the request itself.
[[nodiscard]] bool isWorthRetrying(int status);

/// The wait that "Retry-After" (seconds or a date), or for 429 "RateLimit-Reset" (seconds), asks for. Nothing when they are absent or
/// unreadable. `now`: seconds since 1970.
[[nodiscard]] std::optional<std::chrono::milliseconds> askedDelay(int status, const std::vector<Header>& headers,
                                                                  std::int64_t now);

/// The wait before attempt number `next` (2 for the second): what the server asked for, else the doubling one with up to a
/// quarter more, by `random` in [0, 1).
[[nodiscard]] std::chrono::milliseconds retryDelay(const RetryPolicy& policy, int next,
                                                   std::optional<std::chrono::milliseconds> asked, double random);

}  // namespace modulelens::http
