// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/QuerySql.h"

#include "backend/registry/NameFolding.h"

#include <utility>

namespace modulelens::registry {

namespace {

constexpr std::string_view kIsLatest = "v.id IN (SELECT latest FROM collection WHERE latest IS NOT NULL)";

std::string_view sqlOperator(QueryComparison comparison) {
    switch (comparison) {
        case QueryComparison::Less:
            return " < ";
        case QueryComparison::LessEqual:
            return " <= ";
        case QueryComparison::Greater:
            return " > ";
        case QueryComparison::GreaterEqual:
            return " >= ";
        case QueryComparison::Contains:
        case QueryComparison::Equal:
            break;
    }
    return " = ";
}

/// Names of one use that a term means: by part, or exactly.
std::string namesContaining(SqlCondition& sql, const QueryTerm& term, NameUse use) {
    if (term.comparison == QueryComparison::Equal) {
        return "SELECT id FROM name WHERE text = " + sql.bind(term.text);
    }
    return "SELECT id FROM name WHERE uses & " + std::to_string(use) + " AND instr(folded, " + sql.bind(foldCase(term.text)) +
           ")";
}

/// Names that a term spells, case ignored unless it says "=".
std::string namesSpelled(SqlCondition& sql, const QueryTerm& term) {
    if (term.comparison == QueryComparison::Equal) {
        return "SELECT id FROM name WHERE text = " + sql.bind(term.text);
    }
    return "SELECT id FROM name WHERE folded = " + sql.bind(foldCase(term.text));
}

std::string freeText(SqlCondition& sql, const QueryTerm& term) {
    const std::string word = "word" + std::to_string(sql.values.size());
    sql.with += (sql.with.empty() ? "WITH " : ", ") + word +
                " AS MATERIALIZED (SELECT id, uses FROM name WHERE instr(folded, " + sql.bind(foldCase(term.text)) + "))";
    const auto among = [&](NameUse use) {
        return " IN (SELECT id FROM " + word + " WHERE uses & " + std::to_string(use) + ")";
    };
    return "v.collection IN (SELECT id FROM collection WHERE model" + among(kModelName) + " OR module" + among(kModuleName) +
           ") OR v.class" + among(kClassName) + " OR v.id IN (SELECT version FROM version_tag WHERE name" + among(kTagName) +
           ")";
}

std::string aliasCondition(SqlCondition& sql, const QueryTerm& term) {
    if (foldCase(term.text) == "latest") {
        return std::string(kIsLatest);
    }
    return "v.id IN (SELECT version FROM alias WHERE name IN (" + namesSpelled(sql, term) + "))";
}

std::string deviceCondition(SqlCondition& sql, const QueryTerm& term) {
    if (term.comparison == QueryComparison::Equal) {
        return "v.device IN (" + namesSpelled(sql, term) + ")";
    }
    const std::string value = sql.bind(foldCase(term.text));
    return "v.device IN (SELECT id FROM name WHERE folded = " + value + " OR substr(folded, 1, length(" + value +
           ") + 1) = " + value + " || ':')";
}

std::string createdCondition(SqlCondition& sql, const QueryTerm& term) {
    switch (term.comparison) {
        case QueryComparison::Less:
            return "v.created < " + sql.bind(term.from);
        case QueryComparison::LessEqual:
            return "v.created < " + sql.bind(term.until);
        case QueryComparison::Greater:
            return "v.created >= " + sql.bind(term.until);
        case QueryComparison::GreaterEqual:
            return "v.created >= " + sql.bind(term.from);
        case QueryComparison::Contains:
        case QueryComparison::Equal:
            break;
    }
    const std::string from = sql.bind(term.from);
    return "v.created >= " + from + " AND v.created < " + sql.bind(term.until);
}

std::string attributeCondition(SqlCondition& sql, const QueryTerm& term) {
    std::string found =
        "v.id IN (SELECT version FROM attribute WHERE key IN (SELECT id FROM name WHERE text = " + sql.bind(term.key) + ")";
    if (term.text == "*") {
        return found + ")";
    }
    const bool ordered = term.comparison != QueryComparison::Contains && term.comparison != QueryComparison::Equal;
    if (ordered) {
        return found + " AND kind = 'number' AND number" + std::string(sqlOperator(term.comparison)) +
               sql.bind(term.number.value_or(0)) + ")";
    }
    const std::string text = sql.bind(foldCase(term.text));
    found += term.comparison == QueryComparison::Equal ? " AND (folded = " + text : " AND (instr(folded, " + text + ")";
    if (term.number) {
        found += " OR (kind = 'number' AND number = " + sql.bind(*term.number) + ")";
    }
    if (term.truth) {
        found += " OR (kind = 'boolean' AND number = " + sql.bind(std::int64_t{*term.truth ? 1 : 0}) + ")";
    }
    return found + "))";
}

std::string stateCondition(QueryState state) {
    switch (state) {
        case QueryState::Validated:
            return "v.verdict = 'pass'";
        case QueryState::Failed:
            return "v.verdict = 'fail'";
        case QueryState::Exact:
            return "v.verdict = 'pass' AND v.exact = 1";
        case QueryState::Profiled:
            return "EXISTS (SELECT 1 FROM result AS r WHERE r.version = v.id AND r.kind = 'profile')";
        case QueryState::Latest:
            return std::string(kIsLatest);
        case QueryState::Program:
            return "v.program IS NOT NULL";
    }
    return "0";
}

std::string addressCondition(SqlCondition& sql, const QueryTerm& term) {
    std::string condition = "v.model IN (SELECT id FROM name WHERE text = " + sql.bind(term.text) +
                            ") AND v.module IN (SELECT id FROM name WHERE text = " + sql.bind(term.key) + ")";
    if (term.versionNumber) {
        condition += " AND v.number = " + sql.bind(std::int64_t{*term.versionNumber});
    } else if (term.alias == "latest") {
        condition += " AND " + std::string(kIsLatest);
    } else if (!term.alias.empty()) {
        condition +=
            " AND v.id IN (SELECT version FROM alias WHERE name IN (SELECT id FROM name WHERE text = " + sql.bind(term.alias) +
            "))";
    }
    return condition;
}

std::string conditionOf(SqlCondition& sql, const QueryTerm& term) {
    switch (term.field) {
        case QueryField::Text:
            return freeText(sql, term);
        case QueryField::Model:
            return "v.model IN (" + namesContaining(sql, term, kModelName) + ")";
        case QueryField::Module:
            return "v.module IN (" + namesContaining(sql, term, kModuleName) + ")";
        case QueryField::Class:
            return "v.class IN (" + namesContaining(sql, term, kClassName) + ")";
        case QueryField::Tag:
            return "v.id IN (SELECT version FROM version_tag WHERE name IN (" + namesSpelled(sql, term) + "))";
        case QueryField::Alias:
            return aliasCondition(sql, term);
        case QueryField::Device:
            return deviceCondition(sql, term);
        case QueryField::Dtype:
            return "v.id IN (SELECT version FROM version_dtype WHERE name IN (" + namesSpelled(sql, term) + "))";
        case QueryField::ParameterCount:
            return "v.parameter_count" + std::string(sqlOperator(term.comparison)) + sql.bind(term.number.value_or(0));
        case QueryField::ParameterBytes:
            return "v.parameter_bytes" + std::string(sqlOperator(term.comparison)) + sql.bind(term.number.value_or(0));
        case QueryField::Latency:
            return "v.latency_ns" + std::string(sqlOperator(term.comparison)) + sql.bind(term.number.value_or(0));
        case QueryField::Created:
            return createdCondition(sql, term);
        case QueryField::Attribute:
            return attributeCondition(sql, term);
        case QueryField::Is:
            return stateCondition(term.state);
        case QueryField::Address:
            return addressCondition(sql, term);
    }
    return "0";
}

}  // namespace

std::string SqlCondition::bind(SqlValue value) {
    values.push_back(std::move(value));
    return "?" + std::to_string(values.size());
}

void SqlCondition::require(const std::string& condition) {
    where += " AND (" + condition + ")";
}

SqlCondition sqlConditionOf(const Query& query) {
    SqlCondition sql;
    for (const QueryTerm& term : query.terms) {
        const std::string condition = conditionOf(sql, term);
        // A condition on a value that is not known is NULL: it does not hold, so its negation does.
        sql.require(term.negated ? "NOT ifnull((" + condition + "), 0)" : condition);
    }
    return sql;
}

}  // namespace modulelens::registry
