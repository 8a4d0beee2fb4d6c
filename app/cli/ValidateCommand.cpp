// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "app/cli/Runner.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/ValidationOrder.h"
#include "backend/protocol/ErrorTable.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

namespace modulelens::cli {

namespace {

using nlohmann::ordered_json;

constexpr int kMostRepeats = 1000;

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

std::string indexText(const std::vector<std::int64_t>& index) {
    return index.empty() ? "-" : nlohmann::json(index).dump();
}

std::string repeatsText(const protocol::RepeatResult& repeats) {
    std::string text = "Repeated " + operations::countText(repeats.runs, "time", "times") + ": ";
    if (repeats.isStochastic) {
        text += "draws random numbers, and the generator's state was not captured";
    } else {
        text += repeats.isNondeterministic ? "nondeterministic, spread " + numberText(repeats.spread) : "always the same bits";
    }
    if (repeats.referenceRuns > 1) {
        text += "; " + operations::countText(repeats.referenceRuns, "captured call", "captured calls") +
                " with these inputs, spread " + numberText(repeats.referenceSpread);
    }
    return text + '\n';
}

std::string oracleText(const operations::ValidationReport& report) {
    const protocol::OracleResult& oracle = *report.oracle;
    if (oracle.verdict.empty()) {
        return "Against " + oracle.dtype + ": unknown, " + oracle.reason + '\n';
    }
    std::string text = "Against " + oracle.dtype + ": " + oracle.verdict + '\n';
    for (const protocol::LeafResult& leaf : report.leaves) {
        const std::optional<protocol::OracleLeaf>& one = leaf.statistics.oracle;
        if (one && !one->verdict.empty()) {
            text += "  " + leaf.pointer + ": error here " + numberText(one->errorOurs) + ", captured " +
                    numberText(one->errorCaptured) + ", allowed " + numberText(one->bound) + '\n';
        }
    }
    return text;
}

std::string validationText(const operations::ValidationReport& report) {
    std::vector<std::vector<std::string>> rows = {
        {"OUTPUT", "DTYPE", "VERDICT", "MAX ABS DIFF", "MAX REL DIFF", "ULP", "COSINE", "MISMATCHED", "FIRST BAD"}};
    for (const protocol::LeafResult& leaf : report.leaves) {
        const protocol::LeafStatistics& statistics = leaf.statistics;
        rows.push_back({leaf.pointer, leaf.dtype, leaf.verdict, numberText(leaf.maxAbsDiff), numberText(leaf.maxRelDiff),
                        statistics.maxUlp ? std::to_string(*statistics.maxUlp) : "-", numberText(statistics.cosine),
                        std::to_string(leaf.mismatched) + '/' + std::to_string(leaf.elements),
                        indexText(statistics.firstBadIndex)});
    }
    std::string text = operations::versionAddress(report.version) + ": " + operations::verdictSentence(report) + '\n';
    text += report.leaves.empty() ? std::string() : formatTable(rows, {3, 4, 5, 6, 7, 8});
    for (const protocol::LeafResult& leaf : report.leaves) {
        if (leaf.verdict == "fail" || leaf.verdict == "not_comparable") {
            text += leaf.pointer + ": " + leaf.reason + '\n';
        }
    }
    text += report.repeats ? repeatsText(*report.repeats) : std::string();
    text += report.oracle ? oracleText(report) : std::string();
    return text;
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

/// Where a batch first differs, in the order in which its modules ran when they were captured; null when nothing does.
ordered_json firstWhere(const std::vector<BatchItem>& items, const std::vector<std::size_t>& order,
                        const std::function<bool(const protocol::LeafResult&)>& differs) {
    for (std::size_t position = 0; position < order.size(); ++position) {
        const BatchItem& item = items[order[position]];
        if (!item.report) {
            continue;
        }
        for (const protocol::LeafResult& leaf : item.report->leaves) {
            if (differs(leaf)) {
                const std::optional<double>& difference = leaf.maxAbsDiff;
                return {{"address", operations::versionAddress(item.report->version)},
                        {"id", item.report->version.id},
                        {"module", item.report->version.module},
                        {"class", item.report->version.className},
                        {"pointer", leaf.pointer},
                        {"verdict", leaf.verdict},
                        {"max_abs_diff", difference ? ordered_json(*difference) : ordered_json()},
                        {"position", position}};
            }
        }
    }
    return {};
}

/// Indices of `items` in the order in which their modules ran; the given order when the registry cannot tell.
std::vector<std::size_t> orderOf(const std::vector<BatchItem>& items, CommandContext& context, registry::Registry& registry) {
    std::vector<registry::VersionSummary> versions;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].report) {
            versions.push_back(items[i].report->version);
            indices.push_back(i);
        }
    }
    const base::Result<std::vector<std::size_t>> order = operations::executionOrder(registry, versions);
    if (!order) {
        context.warn("The order of execution is unknown: " + order.error().message);
        return indices;
    }
    std::vector<std::size_t> ordered;
    ordered.reserve(order->size());
    for (const std::size_t place : *order) {
        ordered.push_back(indices[place]);
    }
    return ordered;
}

