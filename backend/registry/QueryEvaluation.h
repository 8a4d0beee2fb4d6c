// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Connection.h"
#include "backend/registry/IdSet.h"
#include "backend/registry/Postings.h"
#include "backend/registry/Query.h"
#include "backend/registry/VersionColumns.h"

#include <cstdint>
#include <string>
#include <vector>

namespace modulelens::registry {

/// Finds what a query asks for in the search index, within one read transaction. All functions throw SQLite::Exception.
/// Confined to its thread.
class QueryEvaluation {
public:
    QueryEvaluation(Connection& connection, VersionColumns& columns);

    /// Row ids of the versions that `query` describes; versions in the trash are left out.
    [[nodiscard]] IdSet versionsOf(const Query& query);

    /// Of the versions of `among`, how many have each id in a column, by that id. Requires: a column of ids.
    [[nodiscard]] std::vector<std::int64_t> countsOf(VersionColumn column, const IdSet& among);

private:
    [[nodiscard]] IdSet versionsOf(const QueryTerm& term);
    [[nodiscard]] IdSet withText(const std::string& text);
    [[nodiscard]] IdSet withLabel(PostingKind kind, const std::vector<std::int64_t>& names);
    [[nodiscard]] IdSet withName(VersionColumn column, const std::vector<std::int64_t>& names);
    [[nodiscard]] IdSet withNumber(VersionColumn column, const QueryTerm& term);
    [[nodiscard]] IdSet createdAsIn(const QueryTerm& term);
    [[nodiscard]] IdSet withAttribute(const QueryTerm& term);
    [[nodiscard]] IdSet atAddress(const QueryTerm& term);
    [[nodiscard]] IdSet inState(int state);
    [[nodiscard]] IdSet idsOf(SQLite::Statement& row) const;

    Connection& m_connection;
    VersionColumns& m_columns;
    std::size_t m_bound = 0;
};

}  // namespace modulelens::registry
