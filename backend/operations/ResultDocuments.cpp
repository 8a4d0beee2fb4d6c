// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/ResultDocuments.h"

#include "backend/operations/Sentences.h"
#include "backend/registry/VersionAddress.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace modulelens::operations {

namespace {

using nlohmann::ordered_json;

template <class Number>
ordered_json orNull(const std::optional<Number>& value) {
    return value ? ordered_json(*value) : ordered_json();
}

ordered_json textOrNull(const std::string& text) {
    return text.empty() ? ordered_json() : ordered_json(text);
}

ordered_json attributesDocument(const std::map<std::string, registry::AttributeValue>& attributes) {
    ordered_json document = ordered_json::object();
    for (const auto& [key, value] : attributes) {
        document[key] = std::visit([](const auto& held) { return ordered_json(held); }, value);
    }
    return document;
}

/// FLOPs for each byte moved; null when there is no such number.
ordered_json intensity(const ordered_json& flops, const ordered_json& bytes) {
    if (!flops.is_number() || !bytes.is_number() || bytes.get<std::int64_t>() <= 0) {
        return {};
    }
    return static_cast<double>(flops.get<std::int64_t>()) / static_cast<double>(bytes.get<std::int64_t>());
}

void addCosts(ordered_json& document, const protocol::CostSummary& costs, const std::optional<std::int64_t>& flops) {
    ordered_json& totals = document["totals"];
    totals["bytes"] = orNull(costs.bytes);
    totals["intensity"] = intensity(totals["flops"], totals["bytes"]);
    totals["flops_all_operations"] = flops ? orNull(costs.allOperationsFlops) : ordered_json();
    totals["flops_causal_exact"] = flops ? orNull(costs.causalExactFlops) : ordered_json();
    totals["flops_static"] = orNull(costs.staticFlops);
    ordered_json differences = ordered_json::array();
    for (const protocol::FlopDifference& difference : costs.staticDifference) {
        differences.push_back({{"operator", difference.name},
                               {"observed", orNull(difference.observed)},
                               {"static", orNull(difference.other)},
                               {"reason", difference.reason}});
    }
    ordered_json operators = ordered_json::array();
    for (const protocol::OperatorTotal& total : costs.operators) {
        ordered_json row = {
            {"name", total.name},
            {"coverage", total.coverage},
            {"calls", total.calls},
            {"latency_ns", orNull(total.latencyNs)},
            {"flops", total.coverage == "unknown" && total.flops == 0 ? ordered_json() : ordered_json(total.flops)},
            {"bytes", orNull(total.bytes)},
            {"other_flops", orNull(total.otherFlops)}};
        row["intensity"] = intensity(row["flops"], row["bytes"]);
        operators.push_back(std::move(row));
    }
    document["torch_flops"] = nullptr;
    document["flops_difference"] = ordered_json::array();
    if (costs.torchFlops) {
        document["torch_flops"] = {{"total", *costs.torchFlops}, {"torch", costs.torchVersion}};
        for (const protocol::FlopDifference& difference : costs.torchDifference) {
            document["flops_difference"].push_back({{"operators", difference.name},
                                                    {"observed", orNull(difference.observed)},
                                                    {"torch", orNull(difference.other)},
                                                    {"reason", difference.reason}});
        }
    }
    document["flops_convention"] = "2 per multiply-add, matrix products only";
    document["causal_convention"] = costs.causalConvention;
    document["flops_is_lower_bound"] = costs.isLowerBound;
    document["flops_static_difference"] = std::move(differences);
    document["operators"] = std::move(operators);
}

ordered_json oracleLeafDocument(const std::optional<protocol::OracleLeaf>& oracle) {
    if (!oracle) {
        return {};
    }
    return {{"verdict", textOrNull(oracle->verdict)},
            {"reason", textOrNull(oracle->reason)},
            {"error_ours", orNull(oracle->errorOurs)},
            {"error_captured", orNull(oracle->errorCaptured)},
            {"bound", orNull(oracle->bound)}};
}

ordered_json leafDocument(const protocol::LeafResult& leaf) {
    const protocol::LeafStatistics& statistics = leaf.statistics;
    return {
        {"pointer", leaf.pointer},
        {"dtype", leaf.dtype},
        {"shape", leaf.shape},
        {"verdict", leaf.verdict},
        {"reason", textOrNull(leaf.reason)},
        {"max_abs_diff", orNull(leaf.maxAbsDiff)},
        {"max_rel_diff", orNull(leaf.maxRelDiff)},
        {"mismatched", leaf.mismatched},
        {"elements", leaf.elements},
        {"worst_index", leaf.worstIndex},
        {"expected", textOrNull(leaf.expected)},
        {"got", textOrNull(leaf.got)},
        {"relative_tolerance", leaf.relativeTolerance},
        {"absolute_tolerance", leaf.absoluteTolerance},
        {"failed_check", textOrNull(statistics.failedCheck)},
        {"max_ulp", orNull(statistics.maxUlp)},
        {"cosine", orNull(statistics.cosine)},
        {"norm_relative_error", orNull(statistics.normRelativeError)},
        {"first_bad_index", statistics.firstBadIndex},
        {"nan", {{"expected", statistics.nanExpected}, {"got", statistics.nanGot}, {"mismatched", statistics.nanMismatched}}},
        {"infinite",
         {{"expected", statistics.infiniteExpected},
          {"got", statistics.infiniteGot},
          {"mismatched", statistics.infiniteMismatched}}},
        {"spread", orNull(statistics.spread)},
        {"reference_spread", orNull(statistics.referenceSpread)},
        {"oracle", oracleLeafDocument(statistics.oracle)}};
}

ordered_json repeatsDocument(const std::optional<protocol::RepeatResult>& repeats) {
    if (!repeats) {
        return {};
    }
    return {{"runs", repeats->runs},
            {"nondeterministic", repeats->isNondeterministic},
            {"stochastic", repeats->isStochastic},
            {"spread", orNull(repeats->spread)},
            {"reference_runs", repeats->referenceRuns},
            {"reference_spread", orNull(repeats->referenceSpread)}};
}

ordered_json oracleDocument(const std::optional<protocol::OracleResult>& oracle) {
    if (!oracle) {
        return {};
    }
    return {{"verdict", textOrNull(oracle->verdict)},
            {"reason", textOrNull(oracle->reason)},
            {"dtype", oracle->dtype},
            {"factor", oracle->factor}};
}

ordered_json valueAt(const std::vector<std::int64_t>& column, profile::ScopeId scope) {
    const std::int64_t value = column[static_cast<std::size_t>(scope)];
    return value == profile::kUnknown ? ordered_json() : ordered_json(value);
}

std::string kindName(profile::ScopeKind kind) {
    switch (kind) {
        case profile::ScopeKind::Module:
            return "module";
        case profile::ScopeKind::Operator:
            return "operator";
        case profile::ScopeKind::Unattributed:
            return "unattributed";
    }
    return "module";
}

/// Whether no scope of the subtree lacks the metric: totals leave out what is unknown.
bool isKnownBelow(const profile::Profile& profile, const char* metric, profile::ScopeId scope) {
    const profile::Column* column = profile.column(metric, profile::Direction::Forward);
    if (column == nullptr) {
        return false;
    }
    const auto begin = column->self.begin() + scope;
    return std::find(begin, column->self.begin() + profile.subtreeEnd(scope), profile::kUnknown) ==
           column->self.begin() + profile.subtreeEnd(scope);
}

ordered_json valuesOf(const profile::Column& column, profile::ScopeId scope) {
    return {{"self", valueAt(column.self, scope)}, {"total", valueAt(column.total, scope)}};
}

bool isOfMemory(const profile::Metric& metric) {
    return metric.unit == "bytes" && metric.id != "bytes";
}

ordered_json nodeDocument(const profile::Profile& profile, profile::ScopeId scope, MetricChoice choice) {
    ordered_json node = {{"id", scope},
                         {"path", profile.path(scope)},
                         {"class", textOrNull(std::string(profile.className(scope)))},
                         {"call", profile.call(scope)},
                         {"parent", scope == 0 ? ordered_json() : ordered_json(profile.parent(scope))},
                         {"kind", kindName(profile.kind(scope))},
                         {"name", profile.name(scope)}};
    ordered_json backward;
    for (const profile::Metric& metric : profile::knownMetrics()) {
        if (choice == MetricChoice::Memory && !isOfMemory(metric)) {
            continue;
        }
        const profile::Column* column = profile.column(metric.id, profile::Direction::Forward);
        node[metricKey(metric)] =
            column == nullptr ? ordered_json{{"self", nullptr}, {"total", nullptr}} : valuesOf(*column, scope);
        if (const profile::Column* own = profile.column(metric.id, profile::Direction::Backward)) {
            backward[metricKey(metric)] = valuesOf(*own, scope);
        }
    }
    if (choice == MetricChoice::All) {
        node["backward"] = std::move(backward);
    }
    const bool isWhole = isKnownBelow(profile, "flops", scope) && isKnownBelow(profile, "bytes", scope);
    node["intensity"] = {{"self", intensity(node["flops"]["self"], node["bytes"]["self"])},
                         {"total", isWhole ? intensity(node["flops"]["total"], node["bytes"]["total"]) : ordered_json()}};
    return node;
}

ordered_json trainingDocument(const protocol::TrainingResult& training) {
    return {{"loss", textOrNull(training.loss)},
            {"forward_ns", orNull(training.forwardNs)},
            {"backward_ns", orNull(training.backwardNs)},
            {"optimizer_ns", orNull(training.optimizerNs)},
            {"step_ns", orNull(training.stepNs)},
            {"node_sum_ns", orNull(training.nodeSumNs)},
            {"summation_ns", orNull(training.summationNs)},
            {"backward_flops", orNull(training.flops)},
            {"peak_bytes", orNull(training.peakBytes)},
            {"step_peak_bytes", orNull(training.stepPeakBytes)},
            {"gradient_bytes", orNull(training.gradientBytes)},
            {"optimizer", textOrNull(training.optimizer)},
            {"optimizer_state_bytes", orNull(training.optimizerStateBytes)},
            {"optimizer_state_formula", textOrNull(training.optimizerStateFormula)},
            {"backward_samples_ns", training.backwardSamplesNs},
            {"step_samples_ns", training.stepSamplesNs},
            {"coverage", {{"counted", training.counted}, {"zero", training.zero}, {"unknown", training.unknown}}},
            {"reasons", training.reasons}};
}

} // namespace

