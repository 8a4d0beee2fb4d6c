// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Query.h"

#include "backend/registry/NameFolding.h"
#include "backend/registry/TextPosition.h"
#include "backend/registry/Timestamp.h"
#include "backend/registry/VersionAddress.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace modulelens::registry {

namespace {

constexpr std::size_t kMaxQueryBytes = 4096;
constexpr std::size_t kMaxTerms = 64;
constexpr std::string_view kAttributePrefix = "attr.";

constexpr std::array<QueryFieldDescription, 18> kDescriptions{{
    {"model:", "model:minilm", "model name contains; model=NAME is the exact name"},
    {"module:", "module:layers.3", "module name contains; module=NAME is the exact name"},
    {"class:", "class:LayerNorm", "class name contains; class=NAME is the exact name"},
    {"tag:", "tag:baseline", "has this tag"},
    {"alias:", "alias:production", "has this alias; alias:latest for the newest of each module"},
    {"device:", "device:cuda", "captured on this device"},
    {"dtype:", "dtype:bfloat16", "holds a tensor of this element type"},
    {"params>", "params>1M", "number of parameters, or their bytes with a unit such as MB or MiB"},
    {"latency<", "latency<2ms", "latency in the newest profile"},
    {"created>", "created>2026-11-01", "when it was captured, UTC"},
    {"attr.", "attr.team=ranking", "value of an attribute; attr.KEY=* when it has one"},
    {"is:validated", "is:validated", "the newest validation passed"},
    {"is:failed", "is:failed", "the newest validation failed"},
    {"is:exact", "is:exact", "the newest validation passed bit for bit"},
    {"is:profiled", "is:profiled", "has a profile"},
    {"is:latest", "is:latest", "is the newest version of its module"},
    {"is:program", "is:program", "has an exported program"},
    {"-", "-tag:old", "what follows must not hold"},
}};

constexpr std::array<std::pair<std::string_view, QueryField>, 11> kFields{{
    {"model", QueryField::Model},
    {"module", QueryField::Module},
    {"class", QueryField::Class},
    {"tag", QueryField::Tag},
    {"alias", QueryField::Alias},
    {"device", QueryField::Device},
    {"dtype", QueryField::Dtype},
    {"params", QueryField::ParameterCount},
    {"latency", QueryField::Latency},
    {"created", QueryField::Created},
    {"is", QueryField::Is},
}};

constexpr std::array<std::pair<std::string_view, QueryState>, 6> kStates{{
    {"validated", QueryState::Validated},
    {"failed", QueryState::Failed},
    {"exact", QueryState::Exact},
    {"profiled", QueryState::Profiled},
    {"latest", QueryState::Latest},
    {"program", QueryState::Program},
}};

template <class Table>
std::vector<std::string> namesOf(const Table& table) {
    std::vector<std::string> names;
    names.reserve(table.size());
    for (const auto& [name, value] : table) {
        names.emplace_back(name);
    }
    return names;
}

bool isSpace(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// A number and the letters right behind it.
struct Quantity {
    double number = 0;
    std::string_view unit;
};

std::optional<Quantity> parseQuantity(std::string_view text) {
    Quantity quantity;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number);
    if (error != std::errc() || !std::isfinite(quantity.number)) {
        return std::nullopt;
    }
    quantity.unit = text.substr(static_cast<std::size_t>(end - text.data()));
    if (!std::all_of(quantity.unit.begin(), quantity.unit.end(),
                     [](char c) { return isLetter(c) || c == '\xC2' || c == '\xB5'; })) {
        return std::nullopt;
    }
    return quantity;
}

/// Factor of "", K, M, G, T, with "i" binary. Case of the letter does not matter.
std::optional<double> prefixFactor(std::string_view prefix) {
    constexpr std::string_view kPrefixes = "kmgt";
    if (prefix.empty()) {
        return 1.0;
    }
    const std::size_t power = kPrefixes.find(static_cast<char>(prefix[0] | 0x20));
    if (power == std::string_view::npos || prefix.size() > 2 || (prefix.size() == 2 && prefix[1] != 'i')) {
        return std::nullopt;
    }
    return std::pow(prefix.size() == 2 ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

/// Reads one query text. Confined to its thread.
class QueryParser {
public:
    explicit QueryParser(std::string_view text) : m_text(text) {}

    base::Result<Query> parse();

private:
    struct Value {
        std::string text;
        std::size_t begin = 0;
    };

    [[nodiscard]] bool atEnd() const { return m_at >= m_text.size(); }
    [[nodiscard]] char current() const { return m_text[m_at]; }
    [[nodiscard]] base::Error error(std::size_t offset, const std::string& problem, std::string fix) const {
        return errorAt(m_text, offset, problem, std::move(fix));
    }

    base::Result<QueryTerm> parseTerm();
    base::Result<QueryTerm> parseAttribute(std::size_t begin);
    base::Result<QueryTerm> parseField(std::size_t begin, QueryField field, std::string_view name);
    std::optional<QueryComparison> takeOperator();
    base::Result<Value> takeValue(std::string_view owner);
    base::Result<std::string> takeQuoted();
    base::Result<void> fillNumber(QueryTerm& term, const Value& value) const;
    base::Result<void> fillDate(QueryTerm& term, const Value& value) const;
    base::Result<void> fillState(QueryTerm& term, const Value& value) const;
    [[nodiscard]] std::size_t wordEnd(std::size_t from) const;

    std::string_view m_text;
    std::size_t m_at = 0;
};

base::Result<Query> QueryParser::parse() {
    if (m_text.size() > kMaxQueryBytes) {
        return base::Error{base::ErrorCode::InvalidArgument, "The query is longer than 4096 bytes.", "Shorten it."};
    }
    if (const std::size_t bad = std::min(findInvalidUtf8(m_text), m_text.find('\0')); bad != std::string_view::npos) {
        return error(bad, "The query holds a byte that is not text", "Type it again.");
    }
    Query query;
    while (true) {
        while (!atEnd() && isSpace(current())) {
            ++m_at;
        }
        if (atEnd()) {
            return query;
        }
        if (query.terms.size() == kMaxTerms) {
            return error(m_at, "The query has more than 64 terms", "Shorten it.");
        }
        base::Result<QueryTerm> term = parseTerm();
        if (!term) {
            return term.error();
        }
        query.terms.push_back(std::move(*term));
    }
}

base::Result<QueryTerm> QueryParser::parseTerm() {
    const std::size_t start = m_at;
    const bool negated = current() == '-';
    if (negated) {
        ++m_at;
        if (atEnd() || isSpace(current())) {
            return error(start, "Nothing follows the '-'", "Write the term to leave out right behind it, such as -tag:old.");
        }
    }
    const std::size_t begin = m_at;
    std::size_t nameEnd = begin;
    while (nameEnd < m_text.size() && (isLetter(m_text[nameEnd]) || m_text[nameEnd] == '_')) {
        ++nameEnd;
    }
    const std::string_view name = m_text.substr(begin, nameEnd - begin);
    const char next = nameEnd < m_text.size() ? m_text[nameEnd] : ' ';
    const bool hasOperator = !name.empty() && (next == ':' || next == '=' || next == '<' || next == '>');
    const std::string_view word = m_text.substr(begin, wordEnd(begin) - begin);
    base::Result<QueryTerm> term = QueryTerm{};
    if (word.starts_with(kAttributePrefix)) {
        term = parseAttribute(begin);
    } else if (word.find("::") != std::string_view::npos && word[0] != '"') {
        base::Result<VersionAddress> address = parseVersionAddress(word);
        if (!address) {
            return error(begin, "This looks like a version address but is none", address.error().fix);
        }
        term->field = QueryField::Address;
        term->comparison = QueryComparison::Equal;
        term->text = address->model;
        term->key = address->module;
        if (word.find('@') != std::string_view::npos) {
            term->versionNumber = address->number;
            term->alias = address->alias;
        }
        m_at = wordEnd(begin);
    } else if (hasOperator) {
        const auto known = std::find_if(kFields.begin(), kFields.end(), [&](const auto& field) { return field.first == name; });
        if (known == kFields.end()) {
            const std::optional<std::string> nearest = nearestName(name, namesOf(kFields));
            return error(begin, "There is no field '" + std::string(name) + "'",
                         (nearest ? "Did you mean '" + *nearest + "'? " : std::string()) +
                             "Put the word in double quotes to search for it as it stands.");
        }
        m_at = nameEnd;
        term = parseField(begin, known->second, name);
    } else {
        base::Result<Value> value = takeValue("");
        if (!value) {
            return value.error();
        }
        if (value->text.empty()) {
            return error(begin, "The quoted text is empty", "Write the text to search for between the quotes.");
        }
        term->text = std::move(value->text);
    }
    if (term) {
        term->negated = negated;
        term->position = begin;
    }
    return term;
}

base::Result<QueryTerm> QueryParser::parseAttribute(std::size_t begin) {
    QueryTerm term;
    term.field = QueryField::Attribute;
    m_at = begin + kAttributePrefix.size();
    if (!atEnd() && current() == '"') {
        base::Result<std::string> key = takeQuoted();
        if (!key) {
            return key.error();
        }
        term.key = std::move(*key);
    } else {
        const std::size_t keyBegin = m_at;
        while (!atEnd() && !isSpace(current()) && std::string_view(":=<>\"").find(current()) == std::string_view::npos) {
            ++m_at;
        }
        term.key = m_text.substr(keyBegin, m_at - keyBegin);
    }
    if (term.key.empty()) {
        return error(m_at, "The attribute has no name", "Write attr.NAME=VALUE.");
    }
    const std::optional<QueryComparison> comparison = takeOperator();
    if (!comparison) {
        return error(m_at, "An attribute needs a comparison", "Write attr." + term.key + "=VALUE, or =* for any value.");
    }
    term.comparison = *comparison;
    const base::Result<Value> value = takeValue("attr." + term.key);
    if (!value) {
        return value.error();
    }
    term.text = value->text;
    const std::optional<Quantity> quantity = parseQuantity(value->text);
    const std::optional<double> factor = quantity ? prefixFactor(quantity->unit) : std::nullopt;
    if (factor) {
        term.number = quantity->number * *factor;
    } else if (value->text == "true" || value->text == "false") {
        term.truth = value->text == "true";
    }
    const bool ordered = term.comparison != QueryComparison::Contains && term.comparison != QueryComparison::Equal;
    if (ordered && !term.number) {
        return error(value->begin, "Only numbers can be compared by size", "Write a number, or use = or :.");
    }
    return term;
}

base::Result<QueryTerm> QueryParser::parseField(std::size_t begin, QueryField field, std::string_view name) {
    QueryTerm term;
    term.field = field;
    const std::size_t operatorBegin = m_at;
    term.comparison = takeOperator().value_or(QueryComparison::Contains);
    const bool ordered = term.comparison != QueryComparison::Contains && term.comparison != QueryComparison::Equal;
    const bool numeric = field == QueryField::ParameterCount || field == QueryField::Latency || field == QueryField::Created;
    if (ordered && !numeric) {
        return error(operatorBegin, "'" + std::string(name) + "' is a name and has no size to compare",
                     "Write " + std::string(name) + ":TEXT.");
    }
    const base::Result<Value> value = takeValue(name);
    if (!value) {
        return value.error();
    }
    term.text = value->text;
    base::Result<void> filled;
    if (field == QueryField::Created) {
        filled = fillDate(term, *value);
    } else if (numeric) {
        filled = fillNumber(term, *value);
    } else if (field == QueryField::Is) {
        filled = fillState(term, *value);
    } else if (term.text.empty() && term.comparison == QueryComparison::Contains) {
        filled = error(value->begin, "'" + std::string(name) + ":' needs a value", "Write " + std::string(name) + ":TEXT.");
    }
    if (!filled) {
        return filled.error();
    }
    term.position = begin;
    return term;
}

std::optional<QueryComparison> QueryParser::takeOperator() {
    if (atEnd()) {
        return std::nullopt;
    }
    const char first = current();
    if (first != ':' && first != '=' && first != '<' && first != '>') {
        return std::nullopt;
    }
    ++m_at;
    // "created:>2026" is written by many; the colon adds nothing.
    const bool colonBefore = first == ':' && !atEnd() && (current() == '<' || current() == '>');
    const char sign = colonBefore ? current() : first;
    if (colonBefore) {
        ++m_at;
    }
    if (sign == ':') {
        return QueryComparison::Contains;
    }
    if (sign == '=') {
        return QueryComparison::Equal;
    }
    const bool orEqual = !atEnd() && current() == '=';
    if (orEqual) {
        ++m_at;
    }
    if (sign == '<') {
        return orEqual ? QueryComparison::LessEqual : QueryComparison::Less;
    }
    return orEqual ? QueryComparison::GreaterEqual : QueryComparison::Greater;
}

/// A quoted text or the rest of the word. `owner` names the field for the message about a missing value.
base::Result<QueryParser::Value> QueryParser::takeValue(std::string_view owner) {
    Value value;
    value.begin = m_at;
    if (!atEnd() && current() == '"') {
        base::Result<std::string> quoted = takeQuoted();
        if (!quoted) {
            return quoted.error();
        }
        if (!atEnd() && !isSpace(current())) {
            return error(m_at, "A space is missing behind the quoted text", "Separate terms by spaces.");
        }
        value.text = std::move(*quoted);
        return value;
    }
    m_at = wordEnd(m_at);
    value.text = m_text.substr(value.begin, m_at - value.begin);
    if (const std::size_t quote = value.text.find('"'); quote != std::string::npos) {
        return error(value.begin + quote, "A quote stands inside a word",
                     "Put the whole text in double quotes, with \\\" for a quote inside.");
    }
    if (value.text.empty()) {
        return error(value.begin, "'" + std::string(owner) + "' needs a value",
                     "Write the value right behind it, without a space.");
    }
    return value;
}

base::Result<std::string> QueryParser::takeQuoted() {
    const std::size_t begin = m_at;
    std::string text;
    for (++m_at; !atEnd(); ++m_at) {
        if (current() == '"') {
            ++m_at;
            return text;
        }
        if (current() == '\\' && m_at + 1 < m_text.size() && (m_text[m_at + 1] == '"' || m_text[m_at + 1] == '\\')) {
            ++m_at;
        }
        text += current();
    }
    return error(begin, "The quote is not closed", "Add a closing double quote.");
}

base::Result<void> QueryParser::fillNumber(QueryTerm& term, const Value& value) const {
    const bool latency = term.field == QueryField::Latency;
    const std::string fix = latency ? "Write a time with its unit: 800ns, 50us, 2ms, 1.5s."
                                    : "Write a number such as 1000, 1.5M or 2G, or bytes such as 4MB or 4MiB.";
    const std::optional<Quantity> quantity = parseQuantity(value.text);
    if (!quantity || quantity->number < 0) {
        return error(value.begin, "'" + value.text + "' is not " + (latency ? "a time" : "a number"), fix);
    }
    const std::size_t unitBegin = value.begin + (value.text.size() - quantity->unit.size());
    if (latency) {
        constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
            {{"ns", 1.0}, {"us", 1e3}, {"\xC2\xB5s", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
        for (const auto& [unit, factor] : kUnits) {
            if (quantity->unit == unit) {
                term.number = quantity->number * factor;
                return {};
            }
        }
        return error(
            unitBegin,
            quantity->unit.empty() ? "The time has no unit" : "'" + std::string(quantity->unit) + "' is no unit of time", fix);
    }
    std::string_view unit = quantity->unit;
    if (unit.ends_with('B')) {
        term.field = QueryField::ParameterBytes;
        unit.remove_suffix(1);
    }
    const std::optional<double> factor = prefixFactor(unit);
    if (!factor) {
        return error(unitBegin, "'" + std::string(quantity->unit) + "' is no unit", fix);
    }
    term.number = quantity->number * *factor;
    return {};
}

base::Result<void> QueryParser::fillDate(QueryTerm& term, const Value& value) const {
    const std::optional<TimeSpan> span = parseTimeSpan(value.text);
    if (!span) {
        return error(value.begin, "'" + value.text + "' is not a date",
                     "Write 2026, 2026-11, 2026-11-30 or 2026-11-30T16:01, in UTC.");
    }
    term.from = span->from;
    term.until = span->until;
    return {};
}

base::Result<void> QueryParser::fillState(QueryTerm& term, const Value& value) const {
    const auto known =
        std::find_if(kStates.begin(), kStates.end(), [&](const auto& state) { return state.first == value.text; });
    if (known == kStates.end()) {
        return error(value.begin, "There is no state '" + value.text + "'",
                     "Write is:validated, is:failed, is:exact, is:profiled, is:latest or is:program.");
    }
    term.state = known->second;
    return {};
}

std::size_t QueryParser::wordEnd(std::size_t from) const {
    while (from < m_text.size() && !isSpace(m_text[from])) {
        ++from;
    }
    return from;
}

}  // namespace

base::Result<Query> parseQuery(std::string_view text) {
    return QueryParser(text).parse();
}

std::span<const QueryFieldDescription> queryFieldDescriptions() {
    return kDescriptions;
}

}  // namespace modulelens::registry
