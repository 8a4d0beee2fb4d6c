// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/QueryCompletion.h"

#include "backend/registry/Query.h"
#include "backend/registry/Registry.h"

#include <algorithm>
#include <array>

namespace modulelens::registry {

namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kOperators = ":=<>";
constexpr std::string_view kAttribute = "attr.";
constexpr std::array<std::string_view, 7> kNamedFields{"model", "module", "class", "tag", "alias", "device", "dtype"};

/// The word at the cursor.
struct Word {
    std::size_t from = 0;
    std::size_t until = 0;
    bool isQuoted = false;      ///< A quotation is open where the cursor stands.
    std::size_t quoteFrom = 0;  ///< Its quote.
};

Word wordAt(std::string_view query, std::size_t cursor) {
    Word word;
    for (std::size_t at = 0; at < cursor; ++at) {
        if (word.isQuoted && query[at] == '\\') {
            ++at;
        } else if (query[at] == '"') {
            word.isQuoted = !word.isQuoted;
            word.quoteFrom = at;
        } else if (!word.isQuoted && kSpaces.find(query[at]) != std::string_view::npos) {
            word.from = at + 1;
        }
    }
    const std::size_t end = word.isQuoted ? query.find('"', cursor) : query.find_first_of(kSpaces, cursor);
    word.until = end == std::string_view::npos ? query.size() : end + (word.isQuoted ? 1 : 0);
    return word;
}

/// Collects completions up to a limit. Confined to its thread.
class Completer {
public:
    Completer(Registry& registry, std::string_view query, std::size_t cursor, int limit)
        : m_registry(registry), m_query(query), m_cursor(std::min(cursor, query.size())), m_limit(limit) {}

    base::Result<std::vector<QueryCompletion>> complete() {
        const Word word = wordAt(m_query, m_cursor);
        std::size_t begin = word.from;
        if (begin < m_cursor && m_query[begin] == '-') {
            ++begin;
        }
        const std::string_view typed = m_query.substr(begin, m_cursor - begin);
        const std::size_t sign = typed.find_first_of(kOperators);
        base::Result<void> done;
        if (sign != std::string_view::npos) {
            std::size_t value = typed.find_first_not_of(kOperators, sign);
            value = begin + (value == std::string_view::npos ? typed.size() : value);
            done = addValues(typed.substr(0, sign), value, word);
        } else if (!word.isQuoted) {
            done = typed.starts_with(kAttribute)
                       ? addNames("attr", "attr.", "=", begin, typed.substr(kAttribute.size()), word.until)
                       : addFields(typed, begin, word.until);
        }
        if (!done) {
            return done.error();
        }
        return std::move(m_found);
    }

private:
    [[nodiscard]] bool isFull() const { return m_found.size() >= static_cast<std::size_t>(std::max(m_limit, 0)); }
    void add(QueryCompletion completion) {
        if (!isFull()) {
            m_found.push_back(std::move(completion));
        }
    }

    base::Result<void> addFields(std::string_view typed, std::size_t from, std::size_t until) {
        for (const QueryFieldDescription& field : queryFieldDescriptions()) {
            if (field.prefix.starts_with(typed) && field.prefix != "-") {
                add({std::string(field.prefix), std::string(field.meaning), from, until});
            }
        }
        // A name that holds the word is more exact with its field.
        for (std::size_t i = 0; !typed.empty() && i < 4; ++i) {
            const std::string field(kNamedFields[i]);
            if (base::Result<void> done = addNames(field, field + ":", "", from, typed, until); !done) {
                return done;
            }
        }
        return {};
    }

    base::Result<void> addValues(std::string_view field, std::size_t from, const Word& word) {
        std::string_view typed = m_query.substr(from, m_cursor - from);
        if (typed.starts_with('"')) {
            if (!word.isQuoted) {
                return {};
            }
            typed.remove_prefix(1);
        }
        if (field == "is") {
            for (const QueryFieldDescription& state : queryFieldDescriptions()) {
                if (state.prefix.starts_with("is:") && state.prefix.substr(3).starts_with(typed)) {
                    add({std::string(state.prefix.substr(3)), std::string(state.meaning), from, word.until});
                }
            }
            return {};
        }
        const bool isNamed = std::find(kNamedFields.begin(), kNamedFields.end(), field) != kNamedFields.end();
        return isNamed ? addNames(std::string(field), "", "", from, typed, word.until) : base::Result<void>();
    }

    base::Result<void> addNames(const std::string& field, const std::string& before, const std::string& after, std::size_t from,
                                std::string_view typed, std::size_t until) {
        if (isFull()) {
            return {};
        }
        const base::Result<std::vector<std::string>> names = m_registry.namesLike(field, std::string(typed), m_limit);
        if (!names) {
            return names.error();
        }
        for (const std::string& name : *names) {
            add({before + quotedForQuery(name) + after, {}, from, until});
        }
        return {};
    }

    Registry& m_registry;
    const std::string_view m_query;
    const std::size_t m_cursor;
    const int m_limit;
    std::vector<QueryCompletion> m_found;
};

}  // namespace

base::Result<std::vector<QueryCompletion>> completeQuery(Registry& registry, std::string_view query, std::size_t cursor,
                                                         int limit) {
    return Completer(registry, query, cursor, limit).complete();
}

std::string quotedForQuery(const std::string& value) {
    const bool isPlain = !value.empty() && value.find_first_of(" \t\r\n\"\\") == std::string::npos &&
                         kOperators.find(value.front()) == std::string_view::npos;
    if (isPlain) {
        return value;
    }
    std::string quoted = "\"";
    for (const char c : value) {
        quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return quoted + '"';
}

}  // namespace modulelens::registry
