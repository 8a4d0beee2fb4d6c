// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Search.h"

#include <algorithm>

namespace modulelens::profile {

namespace {

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string lowered(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), lower);
    return result;
}

constexpr std::uint8_t kAnywhere = 1;
constexpr std::uint8_t kInLastSegment = 2;

/// Where the needle stands in each text of the profile.
std::vector<std::uint8_t> hitsByText(const Profile& profile, const std::string& needle) {
    std::vector<std::uint8_t> hits(static_cast<std::size_t>(profile.textCount()), 0);
    for (std::int32_t id = 0; id < profile.textCount(); ++id) {
        const std::string text = lowered(profile.text(id));
        const std::size_t last = text.rfind(needle);
        if (last == std::string::npos) {
            continue;
        }
        const std::size_t dot = text.rfind('.');
        const bool reachesLast = dot == std::string::npos || last + needle.size() > dot + 1;
        hits[static_cast<std::size_t>(id)] = static_cast<std::uint8_t>(kAnywhere | (reachesLast ? kInLastSegment : 0));
    }
    return hits;
}

bool isMatch(const Profile& profile, ScopeId scope, const std::vector<std::uint8_t>& hits) {
    const auto hit = [&](std::int32_t id, std::uint8_t which) { return (hits[static_cast<std::size_t>(id)] & which) != 0; };
    return hit(profile.nameId(scope), kAnywhere) || hit(profile.classId(scope), kAnywhere) ||
           (profile.kind(scope) == ScopeKind::Module && hit(profile.pathId(scope), kInLastSegment));
}

} // namespace

SearchResult search(const Profile& profile, std::string_view needle) {
    SearchResult result;
    result.m_states.assign(static_cast<std::size_t>(profile.scopeCount()), SearchState::None);
    if (needle.empty()) {
        return result;
    }
    const std::vector<std::uint8_t> hits = hitsByText(profile, lowered(needle));
    ScopeId insideUntil = 0;
    for (ScopeId scope = 0; scope < profile.scopeCount(); ++scope) {
        SearchState& state = result.m_states[static_cast<std::size_t>(scope)];
        if (isMatch(profile, scope, hits)) {
            state = SearchState::Match;
            result.m_matches.push_back(scope);
            if (scope >= insideUntil) {
                result.m_outermost.push_back(scope);
                insideUntil = profile.subtreeEnd(scope);
            }
        } else if (scope < insideUntil) {
            state = SearchState::InsideMatch;
        }
    }
    for (const ScopeId match : result.m_outermost) {
        for (ScopeId above = profile.parent(match); above >= 0; above = profile.parent(above)) {
            SearchState& state = result.m_states[static_cast<std::size_t>(above)];
            if (state != SearchState::None) {
                break;
            }
            state = SearchState::HoldsMatch;
        }
    }
    return result;
}

std::int64_t matchedTotal(const SearchResult& result, const Column& column) {
    std::int64_t sum = 0;
    for (const ScopeId scope : result.outermost()) {
        const std::int64_t value = column.total[static_cast<std::size_t>(scope)];
        sum += value == kUnknown ? 0 : value;
    }
    return sum;
}

} // namespace modulelens::profile