std::string versionAddress(const registry::VersionSummary& version) {
    return registry::formatVersionAddress(version.model, version.module, version.number);
}

std::string metricKey(const profile::Metric& metric) {
    if (metric.id == "parameters") {
        return "parameter_bytes";
    }
    if (metric.unit == "ns" || (metric.unit == "bytes" && metric.id != "bytes")) {
        return metric.id + '_' + metric.unit;
    }
    return metric.id;
}

ordered_json versionDocument(const registry::VersionSummary& version) {
    return {{"id", version.id},
            {"address", versionAddress(version)},
            {"model", version.model},
            {"module", version.module},
            {"class", version.className},
            {"version", version.number},
            {"tags", version.tags},
            {"aliases", version.aliases},
            {"attributes", attributesDocument(version.attributes)},
            {"program", textOrNull(version.program)},
            {"no_program_reason", textOrNull(version.noProgramReason)},
            {"created", version.created},
            {"imported", version.imported},
            {"device", version.device},
            {"torch", version.torchVersion},
            {"parameter_bytes", version.parameterBytes},
            {"call_count", version.callCount},
            {"verdict", textOrNull(version.verdict)},
            {"exact", version.verdict.empty() ? ordered_json() : ordered_json(version.exact)},
            {"latency_ns", orNull(version.latencyNs)},
            {"flops", orNull(version.flops)},
            {"bytes_moved", orNull(version.bytesMoved)},
            {"activation_bytes", orNull(version.activationBytes)},
            {"peak_bytes", orNull(version.peakBytes)}};
}

