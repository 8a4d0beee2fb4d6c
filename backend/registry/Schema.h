// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

namespace modulelens::registry {

class Connection;

/// PRAGMA application_id of a registry database.
inline constexpr int kApplicationId = 0x4D4C5247;  // "MLRG"

/// PRAGMA user_version that this build writes and the newest it reads.
inline constexpr int kSchemaVersion = 3;

/// Brings the database from `fromVersion` to kSchemaVersion in one transaction. Throws SQLite::Exception.
/// Requires: no transaction is open, and no other process does the same (commit lock).
void migrate(Connection& connection, int fromVersion);

}  // namespace modulelens::registry
