// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/PageSelection.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace modulelens::registry {

namespace {

using Place = std::pair<std::int64_t, std::int64_t>;   ///< What is ordered by, ascending, and the row id.

constexpr std::int64_t kLastPlace = std::numeric_limits<std::int64_t>::max();

VersionColumn columnOf(SortKey sort) {
    switch (sort) {
        case SortKey::Parameters:
            return VersionColumn::ParameterBytes;
        case SortKey::Latency:
            return VersionColumn::Latency;
        case SortKey::Flops:
            return VersionColumn::Flops;
        case SortKey::BytesMoved:
            return VersionColumn::BytesMoved;
        case SortKey::Activation:
            return VersionColumn::Activation;
        case SortKey::Peak:
            return VersionColumn::Peak;
        case SortKey::Newest:
        case SortKey::Oldest:
        case SortKey::Name:
            break;
    }
    return VersionColumn::Created;
}

std::int64_t rankOf(std::int64_t cell, SortKey sort) {
    if (cell == kNoNumber) {
        return kLastPlace;
    }
    return sort == SortKey::Oldest ? cell : -cell;
}

/// The least places of many, however they come. Confined to its thread.
class LeastPlaces {
public:
    explicit LeastPlaces(std::size_t wanted) : m_wanted(wanted), m_full(std::max<std::size_t>(4096, 2 * wanted)) {
        m_places.reserve(m_full);
    }
    void offer(const Place& place) {
        if (place >= m_bound) {
            return;
        }
        m_places.push_back(place);
        if (m_places.size() == m_full) {
            const auto last = m_places.begin() + static_cast<std::ptrdiff_t>(m_wanted) - 1;
            std::nth_element(m_places.begin(), last, m_places.end());
            m_bound = *last;
            m_places.erase(last + 1, m_places.end());
        }
    }
    std::vector<Place> take() {
        std::sort(m_places.begin(), m_places.end());
        m_places.resize(std::min(m_places.size(), m_wanted));
        return std::move(m_places);
    }

private:
    const std::size_t m_wanted;
    const std::size_t m_full;
    Place m_bound{kLastPlace, kLastPlace};
    std::vector<Place> m_places;
};

PageOfIds selectByNumber(Connection& connection, VersionColumns& columns, const IdSet& found, SortKey sort,
                         const std::optional<SearchCursor>& cursor, std::size_t limit) {
    const auto cells = columns.numbers(connection, columnOf(sort));
    Place after{std::numeric_limits<std::int64_t>::min(), 0};
    if (cursor) {
        const std::optional<CursorValue>& value = cursor->values[0];
        after = {rankOf(value ? std::get<std::int64_t>(*value) : kNoNumber, sort), std::get<std::int64_t>(*cursor->values[1])};
    }
    LeastPlaces least(limit + 1);
    const auto offer = [&](std::size_t id) {
        const std::int64_t cell = id < cells->size() ? (*cells)[id] : kNoNumber;
        const Place place{rankOf(cell, sort), static_cast<std::int64_t>(id)};
        if (place > after) {
            least.offer(place);
        }
    };
    // Versions mostly come in the order of their capture, and those that come first should be met first.
    if (sort == SortKey::Newest) {
        found.forEachDescending(offer);
    } else {
        found.forEach(offer);
    }
    const std::vector<Place> places = least.take();
    PageOfIds page;
    for (std::size_t i = 0; i < std::min(limit, places.size()); ++i) {
        page.ids.push_back(places[i].second);
    }
    if (places.size() > limit) {
        const auto id = static_cast<std::size_t>(page.ids.back());
        const std::int64_t cell = id < cells->size() ? (*cells)[id] : kNoNumber;
        page.next = SearchCursor{{cell == kNoNumber ? std::nullopt : std::optional<CursorValue>(cell), page.ids.back()}};
    }
    return page;
}

/// A name in the order of names.
using NamePlace = std::pair<std::string, std::int64_t>;

/// Selects by model, module and version number. Confined to its thread.
class NameSelection {
public:
    NameSelection(Connection& connection, VersionColumns& columns, const IdSet& found,
                  const std::optional<SearchCursor>& cursor, std::size_t limit)
        : m_connection(connection), m_found(found), m_limit(limit), m_evaluation(connection, columns) {
        if (cursor) {
            m_model = {std::get<std::string>(*cursor->values[0]), std::get<std::int64_t>(*cursor->values[1])};
            m_module = {std::get<std::string>(*cursor->values[2]), std::get<std::int64_t>(*cursor->values[3])};
            m_number = std::get<std::int64_t>(*cursor->values[4]);
        }
    }

