// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "app/cli/Runner.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/protocol/ErrorTable.h"

#include <algorithm>
#include <array>
#include <map>

namespace modulelens::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kNodesShown = 50;

int exitCodeOf(const std::string& verdict) {
    return verdict == "pass" ? 0 : protocol::kExitMismatch;
}

std::string numberText(const std::optional<double>& value) {
    if (!value) {
        return "-";
    }
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", *value);
    return text;
}

std::string validationText(const operations::ValidationReport& report) {
    std::vector<std::vector<std::string>> rows = {{"OUTPUT", "DTYPE", "VERDICT", "MAX ABS DIFF", "MISMATCHED"}};
    for (const protocol::LeafResult& leaf : report.leaves) {
        rows.push_back({leaf.pointer, leaf.dtype, leaf.verdict, numberText(leaf.maxAbsDiff),
                        std::to_string(leaf.mismatched) + '/' + std::to_string(leaf.elements)});
    }
    return operations::versionAddress(report.version) + ": " + operations::verdictSentence(report) + '\n' +
           (report.leaves.empty() ? std::string() : formatTable(rows, {3, 4}));
}

/// One of several validated versions.
struct BatchItem {
    std::string address;
    base::Result<operations::ValidationReport> report;
};

/// The worst verdict of a batch; an error counts as "error".
std::string overallVerdict(const std::map<std::string, int>& counts) {
    static constexpr std::array kWorstFirst = {"error", "fail", "not_comparable", "no_program"};
    for (const char* verdict : kWorstFirst) {
        if (const auto found = counts.find(verdict); found != counts.end() && found->second > 0) {
            return verdict;
        }
    }
    return "pass";
}

Answer batchAnswer(const std::vector<BatchItem>& items, CommandContext& context) {
    std::map<std::string, int> counts;
    ordered_json results = ordered_json::array();
    std::vector<std::vector<std::string>> rows = {{"VERSION", "VERDICT", ""}};
    bool allExact = true;
    int errorExit = 0;
    for (const BatchItem& item : items) {
        if (!item.report) {
            const base::Error& error = item.report.error();
            ++counts["error"];
            errorExit = std::max(errorExit, protocol::exitCode(error.code));
            allExact = false;
            results.push_back({{"address", item.address},
                               {"verdict", nullptr},
                               {"error", {{"code", base::errorCodeName(error.code)}, {"message", error.message}}}});
            rows.push_back({item.address, "error", operations::errorSentence(error)});
            continue;
        }
        ++counts[item.report->verdict];
        allExact = allExact && item.report->exact;
        results.push_back(operations::validationDocument(*item.report));
        rows.push_back({item.address, item.report->verdict, operations::verdictSentence(*item.report)});
        for (const std::string& warning : item.report->warnings) {
            // The environment is the same for all of them; say it once.
            if (std::find(context.warnings().begin(), context.warnings().end(), warning) == context.warnings().end()) {
                context.warn(warning);
            }
        }
    }
    Answer answer;
    const std::string verdict = overallVerdict(counts);
    ordered_json countDocument = ordered_json::object();
    for (const char* name : {"pass", "fail", "not_comparable", "no_program", "error"}) {
        countDocument[name] = counts[name];
    }
    answer.data = {{"verdict", verdict},
                   {"exact", verdict == "pass" && allExact},
                   {"total", items.size()},
                   {"counts", std::move(countDocument)},
                   {"results", std::move(results)}};
    answer.text = items.empty() ? std::string() : formatTable(rows, {});
    answer.text += std::to_string(counts["pass"]) + " of " +
                   operations::countText(static_cast<std::int64_t>(items.size()), "version", "versions") + " passed\n";
    answer.exitCode = verdict == "error" ? errorExit : exitCodeOf(verdict);
    return answer;
}

/// Addresses of every version that the query finds.
base::Result<std::vector<std::string>> findAll(registry::Registry& registry, const std::string& query) {
    std::vector<std::string> found;
    registry::SearchRequest request;
    request.query = query;
    request.limit = 1000;
    request.sort = registry::SortKey::Name;
    do {
        const base::Result<registry::SearchPage> page = registry.search(request);
        if (!page) {
            return page.error();
        }
        for (const registry::VersionSummary& version : page->versions) {
            found.push_back(operations::versionAddress(version));
        }
        request.cursor = page->nextCursor;
    } while (!request.cursor.empty());
    return found;
}

/// Errors after which going on with the next version makes no sense.
bool endsBatch(base::ErrorCode code) {
    return code == base::ErrorCode::Cancelled || code == base::ErrorCode::Timeout ||
           code == base::ErrorCode::EnvironmentMissing;
}

base::Result<Answer> validateBatch(CommandContext& context, Runner& runner, const std::vector<std::string>& addresses) {
    std::vector<BatchItem> items;
    for (const std::string& address : addresses) {
        items.push_back({address, runner.operations->validate(address, runner.settings, runner.context)});
        const base::Result<operations::ValidationReport>& report = items.back().report;
        if (!report && endsBatch(report.error().code)) {
            return report.error();
        }
        if (context.stop().stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled, "'validate' was cancelled", {}};
        }
    }
    return batchAnswer(items, context);
}

} // namespace

