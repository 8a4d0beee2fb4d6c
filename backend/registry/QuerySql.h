// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Query.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace modulelens::registry {

using SqlValue = std::variant<std::int64_t, double, std::string>;

/// A query as SQL over `version AS v`. Values are bound, never part of the text; the text numbers them ?1, ?2, ...
struct SqlCondition {
    std::string with;               ///< "WITH ... " or empty: goes before SELECT.
    std::string where = "v.deleted IS NULL";
    std::vector<SqlValue> values;

    /// Adds a value and returns its placeholder.
    std::string bind(SqlValue value);
    /// Adds " AND (condition)".
    void require(const std::string& condition);
};

/// What finds the versions that `query` describes; versions in the trash are left out.
[[nodiscard]] SqlCondition sqlConditionOf(const Query& query);

/// Uses of an interned name, as bits of name.uses.
using NameUse = int;
inline constexpr NameUse kModelName = 1;
inline constexpr NameUse kModuleName = 2;
inline constexpr NameUse kClassName = 4;
inline constexpr NameUse kTagName = 8;
inline constexpr NameUse kAliasName = 16;
inline constexpr NameUse kDeviceName = 32;
inline constexpr NameUse kDtypeName = 64;
inline constexpr NameUse kAttributeName = 128;
inline constexpr NameUse kTorchName = 256;

}  // namespace modulelens::registry