    PageOfIds select() {
        m_collections = m_evaluation.countsOf(VersionColumn::Collection, m_found);
        for (const NamePlace& model : models()) {
            if (model < m_model) {
                continue;
            }
            if (!addModel(model)) {
                break;
            }
        }
        return std::move(m_page);
    }

private:
    struct Module {
        std::int64_t collection = 0;
        NamePlace name;
    };

    std::vector<NamePlace> models() {
        const std::vector<std::int64_t> counts = m_evaluation.countsOf(VersionColumn::Model, m_found);
        SQLite::Statement& row = m_connection.prepare("SELECT sort FROM name WHERE id = ?1");
        std::vector<NamePlace> places;
        for (std::size_t id = 0; id < counts.size(); ++id) {
            if (counts[id] > 0) {
                row.bind(1, static_cast<std::int64_t>(id));
                if (row.executeStep()) {
                    places.emplace_back(row.getColumn(0).getString(), static_cast<std::int64_t>(id));
                }
                row.tryReset();
            }
        }
        std::sort(places.begin(), places.end());
        return places;
    }

    std::vector<Module> modulesOf(std::int64_t model) {
        SQLite::Statement& row = m_connection.prepare(
            "SELECT c.id, module.sort, c.module FROM collection AS c JOIN name AS module ON module.id = c.module "
            "WHERE c.model = ?1 ORDER BY module.sort, c.module");
        row.bind(1, model);
        std::vector<Module> modules;
        while (row.executeStep()) {
            const std::int64_t collection = row.getColumn(0).getInt64();
            if (static_cast<std::size_t>(collection) < m_collections.size() &&
                m_collections[static_cast<std::size_t>(collection)] > 0) {
                modules.push_back({collection, {row.getColumn(1).getString(), row.getColumn(2).getInt64()}});
            }
        }
        row.tryReset();
        return modules;
    }

    /// False when the page is full.
    bool addModel(const NamePlace& model) {
        for (const Module& module : modulesOf(model.second)) {
            const bool isInCursorsModel = model == m_model;
            if (isInCursorsModel && module.name < m_module) {
                continue;
            }
            const bool isAtCursor = isInCursorsModel && module.name == m_module;
            SQLite::Statement& row = m_connection.prepare(
                "SELECT id, number FROM version WHERE collection = ?1 AND number < ?2 ORDER BY number DESC");
            row.bind(1, module.collection);
            row.bind(2, isAtCursor ? m_number : kLastPlace);
            while (row.executeStep()) {
                const std::int64_t id = row.getColumn(0).getInt64();
                if (!m_found.contains(static_cast<std::size_t>(id))) {
                    continue;
                }
                if (m_page.ids.size() == m_limit) {
                    m_page.next = m_last;
                    row.tryReset();
                    return false;
                }
                m_page.ids.push_back(id);
                m_last = SearchCursor{
                    {model.first, model.second, module.name.first, module.name.second, row.getColumn(1).getInt64(), id}};
            }
            row.tryReset();
        }
        return true;
    }

    Connection& m_connection;
    const IdSet& m_found;
    const std::size_t m_limit;
    QueryEvaluation m_evaluation;
    NamePlace m_model;
    NamePlace m_module;
    std::int64_t m_number = 0;
    std::vector<std::int64_t> m_collections;
    PageOfIds m_page;
    SearchCursor m_last;
};

}  // namespace

PageOfIds selectPage(Connection& connection, VersionColumns& columns, const IdSet& found, SortKey sort,
                     const std::optional<SearchCursor>& cursor, int limit) {
    const auto wanted = static_cast<std::size_t>(limit);
    if (sort == SortKey::Name) {
        return NameSelection(connection, columns, found, cursor, wanted).select();
    }
    return selectByNumber(connection, columns, found, sort, cursor, wanted);
}

}  // namespace modulelens::registry
