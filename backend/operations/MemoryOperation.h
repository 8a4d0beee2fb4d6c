// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Operations.h"
#include "backend/protocol/MemoryMessages.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace modulelens::operations {

class WorkerJobs;

struct MemoryReport {
    registry::VersionSummary version;
    std::shared_ptr<const profile::Profile> profile;   ///< Memory columns alone.
    protocol::MemoryResult result;
    std::filesystem::path timelineFile;    ///< In the registry; empty when it could not be stored.
    std::string engine = "program";
    std::string device;
    int threads = 0;
    std::string resultId;
    std::vector<std::string> warnings;
};

/// Operations::memory.
[[nodiscard]] base::Result<MemoryReport> measureMemory(registry::Registry& registry, WorkerJobs& worker,
                                                       const std::string& addressOrId, const RunSettings& settings,
                                                       const OperationContext& context);

/// Totals, reasons and the timeline's place, without nodes. Keys are documented in docs/cli.md and stay.
[[nodiscard]] nlohmann::ordered_json memoryDocument(const MemoryReport& report);
/// The `limit` scopes with the most memory of their own, largest first: parameters, buffers, gradients and the peak that matters, of
/// training when it is known.
[[nodiscard]] nlohmann::ordered_json memoryNodes(const profile::Profile& profile, std::size_t limit);
[[nodiscard]] std::string memorySentence(const MemoryReport& report);

} // namespace modulelens::operations
