// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::registry {

class Connection;
class VersionColumns;

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

// Ids of interned names, ascending. All functions throw SQLite::Exception.

/// Names that hold the text, case ignored; for one or two letters those with a part that begins with them. Found by the
/// grams of the search index; where many have those, their texts are kept in `columns`. Requires: not empty.
[[nodiscard]] std::vector<std::int64_t> namesWith(Connection& connection, VersionColumns& columns, const std::string& text);
/// The name that is exactly the text.
[[nodiscard]] std::vector<std::int64_t> namesEqualTo(Connection& connection, const std::string& text);
/// Names that are the text, case ignored.
[[nodiscard]] std::vector<std::int64_t> namesSpelled(Connection& connection, const std::string& text);
/// Names that are the text or the text, a colon and more, case ignored.
[[nodiscard]] std::vector<std::int64_t> namesOfKind(Connection& connection, const std::string& text);

}  // namespace modulelens::registry
