// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/http/RetryPolicy.h"

#include <curl/curl.h>
#include <algorithm>
#include <array>
#include <charconv>

namespace modulelens::http {

namespace {

using std::chrono::milliseconds;

/// A day: nothing that a server asks for is taken as longer, and no sum overflows.
constexpr std::int64_t kLongestSeconds = 86'400;

std::optional<milliseconds> wholeSeconds(std::string_view text) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || seconds < 0) {
        return std::nullopt;
    }
    return milliseconds(std::min(seconds, kLongestSeconds) * 1000);
}

std::optional<milliseconds> untilDate(std::string_view text, std::int64_t now) {
    const std::int64_t date = curl_getdate(std::string(text).c_str(), nullptr);
    if (date < 0) {
        return std::nullopt;
    }
    return milliseconds(std::clamp<std::int64_t>(date - now, 0, kLongestSeconds) * 1000);
}

}  // namespace

std::optional<std::string_view> findHeader(const std::vector<Header>& headers, std::string_view name) {
    const auto found =
        std::find_if(headers.rbegin(), headers.rend(), [name](const Header& header) { return header.name == name; });
    return found == headers.rend() ? std::nullopt : std::optional<std::string_view>(found->value);
}

bool isWorthRetrying(int status) {
    constexpr std::array kFinal = {400, 401, 403, 404, 409, 410, 413, 416, 422, 501};
    return status >= 400 && std::find(kFinal.begin(), kFinal.end(), status) == kFinal.end();
}

std::optional<milliseconds> askedDelay(int status, const std::vector<Header>& headers, std::int64_t now) {
    if (const auto after = findHeader(headers, "retry-after")) {
        if (const auto seconds = wholeSeconds(*after)) {
            return seconds;
        }
        if (const auto date = untilDate(*after, now)) {
            return date;
        }
    }
    if (status == 429) {
        if (const auto reset = findHeader(headers, "ratelimit-reset")) {
            return wholeSeconds(*reset);
        }
    }
    return std::nullopt;
}

milliseconds retryDelay(const RetryPolicy& policy, int next, std::optional<milliseconds> asked, double random) {
    if (asked) {
        return std::min(*asked, policy.longest);
    }
    const int doublings = std::clamp(next - 2, 0, 20);
    const milliseconds plain = std::min(policy.longest, policy.shortest * (std::int64_t{1} << doublings));
    const auto jitter = milliseconds(static_cast<std::int64_t>(static_cast<double>(plain.count()) * 0.25 * random));
    return std::min(policy.longest, plain + jitter);
}

}  // namespace modulelens::http
