// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/QueryMatch.h"

#include "backend/registry/NameFolding.h"
#include "backend/registry/Timestamp.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace modulelens::wandb {

namespace {

using nlohmann::json;
using registry::QueryComparison;
using registry::QueryField;
using registry::QueryTerm;

bool contains(const std::string& name, const std::string& text) {
    return registry::foldCase(name).find(registry::foldCase(text)) != std::string::npos;
}

bool isSame(const std::string& name, const std::string& text) {
    return registry::foldCase(name) == registry::foldCase(text);
}

bool nameHolds(const QueryTerm& term, const std::string& name) {
    return term.comparison == QueryComparison::Equal ? name == term.text : contains(name, term.text);
}

bool isAmong(const std::vector<std::string>& names, const std::string& text) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return isSame(name, text); });
}

bool compares(double value, QueryComparison comparison, double wanted) {
    switch (comparison) {
        case QueryComparison::Less:
            return value < wanted;
        case QueryComparison::LessEqual:
            return value <= wanted;
        case QueryComparison::Greater:
            return value > wanted;
        case QueryComparison::GreaterEqual:
            return value >= wanted;
        default:
            return value == wanted;
    }
}

/// Nothing: it is not known.
std::optional<bool> createdHolds(const QueryTerm& term, const std::string& created) {
    const auto span = registry::parseTimeSpan(created);
    if (!span) {
        return std::nullopt;
    }
    switch (term.comparison) {
        case QueryComparison::Less:
            return span->from < term.from;
        case QueryComparison::LessEqual:
            return span->from < term.until;
        case QueryComparison::Greater:
            return span->from >= term.until;
        case QueryComparison::GreaterEqual:
            return span->from >= term.from;
        default:
            return span->from >= term.from && span->from < term.until;
    }
}

std::optional<bool> attributeHolds(const QueryTerm& term, const registry::VersionSummary& version) {
    const auto found = version.attributes.find(term.key);
    if (found == version.attributes.end()) {
        return std::nullopt;
    }
    const registry::AttributeValue& value = found->second;
    if (term.text == "*" && term.comparison == QueryComparison::Equal) {
        return true;
    }
    if (const auto* number = std::get_if<double>(&value)) {
        return term.number && compares(*number, term.comparison, *term.number);
    }
    if (const auto* truth = std::get_if<bool>(&value)) {
        return term.truth && *truth == *term.truth;
    }
    const auto& text = std::get<std::string>(value);
    return term.comparison == QueryComparison::Contains ? contains(text, term.text) : isSame(text, term.text);
}

std::optional<bool> stateHolds(registry::QueryState state, const registry::VersionSummary& version) {
    using registry::QueryState;
    switch (state) {
        case QueryState::Validated:
            return version.verdict == "pass";
        case QueryState::Failed:
            return version.verdict == "fail";
        case QueryState::Exact:
            return version.verdict == "pass" && version.exact;
        case QueryState::Profiled:
            return version.latencyNs.has_value();
        case QueryState::Latest:
            return isAmong(version.aliases, "latest");
        case QueryState::Program:
            return !version.program.empty();
    }
    return std::nullopt;
}

bool addressHolds(const QueryTerm& term, const registry::VersionSummary& version) {
    if (version.model != term.text || version.module != term.key) {
        return false;
    }
    if (term.versionNumber) {
        return version.number == *term.versionNumber;
    }
    return term.alias.empty() || isAmong(version.aliases, term.alias);
}

std::optional<bool> holds(const QueryTerm& term, const ListedVersion& listed) {
    const registry::VersionSummary& version = listed.summary;
    switch (term.field) {
        case QueryField::Text:
            return contains(version.model, term.text) || contains(version.module, term.text) ||
                   contains(version.className, term.text) ||
                   std::any_of(version.tags.begin(), version.tags.end(),
                               [&](const std::string& tag) { return contains(tag, term.text); });
        case QueryField::Model:
            return nameHolds(term, version.model);
        case QueryField::Module:
            return nameHolds(term, version.module);
        case QueryField::Class:
            return nameHolds(term, version.className);
        case QueryField::Tag:
            return isAmong(version.tags, term.text);
        case QueryField::Alias:
            return isAmong(version.aliases, term.text);
        case QueryField::Device:
            return isSame(version.device, term.text) ||
                   registry::foldCase(version.device).starts_with(registry::foldCase(term.text) + ':');
        case QueryField::Dtype:
            return isAmong(listed.dtypes, term.text);
        case QueryField::ParameterCount:
            return compares(static_cast<double>(listed.parameterCount), term.comparison, term.number.value_or(0));
        case QueryField::ParameterBytes:
            return compares(static_cast<double>(version.parameterBytes), term.comparison, term.number.value_or(0));
        case QueryField::Latency:
            return version.latencyNs ? std::optional(compares(static_cast<double>(*version.latencyNs), term.comparison,
                                                              term.number.value_or(0)))
                                     : std::nullopt;
        case QueryField::Created:
            return createdHolds(term, version.created);
        case QueryField::Attribute:
            return attributeHolds(term, version);
        case QueryField::Is:
            return stateHolds(term.state, version);
        case QueryField::Address:
            return addressHolds(term, version);
    }
    return std::nullopt;
}

}  // namespace

bool matches(const registry::Query& query, const ListedVersion& version) {
    return std::all_of(query.terms.begin(), query.terms.end(), [&](const QueryTerm& term) {
        // What is not known does not hold, so that its opposite does.
        return holds(term, version).value_or(false) != term.negated;
    });
}

RowFilter serverFilter(const registry::Query& query) {
    json versions = json::array();
    json collections = json::array({{{"name", {{"$regex", "^[0-9a-f]{32}$"}}}}});
    for (const QueryTerm& term : query.terms) {
        if (term.negated) {
            continue;
        }
        if (term.field == QueryField::Address) {
            collections.push_back({{"name", capture::collectionId(term.text, term.key)}});
        } else if (term.field == QueryField::Model && term.comparison == QueryComparison::Equal && !term.text.empty()) {
            versions.push_back({{"metadata.model_name", term.text}});
        } else if (term.field == QueryField::Module && term.comparison == QueryComparison::Equal && !term.text.empty()) {
            versions.push_back({{"metadata.module_name", term.text}});
        } else if ((term.field == QueryField::Alias && term.text == "latest") ||
                   (term.field == QueryField::Is && term.state == registry::QueryState::Latest)) {
            versions.push_back({{"alias", "latest"}});
        }
    }
    RowFilter filter;
    filter.collections = collections.size() == 1 ? collections[0].dump() : json{{"$and", collections}}.dump();
    if (!versions.empty()) {
        filter.versions = versions.size() == 1 ? versions[0].dump() : json{{"$and", versions}}.dump();
    }
    return filter;
}

}  // namespace modulelens::wandb
