// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/http/HttpClient.h"

#include "backend/base/Guarded.h"
#include "backend/base/Mutex.h"
#include "backend/http/Transfer.h"
#include "backend/http/Url.h"

#include <condition_variable>
#include <map>
#include <random>

namespace modulelens::http {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kMostRedirects = 10;

bool isRedirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::int64_t secondsSince1970() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double randomFraction() {
    thread_local std::minstd_rand generator(std::random_device{}());
    return std::uniform_real_distribution<double>(0.0, 1.0)(generator);
}

base::Error cancelled(const std::string& url) {
    return {base::ErrorCode::Cancelled, "Stopped while waiting for " + withoutQuery(url) + ".", ""};
}

/// Waits, and returns early when stop is asked. False: it was.
bool waitFor(milliseconds duration, const std::stop_token& stop) {
    base::Mutex mutex;
    std::condition_variable_any changed;
    mutex.lock();
    changed.wait_for(mutex, stop, duration, [] { return false; });
    mutex.unlock();
    return !stop.stop_requested();
}

/// A server says in "RateLimit-Remaining" and "RateLimit-Reset" when it will refuse the next request.
std::optional<milliseconds> pauseOf(const Response& response) {
    const auto remaining = findHeader(response.headers, "ratelimit-remaining");
    if (!remaining || *remaining != "0") {
        return std::nullopt;
    }
    return askedDelay(429, response.headers, secondsSince1970());
}

}  // namespace

struct Client::Data {
    ClientSettings settings;
    std::optional<Url> credentialsBase;
    base::Mutex mutex;
    std::vector<std::unique_ptr<Connection>> idle ML_GUARDED_BY(mutex);
    std::map<std::string, steady_clock::time_point> notBefore ML_GUARDED_BY(mutex);   ///< By host and port.

    std::unique_ptr<Connection> borrow() {
        const base::MutexLock lock(mutex);
        if (idle.empty()) {
            return std::make_unique<Connection>();
        }
        std::unique_ptr<Connection> connection = std::move(idle.back());
        idle.pop_back();
        return connection;
    }
    void giveBack(std::unique_ptr<Connection> connection) {
        const base::MutexLock lock(mutex);
        idle.push_back(std::move(connection));
    }

    milliseconds pauseBefore(const Url& url) {
        const base::MutexLock lock(mutex);
        const auto found = notBefore.find(url.hostAndPort());
        if (found == notBefore.end()) {
            return milliseconds(0);
        }
        return std::chrono::ceil<milliseconds>(std::max(found->second - steady_clock::now(), steady_clock::duration::zero()));
    }
    void notePause(const Url& url, const Response& response) {
        const auto pause = pauseOf(response);
        if (pause) {
            const base::MutexLock lock(mutex);
            notBefore[url.hostAndPort()] = steady_clock::now() + std::min(*pause, settings.retry.longest);
        }
    }

    /// One attempt with its redirects.
    Attempt sendOnce(const Request& request, Connection& connection, const std::stop_token& stop) {
        std::string url = request.url;
        Attempt attempt;
        for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
            const base::Result<Url> parsed = parseUrl(url);
            if (!parsed) {
                attempt.error = parsed.error();
                return attempt;
            }
            const bool isAllowed = request.withCredentials && (redirects == 0 || request.method != Method::Get);
            const bool withCredentials = isAllowed && credentialsBase && isBelow(*parsed, *credentialsBase);
            attempt = connection.send(request, url, withCredentials, settings, stop);
            if (attempt.error || !isRedirect(attempt.response.status)) {
                if (!attempt.error) {
                    notePause(*parsed, attempt.response);
                }
                return attempt;
            }
            base::Result<std::string> next = redirectTarget(request, url, *parsed, attempt.response);
            if (!next) {
                attempt.error = next.error();
                return attempt;
            }
            url = *std::move(next);
        }
        attempt.error =
            base::Error{base::ErrorCode::Corrupt,
                        withoutQuery(request.url) + " redirects more than " + std::to_string(kMostRedirects) + " times.", ""};
        return attempt;
    }

    static base::Result<std::string> redirectTarget(const Request& request, const std::string& url, const Url& from,
                                                    const Response& response) {
        const auto location = findHeader(response.headers, "location");
        if (!location) {
            return base::Error{base::ErrorCode::Corrupt, withoutQuery(url) + " redirects to nowhere.", ""};
        }
        base::Result<std::string> next = resolveUrl(url, std::string(*location));
        if (!next) {
            return next.error().within("following a redirect of " + withoutQuery(url));
        }
        const base::Result<Url> to = parseUrl(*next);
        if (!to) {
            return to.error();
        }
        if (from.scheme == "https" && to->scheme != "https") {
            return base::Error{base::ErrorCode::Corrupt,
                               withoutQuery(url) + " redirects to an address without encryption, which is not followed.", ""};
        }
        const bool keepsPlace = to->scheme == from.scheme && to->host == from.host && to->port == from.port;
        if (request.method != Method::Get && (!keepsPlace || (response.status != 307 && response.status != 308))) {
            return base::Error{
                base::ErrorCode::Corrupt,
                withoutQuery(url) + " redirects what is sent to it, to " + withoutQuery(*next) + "; that is not followed.",
                "Check the base URL."};
        }
        return next;
    }

    /// Says why and waits. False: stop was asked.
    bool pause(const std::string& reason, milliseconds duration, const std::stop_token& stop) const {
        if (duration <= milliseconds(0)) {
            return !stop.stop_requested();
        }
        if (settings.onRetry) {
            settings.onRetry(reason, duration);
        }
        return waitFor(duration, stop);
    }
};

Client::Client(ClientSettings settings) : m_data(std::make_unique<Data>()) {
    m_data->settings = std::move(settings);
    if (!m_data->settings.credentials.baseUrl.empty()) {
        const base::Result<Url> base = parseUrl(m_data->settings.credentials.baseUrl);
        if (base) {
            m_data->credentialsBase = *base;
        }
    }
}

Client::~Client() = default;

base::Result<Response> Client::send(const Request& request, std::stop_token stop) {
    return base::guarded("sending a request", [&]() -> base::Result<Response> {
        const base::Result<Url> url = parseUrl(request.url);
        if (!url) {
            return url.error();
        }
        std::unique_ptr<Connection> connection = m_data->borrow();
        const RetryPolicy& policy = m_data->settings.retry;
        if (!m_data->pause("the server's rate limit", m_data->pauseBefore(*url), stop)) {
            return cancelled(request.url);
        }
        for (int number = 1;; ++number) {
            Attempt attempt = m_data->sendOnce(request, *connection, stop);
            const bool again = attempt.error ? attempt.isWorthRetrying : isWorthRetrying(attempt.response.status);
            if (!again || number >= policy.attempts) {
                m_data->giveBack(std::move(connection));
                if (attempt.error) {
                    return *attempt.error;
                }
                return std::move(attempt.response);
            }
            const auto asked = attempt.error
                                   ? std::nullopt
                                   : askedDelay(attempt.response.status, attempt.response.headers, secondsSince1970());
            const std::string reason =
                attempt.error ? attempt.error->message : "the server answered " + std::to_string(attempt.response.status);
            if (!m_data->pause(reason, retryDelay(policy, number + 1, asked, randomFraction()), stop)) {
                return cancelled(request.url);
            }
        }
    });
}

}  // namespace modulelens::http
