// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/WandbStandIn.h"

#include "tests/support/TestPaths.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace modulelens::test {

WandbStandIn::WandbStandIn(const std::map<std::string, std::string>& environment) : m_client(http::ClientSettings{}) {
    QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
    for (const auto& [name, value] : environment) {
        variables.insert(QString::fromStdString(name), QString::fromStdString(value));
    }
    m_process.setProcessEnvironment(variables);
    m_process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    m_process.start(QString::fromStdString(pythonPath().string()),
                    {"-B", QString::fromStdString((sourceFolder() / "tests/support/wandb/stand_in.py").string())});
    if (!m_process.waitForStarted(-1)) {
        throw std::runtime_error("the stand-in for W&B does not start");
    }
    while (!m_process.canReadLine()) {
        if (!m_process.waitForReadyRead(-1)) {
            throw std::runtime_error("the stand-in for W&B ended before it said its address");
        }
    }
    m_url = m_process.readLine().trimmed().toStdString();
}

WandbStandIn::~WandbStandIn() {
    m_process.closeWriteChannel();
    m_process.waitForFinished(-1);
}

std::string WandbStandIn::whyUnavailable() {
    if (pythonPath().empty()) {
        return "there is no Python";
    }
    QProcess process;
    process.start(QString::fromStdString(pythonPath().string()), {"-c", "import graphql"});
    process.waitForFinished(-1);
    return process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0 ? std::string()
                                                                                   : "Python has no graphql-core";
}

nlohmann::json WandbStandIn::control(const nlohmann::json& request) {
    const std::string text = request.dump();
    http::Request sent;
    sent.method = http::Method::Post;
    sent.url = m_url + "/_control";
    sent.body = std::as_bytes(std::span(text.data(), text.size()));
    const auto response = m_client.send(sent, {});
    if (!response || response->status != 200) {
        throw std::runtime_error("the stand-in for W&B refuses " + text + (response ? ": " + response->body : ""));
    }
    return nlohmann::json::parse(response->body);
}

std::vector<std::string> WandbStandIn::takeOperations() {
    std::vector<std::string> operations;
    for (const auto& entry : control({{"do", "log"}})) {
        operations.push_back(entry.at("operation"));
    }
    control({{"do", "forget_log"}});
    return operations;
}

}  // namespace modulelens::test