Answer batchAnswer(const std::vector<BatchItem>& items, CommandContext& context, registry::Registry& registry) {
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
    const std::vector<std::size_t> order = orderOf(items, context, registry);
    const ordered_json drift =
        firstWhere(items, order, [](const protocol::LeafResult& leaf) { return leaf.verdict == "fail"; });
    const ordered_json difference = firstWhere(
        items, order, [](const protocol::LeafResult& leaf) { return leaf.verdict == "fail" || leaf.verdict == "close"; });
    const std::string verdict = overallVerdict(counts);
    ordered_json countDocument = ordered_json::object();
    for (const char* name : {"pass", "fail", "not_comparable", "no_program", "error"}) {
        countDocument[name] = counts[name];
    }
    answer.data = {{"verdict", verdict},           {"exact", verdict == "pass" && allExact},
                   {"total", items.size()},        {"counts", std::move(countDocument)},
                   {"first_drift", drift},         {"first_difference", difference},
                   {"results", std::move(results)}};
    answer.text = items.empty() ? std::string() : formatTable(rows, {});
    answer.text += std::to_string(counts["pass"]) + " of " +
                   operations::countText(static_cast<std::int64_t>(items.size()), "version", "versions") + " passed\n";
    if (!drift.is_null()) {
        answer.text += "Drifts first, in the order of execution: " + drift["address"].get<std::string>() + " at " +
                       drift["pointer"].get<std::string>() + '\n';
    } else if (!difference.is_null()) {
        answer.text += "Bits differ first, in the order of execution: " + difference["address"].get<std::string>() + " at " +
                       difference["pointer"].get<std::string>() + '\n';
    }
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
    return batchAnswer(items, context, *runner.registry);
}

} // namespace

base::Result<Answer> validate(CommandContext& context) {
    const std::vector<std::string>& addresses = context.arguments().positionals();
    const bool isQuery = context.arguments().has("query");
    const bool isWholeRun = context.arguments().has("all");
    if (isWholeRun && (isQuery || addresses.size() != 1)) {
        return base::Error{base::ErrorCode::InvalidArgument, "'validate --all' takes one version, at the top of what it runs",
                           "See modulelens validate --help."};
    }
    if (addresses.empty() != isQuery) {
        return base::Error{base::ErrorCode::InvalidArgument, "'validate' takes versions or --query, one of the two",
                           "See modulelens validate --help."};
    }
    base::Result<Runner> runner = makeRunner(context);
    if (!runner) {
        return runner.error();
    }
    const base::Result<std::optional<int>> repeats = context.arguments().integer("repeats", 1, kMostRepeats);
    if (!repeats) {
        return repeats.error();
    }
    runner->settings.repeats = *repeats;
    runner->settings.wantsOracle = context.arguments().has("oracle");
    runner->settings.backward = context.arguments().has("backward");
    if (isWholeRun) {
        const auto versions = operations::versionsOfRun(*runner->registry, runner->address);
        if (!versions) {
            return versions.error();
        }
        std::vector<std::string> found;
        for (const registry::VersionSummary& version : *versions) {
            found.push_back(operations::versionAddress(version));
        }
        return validateBatch(context, *runner, found);
    }
    if (isQuery) {
        const base::Result<std::vector<std::string>> found = findAll(*runner->registry, context.arguments().text("query"));
        if (!found) {
            return found.error();
        }
        if (found->empty()) {
            return base::Error{base::ErrorCode::NotFound, "no version matches '" + context.arguments().text("query") + "'",
                               "`modulelens search` shows what a query finds."};
        }
        return validateBatch(context, *runner, *found);
    }
    if (addresses.size() > 1) {
        return validateBatch(context, *runner, addresses);
    }
    const auto report = runner->operations->validate(runner->address, runner->settings, runner->context);
    if (!report) {
        return report.error();
    }
    context.warnAll(report->warnings);
    Answer answer;
    answer.data = operations::validationDocument(*report);
    answer.text = validationText(*report);
    answer.exitCode = exitCodeOf(report->verdict);
    return answer;
}

} // namespace modulelens::cli
