// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"

#include <map>

namespace modulelens::cli {

namespace {

using nlohmann::ordered_json;

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
    std::string text;
    for (const std::string& part : parts) {
        text += (text.empty() ? "" : separator) + part;
    }
    return text;
}

std::string verdictText(const registry::VersionSummary& version) {
    return version.verdict == "pass" && version.exact ? "exact" : version.verdict;
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (const std::int64_t size : shape) {
        text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
    }
    return text + ']';
}

base::Result<registry::SearchRequest> searchRequest(const Arguments& arguments) {
    registry::SearchRequest request;
    request.query = joined(arguments.positionals(), " ");
    const base::Result<std::optional<int>> limit = arguments.integer("limit", 1, 1000);
    if (!limit) {
        return limit.error();
    }
    request.limit = limit->value_or(request.limit);
    request.cursor = arguments.text("cursor");
    if (arguments.has("sort")) {
        const std::optional<registry::SortKey> sort = registry::sortKeyOf(arguments.text("sort"));
        if (!sort) {
            std::string names;
            for (const std::string_view name : registry::sortKeyNames()) {
                names += (names.empty() ? "" : ", ") + std::string(name);
            }
            return base::Error{base::ErrorCode::InvalidArgument, "'" + arguments.text("sort") + "' is no value for --sort",
                               "Give one of " + names + "."};
        }
        request.sort = *sort;
    }
    return request;
}

/// --saved puts a saved search before the query, --save keeps the query or, when it is empty, forgets the name.
base::Result<void> useSavedSearches(registry::Registry& registry, const Arguments& arguments,
                                    registry::SearchRequest& request) {
    if (arguments.has("save")) {
        const std::string name = arguments.text("save");
        return request.query.empty() ? registry.removeSavedSearch(name) : registry.saveSearch({name, request.query});
    }
    if (!arguments.has("saved")) {
        return {};
    }
    const base::Result<std::vector<registry::SavedSearch>> searches = registry.savedSearches();
    if (!searches) {
        return searches.error();
    }
    std::string names;
    for (const registry::SavedSearch& search : *searches) {
        if (search.name == arguments.text("saved")) {
            request.query = search.query + (request.query.empty() ? "" : ' ' + request.query);
            return {};
        }
        names += (names.empty() ? "'" : ", '") + search.name + '\'';
    }
    return base::Error{base::ErrorCode::NotFound, "There is no saved search '" + arguments.text("saved") + "'",
                       names.empty() ? "Save one with --save NAME." : "There are " + names + "."};
}

void addFacets(const std::vector<registry::Facet>& facets, Answer& answer) {
    constexpr std::size_t kShown = 10;
    ordered_json document = ordered_json::object();
    for (const registry::Facet& facet : facets) {
        ordered_json values = ordered_json::array();
        std::string line;
        for (const registry::FacetValue& value : facet.values) {
            values.push_back({{"value", value.value}, {"count", value.count}});
            if (values.size() <= kShown) {
                line += (line.empty() ? "" : ", ") + value.value + " (" + std::to_string(value.count) + ')';
            }
        }
        if (facet.values.size() > kShown) {
            line += " and " + std::to_string(facet.values.size() - kShown) + " more";
        }
        answer.text += facet.field + ": " + (line.empty() ? "none" : line) + '\n';
        document[facet.field] = std::move(values);
    }
    answer.data["facets"] = std::move(document);
}

std::string searchText(const registry::SearchPage& page) {
    std::vector<std::vector<std::string>> rows = {{"VERSION", "CLASS", "PARAMETERS", "LATENCY", "VERDICT", "TAGS"}};
    for (const registry::VersionSummary& version : page.versions) {
        rows.push_back({operations::versionAddress(version), version.className, operations::bytesText(version.parameterBytes),
                        version.latencyNs ? operations::durationText(*version.latencyNs) : "",
                        version.verdict.empty() ? (version.program.empty() ? "no program" : "") : verdictText(version),
                        joined(version.tags, ", ")});
    }
    std::string text = page.versions.empty() ? std::string() : formatTable(rows, {2, 3});
    text += operations::countText(page.total, "version", "versions");
    if (!page.nextCursor.empty()) {
        text += ", " + std::to_string(page.versions.size()) + " shown; next page: --cursor " + page.nextCursor;
    }
    return text + '\n';
}

ordered_json tensorDocuments(const std::vector<capture::LocatedTensor>& tensors) {
    ordered_json list = ordered_json::array();
    for (const capture::LocatedTensor& located : tensors) {
        ordered_json item = {{"pointer", located.pointer},
                             {"dtype", capture::scalarTypeName(located.tensor.dtype)},
                             {"shape", located.tensor.shape},
                             {"digest", nullptr},
                             {"gap", nullptr}};
        if (located.tensor.digest.empty()) {
            item["gap"] = located.tensor.gap;
        } else {
            item["digest"] = located.tensor.digest;
        }
        list.push_back(std::move(item));
    }
    return list;
}

ordered_json callDocument(const capture::CallDocument& call) {
    return {{"training", call.training},
            {"program", call.program.empty() ? ordered_json() : ordered_json(call.program)},
            {"exception", call.exceptionType.empty() ? ordered_json() : ordered_json(call.exceptionType)},
            {"inputs", tensorDocuments(call.inputs)},
            {"outputs", tensorDocuments(call.outputs)}};
}

ordered_json numberOrNull(const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json();
}

ordered_json statisticsDocument(const operations::TensorStatistics& statistics) {
    return {{"pointer", statistics.pointer},
            {"dtype", capture::scalarTypeName(statistics.tensor.dtype)},
            {"shape", statistics.tensor.shape},
            {"elements", statistics.elements},
            {"min", numberOrNull(statistics.minimum)},
            {"max", numberOrNull(statistics.maximum)},
            {"mean", numberOrNull(statistics.mean)},
            {"std", numberOrNull(statistics.standardDeviation)},
            {"nan", statistics.nanCount},
            {"inf", statistics.infiniteCount},
            {"zero", statistics.zeroCount},
            {"histogram", statistics.histogram},
            {"gap", statistics.gap.empty() ? ordered_json() : ordered_json(statistics.gap)}};
}

std::string numberText(const std::optional<double>& value) {
    if (!value) {
        return "-";
    }
    char text[64];
    std::snprintf(text, sizeof text, "%.6g", *value);
    return text;
}

std::string statisticsText(const std::vector<operations::TensorStatistics>& all) {
    std::vector<std::vector<std::string>> rows = {{"TENSOR", "DTYPE", "SHAPE", "MIN", "MAX", "MEAN", "STD", "NAN", "INF"}};
    for (const operations::TensorStatistics& statistics : all) {
        rows.push_back({statistics.pointer, std::string(capture::scalarTypeName(statistics.tensor.dtype)),
                        shapeText(statistics.tensor.shape), numberText(statistics.minimum), numberText(statistics.maximum),
                        numberText(statistics.mean), numberText(statistics.standardDeviation),
                        std::to_string(statistics.nanCount),
                        statistics.gap.empty() ? std::to_string(statistics.infiniteCount) : statistics.gap});
    }
    return formatTable(rows, {3, 4, 5, 6, 7, 8});
}

std::string showText(const registry::VersionSummary& version, const capture::VersionDocument& document) {
    std::vector<std::vector<std::string>> rows = {
        {"Version", operations::versionAddress(version)},
        {"Id", version.id},
        {"Class", version.className},
        {"Captured", version.created + " on " + version.device + " with torch " + version.torchVersion},
        {"Program", version.program.empty() ? "none: " + version.noProgramReason : version.program},
        {"Parameters", operations::bytesText(version.parameterBytes) + " in " +
                           operations::countText(static_cast<std::int64_t>(document.stateTensors.size()), "tensor", "tensors")},
        {"Validation", version.verdict.empty() ? "not validated" : verdictText(version)},
        {"Latency", version.latencyNs ? operations::durationText(*version.latencyNs) : "not profiled"},
        {"Tags", version.tags.empty() ? "-" : joined(version.tags, ", ")},
        {"Aliases", version.aliases.empty() ? "-" : joined(version.aliases, ", ")},
        {"Attributes", operations::attributesText(version.attributes)},
    };
    std::string text = formatTable(rows, {});
    for (std::size_t i = 0; i < document.calls.size(); ++i) {
        std::vector<std::vector<std::string>> tensors;
        for (const auto* list : {&document.calls[i].inputs, &document.calls[i].outputs}) {
            for (const capture::LocatedTensor& located : *list) {
                tensors.push_back({"  " + located.pointer, std::string(capture::scalarTypeName(located.tensor.dtype)),
                                   shapeText(located.tensor.shape), located.tensor.digest.empty() ? "not captured" : ""});
            }
        }
        text += "Call " + std::to_string(i) + (document.calls[i].training ? " (training)\n" : "\n") + formatTable(tensors, {});
    }
    return text;
}

/// A stored validation or profile in short. Damaged ones have no figures.
ordered_json resultDocument(const registry::StoredResult& result) {
    const nlohmann::json stored = nlohmann::json::parse(result.json, nullptr, false);
    const auto figure = [&](const char* pointer) {
        const nlohmann::json::json_pointer place(pointer);
        return stored.is_object() && stored.contains(place) ? ordered_json(stored.at(place)) : ordered_json();
    };
    return {{"id", result.id},
            {"kind", result.kind},
            {"created", result.created},
            {"device", result.device},
            {"engine", result.engine},
            {"verdict", figure("/verdict")},
            {"exact", figure("/exact")},
            {"max_abs_diff", figure("/max_abs_diff")},
            {"latency_ns", figure("/totals/latency_ns")}};
}

std::string resultsText(const ordered_json& results) {
    std::vector<std::vector<std::string>> rows = {{"DATE", "RESULT", "DEVICE", ""}};
    for (const ordered_json& result : results) {
        std::string outcome = result["verdict"].is_string() ? result["verdict"].get<std::string>() : "";
        if (result["exact"] == true) {
            outcome = "exact";
        }
        if (result["latency_ns"].is_number()) {
            outcome = operations::durationText(result["latency_ns"].get<std::int64_t>());
        }
        rows.push_back({result["created"].get<std::string>(), result["kind"].get<std::string>(),
                        result["device"].get<std::string>(), outcome});
    }
    return rows.size() > 1 ? '\n' + formatTable(rows, {}) : std::string();
}

/// Source of the class, and where it came from.
base::Result<std::string> classSource(registry::Registry& registry, const capture::VersionDocument& document) {
    const base::Result<capture::NodeDocument> node = registry.node(document.stateDigest);
    if (!node) {
        return node.error();
    }
    if (node->source.empty()) {
        return base::Error{base::ErrorCode::NotFound, "the source of '" + document.className + "' was not captured", {}};
    }
    return registry.source(node->source);
}

} // namespace

