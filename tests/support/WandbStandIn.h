// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/http/HttpClient.h"

#include <QProcess>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace modulelens::test {

/// The stand-in for the W&B server (tests/support/wandb), in a process of its own. Confined to its thread.
class WandbStandIn {
public:
    /// Starts it with these environment variables (STAND_IN_...). Throws std::runtime_error when it does not start.
    explicit WandbStandIn(const std::map<std::string, std::string>& environment = {});
    WandbStandIn(const WandbStandIn&) = delete;
    WandbStandIn& operator=(const WandbStandIn&) = delete;
    ~WandbStandIn();

    /// Why it cannot run here, or empty.
    [[nodiscard]] static std::string whyUnavailable();

    [[nodiscard]] const std::string& url() const { return m_url; }
    /// The key that it accepts.
    [[nodiscard]] static std::string key() { return std::string(40, 'a'); }

    /// Asks for something beyond the protocol: {"do": "expire", "count": 1}; see stand_in.py.
    nlohmann::json control(const nlohmann::json& request);
    /// Names of the operations asked for since the last call of this, such as "Viewer" and "STORAGE GET".
    std::vector<std::string> takeOperations();

private:
    QProcess m_process;
    http::Client m_client;
    std::string m_url;
};

}  // namespace modulelens::test
