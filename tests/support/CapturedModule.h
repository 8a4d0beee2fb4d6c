// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/Bundle.h"
#include "backend/protocol/WorkerMessages.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace modulelens::test {

/// A set of modules that was captured before the tests began: "engine" by tests/engine/capture_modules.py, "training" by
/// capture_training.py.
[[nodiscard]] std::filesystem::path capturesFolder(const std::string& set = "engine");
/// Their names, sorted.
[[nodiscard]] std::vector<std::string> capturedModules(const std::string& set = "engine");
/// What PyTorch said of module `name`: an integer; null when it said nothing.
[[nodiscard]] nlohmann::json expectedOf(const std::string& name, const std::string& key, const std::string& set = "engine");

/// One captured module with the requests that load and call it. Confined to its thread.
class CapturedModule {
public:
    /// Throw, which fails the running test, when the capture cannot be read.
    explicit CapturedModule(const std::string& name, const std::string& set = "engine");
    /// Version number `index` of the bundle `path`.
    CapturedModule(const std::filesystem::path& path, std::size_t index);

    [[nodiscard]] const capture::VersionDocument& version() const { return m_version; }
    [[nodiscard]] std::size_t callCount() const { return m_version.calls.size(); }
    /// Of the program that computes call number `call`.
    [[nodiscard]] protocol::LoadParams loadParams(std::size_t call = 0) const;
    /// What the source engine is told of it: "source" of load and code.
    [[nodiscard]] nlohmann::json source() const;
    [[nodiscard]] protocol::CallParams callParams(int handle, std::size_t call = 0) const;

private:
    [[nodiscard]] protocol::Extent extent(const std::string& digest, const capture::FileExtent& place) const;

    std::unique_ptr<capture::Bundle> m_bundle;
    capture::VersionDocument m_version;
    std::vector<protocol::Extent> m_tensors;
};

}  // namespace modulelens::test
