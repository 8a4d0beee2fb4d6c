// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::registry {

/// What a term of a query looks at (docs/query.md).
enum class QueryField {
    Text,              ///< Free text: model, module, class and tag names.
    Model,
    Module,
    Class,
    Tag,
    Alias,
    Device,
    Dtype,
    ParameterCount,
    ParameterBytes,
    Latency,
    Created,
    Attribute,
    Is,
    Address,           ///< A pasted version address.
};

enum class QueryComparison { Contains, Equal, Less, LessEqual, Greater, GreaterEqual };

/// States that `is:` asks for.
enum class QueryState { Validated, Failed, Exact, Profiled, Latest, Program };

/// One condition. Which members mean something follows from `field`.
struct QueryTerm {
    QueryField field = QueryField::Text;
    QueryComparison comparison = QueryComparison::Contains;
    bool negated = false;
    std::string text;                  ///< The value as written, quotes removed; the model of an address.
    std::string key;                   ///< Attribute name; the module of an address.
    std::optional<double> number;      ///< Numeric fields, in base units; attributes whose value is a number.
    std::optional<bool> truth;         ///< Attributes whose value is true or false.
    std::int64_t from = 0;             ///< Created: the span that the date stands for, microseconds since 1970 UTC.
    std::int64_t until = 0;
    QueryState state = QueryState::Validated;
    std::optional<int> versionNumber;  ///< Address with @vN.
    std::string alias;                 ///< Address with @alias.
    std::size_t position = 0;          ///< Byte offset in the query, for messages about this term.
};

/// A parsed query: every term must hold. Immutable after construction.
struct Query {
    std::vector<QueryTerm> terms;
};

/// Parses the query language of docs/query.md. An empty text gives no terms.
/// InvalidArgument: unknown field or state, missing or unfit value, unclosed quote, broken UTF-8, over 4096 bytes or 64 terms; the
/// message points at the character.
[[nodiscard]] base::Result<Query> parseQuery(std::string_view text);

/// A field of the language, for completion and help.
struct QueryFieldDescription {
    std::string_view prefix;           ///< As typed: "model:", "params>", "is:validated".
    std::string_view example;
    std::string_view meaning;
};
[[nodiscard]] std::span<const QueryFieldDescription> queryFieldDescriptions();

}  // namespace modulelens::registry