base::Result<Answer> rebuild(CommandContext& context) {
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    const auto report = runner->operations->rebuild(runner->address, runner->settings, runner->context);
    if (!report) {
        return report.error();
    }
    for (const std::string& warning : report->warnings) {
        context.warn(warning);
    }
    Answer answer;
    answer.data = operations::rebuildDocument(*report);
    answer.text = operations::versionAddress(report->version) + ": " + operations::rebuildSentence(*report) + '\n';
    std::vector<std::vector<std::string>> rows = {{"OUTPUT", "DTYPE", "SHAPE"}};
    for (const protocol::OutputTensor& output : report->outputs) {
        rows.push_back({output.pointer, output.dtype, nlohmann::json(output.shape).dump()});
    }
    answer.text += formatTable(rows, {});
    return answer;
}

base::Result<Answer> validate(CommandContext& context) {
    const std::vector<std::string>& addresses = context.arguments().positionals();
    const bool isQuery = context.arguments().has("query");
    if (addresses.empty() != isQuery) {
        return base::Error{base::ErrorCode::InvalidArgument, "'validate' takes versions or --query, one of the two",
                           "See modulelens validate --help."};
    }
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    if (isQuery) {
        const base::Result<std::vector<std::string>> found = findAll(*runner->registry, context.arguments().text("query"));
        return found ? validateBatch(context, *runner, *found) : base::Result<Answer>(found.error());
    }
    if (addresses.size() > 1) {
        return validateBatch(context, *runner, addresses);
    }
    const auto report = runner->operations->validate(runner->address, runner->settings, runner->context);
    if (!report) {
        return report.error();
    }
    for (const std::string& warning : report->warnings) {
        context.warn(warning);
    }
    Answer answer;
    answer.data = operations::validationDocument(*report);
    answer.text = validationText(*report);
    answer.exitCode = exitCodeOf(report->verdict);
    return answer;
}

namespace {

std::string known(const std::optional<std::int64_t>& value, std::string (*format)(std::int64_t)) {
    return value ? format(*value) : "unknown";
}

std::string nodeMetric(const ordered_json& node, const char* key, const char* part, std::string (*format)(std::int64_t)) {
    const ordered_json& value = node[key][part];
    return value.is_null() ? "-" : format(value.get<std::int64_t>());
}

std::string profileText(const operations::ProfileReport& report, const ordered_json& nodes) {
    const protocol::ProfileResult& result = report.result;
    std::string text = operations::versionAddress(report.version) + " on " + report.device + ", " +
                       operations::countText(report.threads, "thread", "threads") + '\n';
    text += formatTable({{"Latency", known(result.latencyNs, operations::durationText)},
                         {"FLOPs", (result.unknown.empty() ? "" : "at least ") + known(result.flops, operations::flopsText)},
                         {"Parameters", known(result.parameterBytes, operations::bytesText)},
                         {"Saved for backward", known(result.activationBytes, operations::bytesText)},
                         {"Peak memory", known(result.peakBytes, operations::bytesText)}},
                        {});
    std::vector<std::vector<std::string>> rows = {{"SELF", "TOTAL", "FLOPS", "MODULE", "OPERATOR OR CLASS"}};
    for (const ordered_json& node : nodes) {
        const std::string path = node["path"].get<std::string>();
        const bool isModule = node["kind"] == "module";
        rows.push_back(
            {nodeMetric(node, "latency_ns", "self", operations::durationText),
             nodeMetric(node, "latency_ns", "total", operations::durationText),
             nodeMetric(node, "flops", "total", operations::flopsText), path.empty() ? "(module itself)" : path,
             isModule && node["class"].is_string() ? node["class"].get<std::string>() : node["name"].get<std::string>()});
    }
    text += formatTable(rows, {0, 1, 2});
    for (const auto& [metric, reason] : result.reasons) {
        text += metric + " is unknown: " + reason + '\n';
    }
    return text;
}

} // namespace

base::Result<Answer> profileVersion(CommandContext& context) {
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    const auto report = runner->operations->profile(runner->address, runner->settings, runner->context);
    if (!report) {
        return report.error();
    }
    for (const std::string& warning : report->warnings) {
        context.warn(warning);
    }
    const auto total = static_cast<std::size_t>(report->profile->scopeCount());
    const std::size_t limit = context.arguments().has("all") ? total : kNodesShown;
    Answer answer;
    answer.data = operations::profileDocument(*report);
    answer.data["nodes_total"] = total;
    answer.data["nodes"] = operations::heaviestNodes(*report->profile, limit);
    answer.text = profileText(*report, answer.data["nodes"]);
    return answer;
}

} // namespace modulelens::cli