base::Result<Answer> search(CommandContext& context) {
    base::Result<registry::SearchRequest> request = searchRequest(context.arguments());
    if (!request) {
        return request.error();
    }
    const bool isSaving = context.arguments().has("save");
    const auto registry = context.openAnyRegistry(isSaving ? Access::Writing : Access::Reading);
    if (!registry) {
        return registry.error();
    }
    base::Result<void> saved = useSavedSearches(**registry, context.arguments(), *request);
    if (!saved) {
        return saved.error();
    }
    const base::Result<registry::SearchPage> page = (*registry)->search(*request);
    if (!page) {
        return page.error();
    }
    Answer answer;
    ordered_json versions = ordered_json::array();
    for (const registry::VersionSummary& version : page->versions) {
        versions.push_back(operations::versionDocument(version));
    }
    answer.data = {{"total", page->total},
                   {"next_cursor", page->nextCursor.empty() ? ordered_json() : ordered_json(page->nextCursor)},
                   {"versions", std::move(versions)}};
    answer.text = searchText(*page);
    if (context.arguments().has("facets")) {
        const base::Result<std::vector<registry::Facet>> facets =
            (*registry)->facets({"model", "class", "tag", "device", "dtype"}, request->query);
        if (!facets) {
            return facets.error();
        }
        addFacets(*facets, answer);
    }
    return answer;
}