ordered_json validationDocument(const ValidationReport& report) {
    ordered_json leaves = ordered_json::array();
    for (const protocol::LeafResult& leaf : report.leaves) {
        leaves.push_back(leafDocument(leaf));
    }
    return {{"verdict", report.verdict},
            {"exact", report.exact},
            {"engine", report.engine},
            {"max_abs_diff", orNull(report.maxAbsDiff)},
            {"sentence", verdictSentence(report)},
            {"reason", textOrNull(report.reason)},
            {"gradients", textOrNull(report.gradientVerdict)},
            {"threads", report.threads > 0 ? ordered_json(report.threads) : ordered_json()},
            {"id", report.version.id},
            {"address", versionAddress(report.version)},
            {"class", report.version.className},
            {"result", textOrNull(report.resultId)},
            {"repeats", repeatsDocument(report.repeats)},
            {"oracle", oracleDocument(report.oracle)},
            {"leaves", std::move(leaves)}};
}

namespace {

ordered_json differencesDocument(const std::vector<protocol::SourceDifference>& differences) {
    ordered_json list = ordered_json::array();
    for (const protocol::SourceDifference& difference : differences) {
        list.push_back({{"class", difference.className}, {"difference", difference.difference}});
    }
    return list;
}

} // namespace

ordered_json rebuildDocument(const RebuildReport& report) {
    ordered_json outputs = ordered_json::array();
    for (const protocol::OutputTensor& output : report.outputs) {
        outputs.push_back({{"pointer", output.pointer}, {"dtype", output.dtype}, {"shape", output.shape}});
    }
    return {{"id", report.version.id},
            {"address", versionAddress(report.version)},
            {"class", report.version.className},
            {"engine", report.engine},
            {"how", report.how},
            {"load_ns", report.loadNs},
            {"run_ns", report.hostNs},
            {"operators", report.operatorCount},
            {"sentence", rebuildSentence(report)},
            {"reasons", report.reasons},
            {"differences", differencesDocument(report.differences)},
            {"outputs", std::move(outputs)}};
}

