// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/workerclient/WorkerClient.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace modulelens::workerclient {

/// A request between the caller that waits for it and the session that completes it. complete() and wait() may run on
/// different threads; every other member is touched by the session's thread only, once the request was submitted.
class PendingRequest {
public:
    PendingRequest(std::string method, nlohmann::json params, RequestContext context)
        : m_method(std::move(method)), m_params(std::move(params)), m_context(std::move(context)) {}

    [[nodiscard]] const std::string& method() const { return m_method; }
    [[nodiscard]] nlohmann::json takeParams() { return std::move(m_params); }
    [[nodiscard]] const RequestContext& context() const { return m_context; }

    /// Why the request is being stopped, once it is: Cancelled or Timeout.
    [[nodiscard]] const std::optional<base::ErrorCode>& stopReason() const { return m_stopReason; }
    void setStopReason(base::ErrorCode reason) { m_stopReason = reason; }

    /// Only the first call counts.
    void complete(base::Result<nlohmann::json> result) {
        {
            const std::lock_guard lock(m_mutex);
            if (m_result) {
                return;
            }
            m_result = std::move(result);
        }
        m_completed.notify_all();
    }

    /// Blocks until the request is complete. Requires: called once.
    [[nodiscard]] base::Result<nlohmann::json> wait() {
        std::unique_lock lock(m_mutex);
        m_completed.wait(lock, [this] { return m_result.has_value(); });
        return *std::move(m_result);
    }

private:
    std::string m_method;
    nlohmann::json m_params;
    RequestContext m_context;
    std::optional<base::ErrorCode> m_stopReason;

    std::mutex m_mutex;
    std::condition_variable m_completed;
    std::optional<base::Result<nlohmann::json>> m_result;
};

} // namespace modulelens::workerclient
