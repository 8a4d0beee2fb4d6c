// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Operations.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// Reports as JSON: what the command line answers, what the registry stores. Keys are documented in docs/cli.md and stay.
/// Numbers that are unknown are null.
namespace modulelens::operations {

[[nodiscard]] nlohmann::ordered_json versionDocument(const registry::VersionSummary& version);
[[nodiscard]] nlohmann::ordered_json validationDocument(const ValidationReport& report);
[[nodiscard]] nlohmann::ordered_json rebuildDocument(const RebuildReport& report);

/// Totals, coverage, samples and reasons, without nodes.
[[nodiscard]] nlohmann::ordered_json profileDocument(const ProfileReport& report);
/// The `limit` scopes with the largest self latency, largest first, as [{id, path, class, call, parent, kind, name,
/// METRIC: {self, total}, backward: {METRIC: {self, total}} or null}].
[[nodiscard]] nlohmann::ordered_json heaviestNodes(const profile::Profile& profile, std::size_t limit);
/// Which metrics nodes show.
enum class MetricChoice : std::uint8_t { All, Memory };
/// The given scopes, in that order.
[[nodiscard]] nlohmann::ordered_json nodesOf(const profile::Profile& profile, const std::vector<profile::ScopeId>& scopes,
                                             MetricChoice metrics = MetricChoice::All);
/// All scopes in tree order.
[[nodiscard]] nlohmann::ordered_json allNodes(const profile::Profile& profile);
/// Names of the metrics in JSON, such as "latency_ns" for "latency".
[[nodiscard]] std::string metricKey(const profile::Metric& metric);

[[nodiscard]] nlohmann::ordered_json importDocument(const registry::ImportReport& report);

/// "bert::encoder.layer.0@v1".
[[nodiscard]] std::string versionAddress(const registry::VersionSummary& version);

} // namespace modulelens::operations
