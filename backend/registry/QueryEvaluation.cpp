// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/QueryEvaluation.h"

#include "backend/registry/NameFolding.h"
#include "backend/registry/Names.h"

#include <algorithm>

namespace modulelens::registry {

namespace {

constexpr int kSqliteCorrupt = 11;
constexpr std::int64_t kMostIds = std::int64_t{1} << 31;

/// Which names of a list of ids, by id.
class NameMarks {
public:
    explicit NameMarks(const std::vector<std::int64_t>& names) {
        for (const std::int64_t name : names) {
            if (name > 0 && name <= kMostIds) {
                m_marks.resize(std::max(m_marks.size(), static_cast<std::size_t>(name) + 1));
                m_marks[static_cast<std::size_t>(name)] = 1;
            }
        }
    }
    [[nodiscard]] bool operator[](std::int32_t name) const {
        const auto at = static_cast<std::size_t>(name);
        return at < m_marks.size() && m_marks[at] != 0;
    }

private:
    std::vector<std::uint8_t> m_marks;
};

/// Cells of a column below a bound: some at its end may be missing.
template <class Cells, class Holds>
IdSet cellsWhere(std::size_t bound, const Cells& cells, Holds holds) {
    return IdSet::where(bound, cells->size(), [&](std::size_t id) { return holds((*cells)[id]); });
}

VersionState stateOf(QueryState state) {
    switch (state) {
        case QueryState::Validated:
            return VersionState::Validated;
        case QueryState::Failed:
            return VersionState::Failed;
        case QueryState::Exact:
            return VersionState::Exact;
        case QueryState::Profiled:
            return VersionState::Profiled;
        case QueryState::Latest:
            return VersionState::Latest;
        case QueryState::Program:
            break;
    }
    return VersionState::Program;
}

const char* sqlOperator(QueryComparison comparison) {
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

std::vector<std::int64_t> namesAsked(Connection& connection, VersionColumns& columns, const QueryTerm& term) {
    return term.comparison == QueryComparison::Equal ? namesEqualTo(connection, term.text)
                                                     : namesWith(connection, columns, term.text);
}

std::vector<std::int64_t> labelsAsked(Connection& connection, const QueryTerm& term) {
    return term.comparison == QueryComparison::Equal ? namesEqualTo(connection, term.text)
                                                     : namesSpelled(connection, term.text);
}

}  // namespace

QueryEvaluation::QueryEvaluation(Connection& connection, VersionColumns& columns)
    : m_connection(connection), m_columns(columns) {
    SQLite::Statement& last = connection.prepare("SELECT ifnull(max(id), 0) FROM version");
    last.executeStep();
    const std::int64_t greatest = last.getColumn(0).getInt64();
    last.tryReset();
    if (greatest < 0 || greatest > kMostIds) {
        throw SQLite::Exception("a version has an impossible row id", kSqliteCorrupt);
    }
    m_bound = static_cast<std::size_t>(greatest) + 1;
}

IdSet QueryEvaluation::versionsOf(const Query& query) {
    IdSet found = inState(static_cast<int>(VersionState::Live));
    for (const QueryTerm& term : query.terms) {
        // A condition on a value that is not known does not hold, so its negation does.
        if (term.negated) {
            found.subtract(versionsOf(term));
        } else {
            found.intersect(versionsOf(term));
        }
    }
    return found;
}

std::vector<std::int64_t> QueryEvaluation::countsOf(VersionColumn column, const IdSet& among) {
    const auto cells = m_columns.ids(m_connection, column);
    std::vector<std::int64_t> counts;
    among.forEach([&](std::size_t id) {
        const std::int32_t value = id < cells->size() ? (*cells)[id] : 0;
        if (value <= 0) {
            return;
        }
        if (static_cast<std::size_t>(value) >= counts.size()) {
            counts.resize(static_cast<std::size_t>(value) + 1 + counts.size() / 2);
        }
        ++counts[static_cast<std::size_t>(value)];
    });
    return counts;
}

IdSet QueryEvaluation::versionsOf(const QueryTerm& term) {
    switch (term.field) {
        case QueryField::Text:
            return withText(term.text);
        case QueryField::Model:
            return withName(VersionColumn::Model, namesAsked(m_connection, m_columns, term));
        case QueryField::Module:
            return withName(VersionColumn::Module, namesAsked(m_connection, m_columns, term));
        case QueryField::Class:
            return withName(VersionColumn::Class, namesAsked(m_connection, m_columns, term));
        case QueryField::Device:
            return withName(VersionColumn::Device, term.comparison == QueryComparison::Equal
                                                       ? namesEqualTo(m_connection, term.text)
                                                       : namesOfKind(m_connection, term.text));
        case QueryField::Tag:
            return withLabel(PostingKind::Tag, labelsAsked(m_connection, term));
        case QueryField::Dtype:
            return withLabel(PostingKind::Dtype, labelsAsked(m_connection, term));
        case QueryField::Alias:
            return foldCase(term.text) == "latest" ? inState(static_cast<int>(VersionState::Latest))
                                                   : withLabel(PostingKind::Alias, labelsAsked(m_connection, term));
        case QueryField::ParameterCount:
            return withNumber(VersionColumn::ParameterCount, term);
        case QueryField::ParameterBytes:
            return withNumber(VersionColumn::ParameterBytes, term);
        case QueryField::Latency:
            return withNumber(VersionColumn::Latency, term);
        case QueryField::Created:
            return createdAsIn(term);
        case QueryField::Attribute:
            return withAttribute(term);
        case QueryField::Is:
            return inState(static_cast<int>(stateOf(term.state)));
        case QueryField::Address:
            break;
    }
    return atAddress(term);
}

IdSet QueryEvaluation::withText(const std::string& text) {
    const std::vector<std::int64_t> names = namesWith(m_connection, m_columns, text);
    if (names.empty()) {
        return IdSet(m_bound);
    }
    const NameMarks marks(names);
    const auto models = m_columns.ids(m_connection, VersionColumn::Model);
    const auto modules = m_columns.ids(m_connection, VersionColumn::Module);
    const auto classes = m_columns.ids(m_connection, VersionColumn::Class);
    const std::size_t limit = std::min({models->size(), modules->size(), classes->size()});
    IdSet found = IdSet::where(
        m_bound, limit, [&](std::size_t id) { return marks[(*models)[id]] || marks[(*modules)[id]] || marks[(*classes)[id]]; });
    for (const std::int64_t tag : postingValues(m_connection, PostingKind::Tag)) {
        if (marks[static_cast<std::int32_t>(tag)]) {
            addPosting(m_connection, PostingKind::Tag, tag, found);
        }
    }
    return found;
}

IdSet QueryEvaluation::withLabel(PostingKind kind, const std::vector<std::int64_t>& names) {
    IdSet found(m_bound);
    for (const std::int64_t name : names) {
        addPosting(m_connection, kind, name, found);
    }
    return found;
}

IdSet QueryEvaluation::withName(VersionColumn column, const std::vector<std::int64_t>& names) {
    if (names.empty()) {
        return IdSet(m_bound);
    }
    const NameMarks marks(names);
    return cellsWhere(m_bound, m_columns.ids(m_connection, column), [&](std::int32_t name) { return marks[name]; });
}

IdSet QueryEvaluation::withNumber(VersionColumn column, const QueryTerm& term) {
    const auto cells = m_columns.numbers(m_connection, column);
    const double bound = term.number.value_or(0);
    const auto holds = [&](auto compare) {
        return cellsWhere(m_bound, cells,
                          [&](std::int64_t cell) { return cell != kNoNumber && compare(static_cast<double>(cell), bound); });
    };
    switch (term.comparison) {
        case QueryComparison::Less:
            return holds([](double a, double b) { return a < b; });
        case QueryComparison::LessEqual:
            return holds([](double a, double b) { return a <= b; });
        case QueryComparison::Greater:
            return holds([](double a, double b) { return a > b; });
        case QueryComparison::GreaterEqual:
            return holds([](double a, double b) { return a >= b; });
        case QueryComparison::Contains:
        case QueryComparison::Equal:
            break;
    }
    return holds([](double a, double b) { return a == b; });
}

IdSet QueryEvaluation::createdAsIn(const QueryTerm& term) {
    std::int64_t from = kNoNumber + 1;
    std::int64_t until = std::numeric_limits<std::int64_t>::max();
    switch (term.comparison) {
        case QueryComparison::Less:
            until = term.from;
            break;
        case QueryComparison::LessEqual:
            until = term.until;
            break;
        case QueryComparison::Greater:
            from = term.until;
            break;
        case QueryComparison::GreaterEqual:
            from = term.from;
            break;
        case QueryComparison::Contains:
        case QueryComparison::Equal:
            from = term.from;
            until = term.until;
            break;
    }
    return cellsWhere(m_bound, m_columns.numbers(m_connection, VersionColumn::Created),
                      [&](std::int64_t cell) { return cell >= from && cell < until; });
}

IdSet QueryEvaluation::withAttribute(const QueryTerm& term) {
    std::string sql = "SELECT version FROM attribute WHERE key = (SELECT id FROM name WHERE text = ?1)";
    const bool isOrdered = term.comparison != QueryComparison::Contains && term.comparison != QueryComparison::Equal;
    if (isOrdered) {
        sql += std::string(" AND kind = 'number' AND number") + sqlOperator(term.comparison) + "?3";
    } else if (term.text != "*") {
        sql += term.comparison == QueryComparison::Equal ? " AND (folded = ?2" : " AND (instr(folded, ?2)";
        sql += term.number ? " OR (kind = 'number' AND number = ?3)" : "";
        sql += term.truth ? " OR (kind = 'boolean' AND number = ?3))" : ")";
    }
    SQLite::Statement& row = m_connection.prepare(sql);
    row.bind(1, term.key);
    if (!isOrdered && term.text != "*") {
        row.bind(2, foldCase(term.text));
    }
    if (isOrdered || (term.text != "*" && (term.number || term.truth))) {
        row.bind(3, term.number.value_or(term.truth.value_or(false) ? 1.0 : 0.0));
    }
    return idsOf(row);
}

IdSet QueryEvaluation::atAddress(const QueryTerm& term) {
    std::string sql =
        "SELECT v.id FROM version AS v WHERE v.model = (SELECT id FROM name WHERE text = ?1) "
        "AND v.module = (SELECT id FROM name WHERE text = ?2) AND v.deleted IS NULL";
    if (term.versionNumber) {
        sql += " AND v.number = ?3";
    }
    SQLite::Statement& row = m_connection.prepare(sql);
    row.bind(1, term.text);
    row.bind(2, term.key);
    if (term.versionNumber) {
        row.bind(3, *term.versionNumber);
    }
    IdSet found = idsOf(row);
    if (!term.versionNumber && term.alias == "latest") {
        found.intersect(inState(static_cast<int>(VersionState::Latest)));
    } else if (!term.versionNumber && !term.alias.empty()) {
        found.intersect(withLabel(PostingKind::Alias, namesEqualTo(m_connection, term.alias)));
    }
    return found;
}

IdSet QueryEvaluation::inState(int state) {
    IdSet found(m_bound);
    addPosting(m_connection, PostingKind::State, state, found);
    return found;
}

IdSet QueryEvaluation::idsOf(SQLite::Statement& row) const {
    IdSet found(m_bound);
    while (row.executeStep()) {
        found.add(static_cast<std::size_t>(row.getColumn(0).getInt64()));
    }
    row.tryReset();
    return found;
}

}  // namespace modulelens::registry
