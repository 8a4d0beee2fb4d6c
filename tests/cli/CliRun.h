// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QString>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace modulelens::test {

/// What a run of the command line left.
struct CliResult {
    int exitCode = -1;
    std::string output;
    std::string errors;

    /// The output as JSON; discarded when it is not exactly one document.
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(output, nullptr, false); }
};

/// Runs the built `modulelens` with `registry` as MODULELENS_REGISTRY and `environment` on top of the test's own.
[[nodiscard]] CliResult runCli(const std::filesystem::path& registry, const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& environment = {});

/// The MODULELENS_WORKER value for a scripted worker.
[[nodiscard]] std::string scriptedWorker(const nlohmann::json& script);

/// The golden bundle, copied to `folder` so that it can be damaged. Returns the copy.
std::filesystem::path copyGoldenBundle(const std::filesystem::path& folder);

} // namespace modulelens::test