namespace {

/// The note and where the version comes from; null in a registry that keeps no such thing.
void addLineage(registry::Registry& registry, const std::string& id, Answer& answer) {
    const base::Result<std::string> note = registry.note(id);
    answer.data["note"] = note && !note->empty() ? ordered_json(*note) : ordered_json();
    if (note && !note->empty()) {
        answer.text += "\n" + *note + "\n";
    }
    const base::Result<std::vector<registry::LineageLink>> links = registry.links(id);
    ordered_json list;
    if (links) {
        list = ordered_json::array();
        for (const registry::LineageLink& link : *links) {
            list.push_back({{"kind", registry::linkKindName(link.kind)},
                            {"incoming", link.incoming},
                            {"id", link.otherId},
                            {"address", link.otherAddress}});
        }
    }
    answer.data["links"] = std::move(list);
}

} // namespace

base::Result<Answer> show(CommandContext& context) {
    const base::Result<operations::RunSettings> settings = context.runSettings();
    const base::Result<operations::OperationContext> operation = context.operationContext();
    if (!settings || !operation) {
        return settings ? operation.error() : settings.error();
    }
    const auto registry = context.openAnyRegistry(Access::Reading);
    if (!registry) {
        return registry.error();
    }
    const base::Result<registry::VersionSummary> version = (*registry)->resolve(context.arguments().positionals().front());
    if (!version) {
        return version.error();
    }
    const base::Result<capture::VersionDocument> document = (*registry)->versionDocument(version->id);
    if (!document) {
        return document.error();
    }
    Answer answer;
    answer.data = operations::versionDocument(*version);
    ordered_json calls = ordered_json::array();
    for (const capture::CallDocument& call : document->calls) {
        calls.push_back(callDocument(call));
    }
    answer.data["calls"] = std::move(calls);
    answer.data["environment"] = *document->environment;
    const auto results = (*registry)->results(version->id, "");
    if (!results) {
        return results.error();
    }
    ordered_json stored = ordered_json::array();
    for (const registry::StoredResult& result : *results) {
        stored.push_back(resultDocument(result));
    }
    answer.text = showText(*version, *document) + resultsText(stored);
    answer.data["results"] = std::move(stored);
    addLineage(**registry, version->id, answer);
    if (context.arguments().has("tensors")) {
        operations::Operations operations(*registry, {});
        const auto statistics = operations.tensorStatistics(version->id, settings->call, *operation);
        if (!statistics) {
            return statistics.error();
        }
        ordered_json list = ordered_json::array();
        for (const operations::TensorStatistics& item : *statistics) {
            list.push_back(statisticsDocument(item));
        }
        answer.data["tensors"] = std::move(list);
        answer.text += statisticsText(*statistics);
    }
    if (context.arguments().has("source")) {
        const base::Result<std::string> source = classSource(**registry, *document);
        if (!source) {
            return source.error();
        }
        answer.data["source"] = *source;
        answer.text += '\n' + *source + (source->ends_with('\n') ? "" : "\n");
    }
    return answer;
}

