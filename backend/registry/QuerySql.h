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
enum NameUse : int {
    kModelName = 1,
    kModuleName = 2,
    kClassName = 4,
    kTagName = 8,
    kAliasName = 16,
    kDeviceName = 32,
    kDtypeName = 64,
    kAttributeName = 128,
    kTorchName = 256,
};

}  // namespace modulelens::registry
