// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Registry.h"

#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace modulelens::test {

/// What a registry must hold: what was acknowledged.
struct SoakState {
    std::map<std::string, std::set<std::string>> live;   ///< Tags by id of the version.
    std::map<std::string, std::set<std::string>> trashed;

    bool operator==(const SoakState&) const = default;
};

struct SoakCounts {
    int kills = 0;            ///< Processes that died inside of the registry.
    int survived = 0;         ///< Processes that were done before their time came.
    int faults = 0;           ///< Operations that an injected fault made fail.
    int unaffected = 0;       ///< Operations that the fault did not meet.
    int acknowledged = 0;     ///< Operations that were acknowledged, over all.
    int lost = 0;             ///< Acknowledged, and not there afterwards.
    int corrupt = 0;          ///< Openings after which the self-check found something.
    std::vector<std::string> findings;
};

/// Kills processes at random points of import, tag, delete, restore, store and gc, and makes the files of a registry fail; after each, the
/// registry must hold what was acknowledged and its self-check must find nothing. Confined to its thread; makes child processes.
class RegistrySoak {
public:
    /// Works in `folder`, which is made.
    RegistrySoak(std::filesystem::path folder, unsigned seed);

    /// One process that works until it is killed, one check.
    void kill();
    /// One operation with one fault: a full or broken disk at a random change, a write cut short, a full disk under the database, a
    /// power cut that takes what was not synced.
    void fault();

    [[nodiscard]] const SoakCounts& counts() const { return m_counts; }

private:
    void startAnew();
    int number(int bound) { return static_cast<int>(m_random() % static_cast<unsigned>(bound)); }
    void find(const std::string& finding, int& counter);
    /// Reads what a child wrote into `pipe` until its end; what it began last and did not finish is returned.
    /// `uncertain` gets the versions that were in the trash when collecting garbage failed: some of it may have been done.
    std::string followChild(int pipe, SoakState& state, std::set<std::string>& uncertain);
    void checkAgainst(SoakState expected, const std::string& unfinished, const std::set<std::string>& uncertain);
    [[nodiscard]] std::optional<SoakState> stateOf(registry::LocalRegistry& registry);

    const std::filesystem::path m_folder;
    std::filesystem::path m_registry;
    std::vector<std::filesystem::path> m_bundles;
    std::mt19937 m_random;
    SoakState m_state;
    SoakCounts m_counts;
    int m_rounds = 0;
};

} // namespace modulelens::test