namespace {

/// The machine's measured peaks, from the profile's facts; null when they were not measured.
ordered_json peaksDocument(const ProfileReport& report) {
    const std::string prefix = "peak_flops_per_second.";
    ordered_json peaks;
    if (report.profile == nullptr) {
        return peaks;
    }
    for (const auto& [key, value] : report.profile->facts()) {
        const long long number = std::strtoll(value.c_str(), nullptr, 10);
        if (key == "peak_bytes_per_second") {
            peaks["bytes_per_second"] = number;
        } else if (key.starts_with(prefix)) {
            peaks["flops_per_second"][key.substr(prefix.size())] = number;
        }
    }
    return peaks;
}

} // namespace

ordered_json profileDocument(const ProfileReport& report) {
    const protocol::ProfileResult& result = report.result;
    ordered_json document = {{"id", report.version.id},
                             {"address", versionAddress(report.version)},
                             {"class", report.version.className},
                             {"engine", report.engine},
                             {"device", report.device},
                             {"threads", report.threads},
                             {"sentence", profileSentence(report)},
                             {"totals",
                              {{"latency_ns", orNull(result.latencyNs)},
                               {"flops", orNull(result.flops)},
                               {"parameter_bytes", orNull(result.parameterBytes)},
                               {"activation_bytes", orNull(result.activationBytes)},
                               {"peak_bytes", orNull(result.peakBytes)}}},
                             {"reasons", result.reasons},
                             {"operator_sum_ns", orNull(result.operatorSumNs)},
                             {"timed_run_ns", orNull(result.timedRunNs)},
                             {"samples_ns", result.samplesNs},
                             {"peaks", peaksDocument(report)},
                             {"coverage", {{"counted", result.counted}, {"zero", result.zero}, {"unknown", result.unknown}}},
                             {"training", result.training ? trainingDocument(*result.training) : ordered_json()},
                             {"result", textOrNull(report.resultId)}};
    if (result.costs) {
        addCosts(document, *result.costs, result.flops);
    }
    return document;
}

ordered_json heaviestNodes(const profile::Profile& profile, std::size_t limit) {
    std::vector<profile::ScopeId> order(static_cast<std::size_t>(profile.scopeCount()));
    std::iota(order.begin(), order.end(), 0);
    const profile::Column* forward = profile.column("latency", profile::Direction::Forward);
    const profile::Column* backward = profile.column("latency", profile::Direction::Backward);
    const std::size_t count = std::min(limit, order.size());
    // What is not known comes last.
    const auto weight = [&](profile::ScopeId scope) {
        const auto part = [&](const profile::Column* column) {
            return column == nullptr ? profile::kUnknown : column->self[static_cast<std::size_t>(scope)];
        };
        const std::int64_t own = part(forward);
        const std::int64_t other = part(backward);
        return own == profile::kUnknown ? other : own + std::max<std::int64_t>(other, 0);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](profile::ScopeId left, profile::ScopeId right) { return weight(left) > weight(right); });
    order.resize(count);
    return nodesOf(profile, order);
}

ordered_json nodesOf(const profile::Profile& profile, const std::vector<profile::ScopeId>& scopes, MetricChoice metrics) {
    ordered_json nodes = ordered_json::array();
    for (const profile::ScopeId scope : scopes) {
        nodes.push_back(nodeDocument(profile, scope, metrics));
    }
    return nodes;
}

ordered_json allNodes(const profile::Profile& profile) {
    std::vector<profile::ScopeId> order(static_cast<std::size_t>(profile.scopeCount()));
    std::iota(order.begin(), order.end(), 0);
    return nodesOf(profile, order);
}

ordered_json importDocument(const registry::ImportReport& report) {
    ordered_json bundles = ordered_json::array();
    for (const std::filesystem::path& bundle : report.bundles) {
        bundles.push_back(bundle.string());
    }
    ordered_json versions = ordered_json::array();
    for (const registry::VersionSummary& version : report.versions) {
        versions.push_back({{"id", version.id}, {"address", versionAddress(version)}, {"class", version.className}});
    }
    return {{"sentence", importSentence(report)},     {"bundles", std::move(bundles)},  {"versions_new", report.versionsNew},
            {"versions_known", report.versionsKnown}, {"runs_new", report.runsNew},     {"bytes_read", report.bytesRead},
            {"bytes_stored", report.bytesStored},     {"versions", std::move(versions)}};
}

} // namespace modulelens::operations
