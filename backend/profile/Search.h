// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/Profile.h"

namespace modulelens::profile {

/// How a scope relates to the matches of a search; the strongest that applies, in this order.
enum class SearchState : std::uint8_t { Match, InsideMatch, HoldsMatch, None };

/// Which scopes match a text, shared by all views. Immutable after construction.
class SearchResult {
public:
    SearchResult() = default;

    [[nodiscard]] SearchState state(ScopeId scope) const { return m_states[static_cast<std::size_t>(scope)]; }
    /// Matching scopes in preorder.
    [[nodiscard]] const std::vector<ScopeId>& matches() const { return m_matches; }
    /// Matches that lie in no other match: their totals add up without counting anything twice.
    [[nodiscard]] const std::vector<ScopeId>& outermost() const { return m_outermost; }

private:
    friend SearchResult search(const Profile& profile, std::string_view needle);
    std::vector<SearchState> m_states;
    std::vector<ScopeId> m_matches;
    std::vector<ScopeId> m_outermost;
};

/// Finds `needle`, ASCII letters in any case, in the names and classes of scopes and, for modules, in qualified names when
/// the hit reaches into the last segment ("layers.3" finds layers.3, not layers.3.attn). Every distinct text is looked at
/// once, then every scope once. An empty needle matches nothing.
[[nodiscard]] SearchResult search(const Profile& profile, std::string_view needle);

/// Sum of the totals of the outermost matches in one column, unknown ones left out.
/// Requires: a metric whose totals add up (not Combine::Max).
[[nodiscard]] std::int64_t matchedTotal(const SearchResult& result, const Column& column);

} // namespace modulelens::profile
