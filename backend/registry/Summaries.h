// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Connection.h"
#include "backend/registry/Registry.h"

#include <cstdint>
#include <optional>
#include <string>

namespace modulelens::registry {

// Reading rows into the structs of Registry.h. All functions throw SQLite::Exception.

/// The version of that rowid. Requires: it exists.
[[nodiscard]] VersionSummary readVersion(Connection& connection, std::int64_t rowid);

/// Rowid of a version that is not in the trash.
[[nodiscard]] std::optional<std::int64_t> findVersion(Connection& connection, const std::string& id);
/// The rowid of a version in the trash.
[[nodiscard]] std::optional<std::int64_t> findDeletedVersion(Connection& connection, const std::string& id);

/// NotFound for an id that names no version; says so when it lies in the trash.
[[nodiscard]] base::Error noSuchVersion(Connection& connection, const std::string& id);

/// Id of an interned name, made if need be; `use` is a bit of NameUse.
[[nodiscard]] std::int64_t internName(Connection& connection, const std::string& text, int use);

/// Id of an interned name, if there is one.
[[nodiscard]] std::optional<std::int64_t> findName(Connection& connection, const std::string& text);

/// Makes the version with the greatest number outside the trash the latest of the collection of `version`.
void chooseLatest(Connection& connection, std::int64_t version);

/// Sets a tag, or an attribute, of a version.
void insertTag(Connection& connection, std::int64_t version, const std::string& tag);
void insertAttribute(Connection& connection, std::int64_t version, const std::string& key, const AttributeValue& value);

}  // namespace modulelens::registry
