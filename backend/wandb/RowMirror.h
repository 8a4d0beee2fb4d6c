// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Mutex.h"
#include "backend/wandb/Cache.h"
#include "backend/wandb/Service.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::wandb {

/// A row and when the server last showed it.
struct SeenRow {
    VersionRow row;
    std::int64_t seen = 0;             ///< Microseconds since 1970, UTC.
};

/// The rows of a registry that were seen, kept in a cache across sessions, so that it can be browsed without a network. Thread-safe.
class RowMirror {
public:
    /// Reads what was kept under `name`; what cannot be read counts as nothing. `cache` outlives this.
    RowMirror(Cache& cache, std::string name);

    /// Every row, by collection and number.
    [[nodiscard]] std::vector<SeenRow> rows() const;
    [[nodiscard]] std::optional<SeenRow> find(const std::string& collection, int number) const;
    [[nodiscard]] std::optional<SeenRow> findAlias(const std::string& collection, const std::string& alias) const;
    /// Takes rows in, and keeps them on disk. `isAll`: the server has no others, so that others are forgotten.
    void take(const std::vector<VersionRow>& rows, bool isAll, std::int64_t now);
    void forget(const std::string& collection, int number);

    /// The organisation that the registry was found in, when it is known.
    [[nodiscard]] std::optional<Organization> organization() const;
    void setOrganization(const Organization& organization);

private:
    using Key = std::pair<std::string, int>;
    void load();
    void keepLocked() ML_REQUIRES(m_mutex);

    Cache& m_cache;
    const std::string m_name;
    mutable base::Mutex m_mutex;
    std::map<Key, SeenRow> m_rows ML_GUARDED_BY(m_mutex);
    std::optional<Organization> m_organization ML_GUARDED_BY(m_mutex);
};

}  // namespace modulelens::wandb
