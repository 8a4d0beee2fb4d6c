// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/ValidationOrder.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace modulelens::operations {

namespace {

/// For each call of a run, the how-many-eth to end it was: what it calls ends before it.
std::vector<std::size_t> endingOrder(const capture::RunRecord& run) {
    std::vector<std::size_t> rank(run.calls.size());
    std::vector<std::size_t> open;
    std::size_t next = 0;
    const auto close = [&](int parent) {
        while (!open.empty() && static_cast<int>(open.back()) != parent) {
            rank[open.back()] = next++;
            open.pop_back();
        }
    };
    for (std::size_t i = 0; i < run.calls.size(); ++i) {
        close(run.calls[i].parent);
        open.push_back(i);
    }
    close(-1);
    return rank;
}

/// Runs by digest, each read once.
class Runs {
public:
    explicit Runs(registry::Registry& registry) : m_registry(registry) {}

    /// The run of a version; null when the registry does not have it.
    base::Result<const capture::RunRecord*> of(const std::string& id) {
        const base::Result<std::optional<registry::RunSummary>> summary = m_registry.runOf(id);
        if (!summary) {
            return summary.error();
        }
        if (!*summary) {
            return static_cast<const capture::RunRecord*>(nullptr);
        }
        const auto known = m_records.find((*summary)->digest);
        if (known != m_records.end()) {
            return &known->second;
        }
        base::Result<capture::RunRecord> record = m_registry.runRecord((*summary)->digest);
        if (!record) {
            return record.error();
        }
        return &m_records.emplace((*summary)->digest, *std::move(record)).first->second;
    }

private:
    registry::Registry& m_registry;
    std::map<std::string, capture::RunRecord> m_records;
};

/// The captured call of `digest` that ended first; the size of the run when there is none.
std::size_t endOf(const capture::RunRecord& run, const std::vector<std::size_t>& rank, const std::string& digest) {
    std::size_t end = run.calls.size();
    for (std::size_t i = 0; i < run.calls.size(); ++i) {
        if (run.calls[i].version == digest) {
            end = std::min(end, rank[i]);
        }
    }
    return end;
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result + '"';
}

/// Every version of a model by its digest.
base::Result<std::map<std::string, registry::VersionSummary>> versionsOfModel(registry::Registry& registry,
                                                                              const std::string& model) {
    std::map<std::string, registry::VersionSummary> versions;
    registry::SearchRequest request;
    request.query = "model=" + quoted(model);
    request.limit = 1000;
    do {
        const base::Result<registry::SearchPage> page = registry.search(request);
        if (!page) {
            return page.error();
        }
        for (const registry::VersionSummary& version : page->versions) {
            versions.emplace(version.versionDigest, version);
        }
        request.cursor = page->nextCursor;
    } while (!request.cursor.empty());
    return versions;
}

/// Numbers of objects and storages hold within one call only.
void dropIdentities(nlohmann::json& value) {
    if (value.is_object()) {
        value.erase("obj");
        value.erase("storage");
    }
    if (value.is_structured()) {
        for (nlohmann::json& item : value) {
            dropIdentities(item);
        }
    }
}

nlohmann::json beginningOf(const nlohmann::json& call) {
    static constexpr std::array kKeys = {"args",           "kwargs",   "method",       "training", "grad_mode",
                                         "inference_mode", "autocast", "state_before", "rng"};
    nlohmann::json beginning = nlohmann::json::object();
    for (const char* key : kKeys) {
        if (const auto found = call.find(key); found != call.end()) {
            beginning[key] = *found;
        }
    }
    dropIdentities(beginning);
    return beginning;
}

} // namespace

base::Result<std::vector<registry::VersionSummary>> versionsOfRun(registry::Registry& registry,
                                                                  const std::string& addressOrId) {
    const base::Result<registry::VersionSummary> top = registry.resolve(addressOrId);
    if (!top) {
        return top.error();
    }
    Runs runs(registry);
    const base::Result<const capture::RunRecord*> run = runs.of(top->id);
    if (!run) {
        return run.error();
    }
    if (*run == nullptr) {
        return base::Error{base::ErrorCode::NotFound,
                           "the run in which '" + addressOrId + "' was captured is not in the registry",
                           "Name the versions one by one."};
    }
    const std::vector<capture::RunCall>& calls = (*run)->calls;
    const base::Result<std::map<std::string, registry::VersionSummary>> known = versionsOfModel(registry, top->model);
    if (!known) {
        return known.error();
    }
    const std::vector<std::size_t> rank = endingOrder(**run);
    std::map<std::size_t, registry::VersionSummary> ordered;
    std::set<std::string> seen;
    std::vector<bool> isBelow(calls.size(), false);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const int parent = calls[i].parent;
        isBelow[i] = calls[i].version == top->versionDigest || (parent >= 0 && isBelow[static_cast<std::size_t>(parent)]);
        const auto version = known->find(calls[i].version);
        if (isBelow[i] && version != known->end() && seen.insert(calls[i].version).second) {
            ordered.emplace(endOf(**run, rank, calls[i].version), version->second);
        }
    }
    std::vector<registry::VersionSummary> versions;
    versions.reserve(ordered.size());
    for (auto& [end, version] : ordered) {
        versions.push_back(std::move(version));
    }
    return versions;
}

base::Result<std::vector<std::size_t>> executionOrder(registry::Registry& registry,
                                                      const std::vector<registry::VersionSummary>& versions) {
    struct Place {
        std::size_t run = 0;
        std::size_t end = 0;
        std::size_t index = 0;
        auto operator<=>(const Place&) const = default;
    };
    Runs runs(registry);
    std::map<const capture::RunRecord*, std::pair<std::size_t, std::vector<std::size_t>>> ranks;
    std::vector<Place> places;
    for (std::size_t i = 0; i < versions.size(); ++i) {
        const base::Result<const capture::RunRecord*> run = runs.of(versions[i].id);
        if (!run) {
            return run.error();
        }
        Place place{versions.size(), i, i};
        if (*run != nullptr) {
            auto rank = ranks.find(*run);
            if (rank == ranks.end()) {
                rank = ranks.emplace(*run, std::pair(ranks.size(), endingOrder(**run))).first;
            }
            place.run = rank->second.first;
            place.end = endOf(**run, rank->second.second, versions[i].versionDigest);
        }
        places.push_back(place);
    }
    std::sort(places.begin(), places.end());
    std::vector<std::size_t> order;
    order.reserve(places.size());
    for (const Place& place : places) {
        order.push_back(place.index);
    }
    return order;
}

base::Result<void> addSameCalls(registry::Registry& registry, const VersionInput& input, protocol::ValidateParams& params) {
    if (input.document.calls.size() < 2) {
        return {};
    }
    const nlohmann::json beginning = beginningOf(*input.call().json);
    for (std::size_t i = 0; i < input.document.calls.size(); ++i) {
        if (i == input.callIndex || beginningOf(*input.document.calls[i].json) != beginning) {
            continue;
        }
        VersionInput other = input;
        other.callIndex = i;
        base::Result<protocol::CallParams> call = callParams(registry, other);
        if (!call) {
            return call.error();
        }
        params.sameCalls.push_back(std::move(call->call));
        params.call.tensors.insert(params.call.tensors.end(), call->tensors.begin(), call->tensors.end());
    }
    return {};
}

} // namespace modulelens::operations
