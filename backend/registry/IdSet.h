// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace modulelens::registry {

/// A set of row ids below a bound, one bit each: what a search works with in memory. Externally synchronised.
class IdSet {
public:
    static constexpr std::size_t kWordBits = 64;

    explicit IdSet(std::size_t bound) : m_bound(bound), m_words((bound + kWordBits - 1) / kWordBits) {}

    [[nodiscard]] std::size_t bound() const { return m_bound; }
    /// Ids at or above the bound are ignored.
    void add(std::size_t id) {
        if (id < m_bound) {
            m_words[id / kWordBits] |= std::uint64_t{1} << (id % kWordBits);
        }
    }
    [[nodiscard]] bool contains(std::size_t id) const {
        return id < m_bound && ((m_words[id / kWordBits] >> (id % kWordBits)) & 1) != 0;
    }
    /// 64 ids at once, from `first` on. Requires: a multiple of 64.
    void addWord(std::size_t first, std::uint64_t word) {
        if (first < m_bound) {
            const std::size_t here = m_bound - first;
            m_words[first / kWordBits] |= here < kWordBits ? word & ((std::uint64_t{1} << here) - 1) : word;
        }
    }
    [[nodiscard]] std::uint64_t wordAt(std::size_t first) const { return first < m_bound ? m_words[first / kWordBits] : 0; }
    [[nodiscard]] std::int64_t count() const {
        std::int64_t total = 0;
        for (const std::uint64_t word : m_words) {
            total += std::popcount(word);
        }
        return total;
    }

    // Requires of all three: the same bound.
    void unite(const IdSet& other) {
        for (std::size_t i = 0; i < m_words.size(); ++i) {
            m_words[i] |= other.m_words[i];
        }
    }
    void intersect(const IdSet& other) {
        for (std::size_t i = 0; i < m_words.size(); ++i) {
            m_words[i] &= other.m_words[i];
        }
    }
    void subtract(const IdSet& other) {
        for (std::size_t i = 0; i < m_words.size(); ++i) {
            m_words[i] &= ~other.m_words[i];
        }
    }

    /// Calls `visit(id)` in ascending order.
    template <class Visit>
    void forEach(Visit&& visit) const {
        for (std::size_t i = 0; i < m_words.size(); ++i) {
            for (std::uint64_t word = m_words[i]; word != 0; word &= word - 1) {
                visit(i * kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
            }
        }
    }

    /// The same in descending order.
    template <class Visit>
    void forEachDescending(Visit&& visit) const {
        for (std::size_t i = m_words.size(); i-- > 0;) {
            for (std::uint64_t word = m_words[i]; word != 0;) {
                const auto bit = kWordBits - 1 - static_cast<std::size_t>(std::countl_zero(word));
                word &= ~(std::uint64_t{1} << bit);
                visit(i * kWordBits + bit);
            }
        }
    }

    /// The ids for which `holds(id)`, of those below `limit`.
    template <class Holds>
    [[nodiscard]] static IdSet where(std::size_t bound, std::size_t limit, Holds&& holds) {
        IdSet set(bound);
        const std::size_t end = std::min(bound, limit);
        for (std::size_t first = 0; first < end; first += kWordBits) {
            std::uint64_t word = 0;
            const std::size_t here = std::min(kWordBits, end - first);
            for (std::size_t bit = 0; bit < here; ++bit) {
                word |= std::uint64_t{holds(first + bit)} << bit;
            }
            set.m_words[first / kWordBits] = word;
        }
        return set;
    }

private:
    std::size_t m_bound = 0;
    std::vector<std::uint64_t> m_words;
};

}  // namespace modulelens::registry