namespace {

std::string metricText(const profile::Profile& profile, const char* metric, profile::ScopeId scope,
                       std::string (*format)(std::int64_t)) {
    const profile::Column* column = profile.column(metric, profile::Direction::Forward);
    if (column == nullptr || column->total[static_cast<std::size_t>(scope)] == profile::kUnknown) {
        return "-";
    }
    return format(column->total[static_cast<std::size_t>(scope)]);
}

bool isShown(const profile::Profile& profile, profile::ScopeId scope, int depth, bool withOperators) {
    return profile.depth(scope) <= depth && (withOperators || profile.kind(scope) == profile::ScopeKind::Module);
}

} // namespace

base::Result<Answer> tree(CommandContext& context) {
    const base::Result<std::optional<int>> depth = context.arguments().integer("depth", 0);
    if (!depth) {
        return depth.error();
    }
    const auto registry = context.openAnyRegistry(Access::Reading);
    if (!registry) {
        return registry.error();
    }
    operations::Operations operations(*registry, {});
    const std::string address = context.arguments().positionals().front();
    const base::Result<registry::VersionSummary> version = (*registry)->resolve(address);
    if (!version) {
        return version.error();
    }
    const auto read = operations.staticProfile(version->id);
    if (!read) {
        return read.error();
    }
    const profile::Profile& profile = **read;
    const bool withOperators = context.arguments().has("operators");
    const int deepest = depth->value_or(std::numeric_limits<int>::max());
    Answer answer;
    ordered_json nodes = ordered_json::array();
    std::vector<std::vector<std::string>> rows = {{"MODULE", "CLASS", "FLOPS", "PARAMETERS", "TRACED TIME"}};
    for (const ordered_json& node : operations::allNodes(profile)) {
        const auto scope = node["id"].get<profile::ScopeId>();
        if (!isShown(profile, scope, deepest, withOperators)) {
            continue;
        }
        nodes.push_back(node);
        std::string name(static_cast<std::size_t>(profile.depth(scope)) * 2, ' ');
        name += profile.name(scope);
        rows.push_back({name, std::string(profile.className(scope)), metricText(profile, "flops", scope, operations::flopsText),
                        metricText(profile, "parameters", scope, operations::bytesText),
                        metricText(profile, "latency", scope, operations::durationText)});
    }
    const profile::CoverageLists& coverage = profile.coverage();
    answer.data = {{"id", version->id},
                   {"address", operations::versionAddress(*version)},
                   {"nodes_total", profile.scopeCount()},
                   {"coverage", {{"counted", coverage.counted}, {"zero", coverage.zero}, {"unknown", coverage.unknown}}},
                   {"nodes", std::move(nodes)}};
    answer.text = formatTable(rows, {2, 3, 4});
    if (!coverage.unknown.empty()) {
        answer.text += "FLOPs are a lower bound: nothing is known of " + joined(coverage.unknown, ", ") + ".\n";
    }
    return answer;
}

} // namespace modulelens::cli
