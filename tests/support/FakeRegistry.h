// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/registry/Registry.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace modulelens::test {

/// A registry in memory with a few versions and a small query language: words that model, module or class contain, and
/// `model=`, `module=`, `tag:`. The query "broken" is refused at character 3. What it does not keep is NotFound. Thread-safe.
class FakeRegistry : public registry::Registry {
public:
    using Summaries = std::vector<registry::VersionSummary>;

    void add(registry::VersionSummary version) {
        const std::lock_guard lock(m_mutex);
        if (version.id.empty()) {
            version.id = "id" + std::to_string(m_versions.size());
        }
        m_versions.push_back(std::move(version));
    }

    /// Versions v0 to v(count - 1) of one module.
    void addModule(const std::string& model, const std::string& module, const std::string& className, int count,
                   const std::vector<std::string>& tags = {}) {
        for (int number = 0; number < count; ++number) {
            registry::VersionSummary version;
            version.model = model;
            version.module = module;
            version.className = className;
            version.number = number;
            version.tags = tags;
            version.created = "2026-11-30T12:00:00Z";
            version.device = "cpu";
            version.program = "p";
            add(version);
        }
    }

    [[nodiscard]] std::string displayName() const override { return "fake"; }

    [[nodiscard]] base::Result<registry::SearchPage> search(const registry::SearchRequest& request) override {
        base::Result<Summaries> found = find(request.query);
        if (!found) {
            return found.error();
        }
        registry::SearchPage page;
        page.total = static_cast<std::int64_t>(found->size());
        const std::size_t from = request.cursor.empty() ? 0 : std::stoul(request.cursor);
        for (std::size_t i = from; i < found->size(); ++i) {
            if (page.versions.size() == static_cast<std::size_t>(request.limit)) {
                page.nextCursor = std::to_string(i);
                break;
            }
            page.versions.push_back((*found)[i]);
        }
        return page;
    }

    [[nodiscard]] base::Result<std::vector<registry::GroupSummary>> models(const std::string& query) override {
        return grouped(query, [](const registry::VersionSummary& v) { return v.model; });
    }

    [[nodiscard]] base::Result<std::vector<registry::GroupSummary>> modules(const std::string& model,
                                                                            const std::string& query) override {
        return grouped(query + " model=" + model, [](const registry::VersionSummary& v) { return v.module; });
    }

    [[nodiscard]] base::Result<std::vector<registry::FacetValue>> facet(const std::string& field,
                                                                        const std::string& query) override {
        const base::Result<Summaries> found = find(query);
        if (!found) {
            return found.error();
        }
        std::map<std::string, std::int64_t> counts;
        for (const registry::VersionSummary& version : *found) {
            if (field == "tag") {
                for (const std::string& tag : version.tags) {
                    ++counts[tag];
                }
            } else {
                ++counts[field == "model" ? version.model : field == "class" ? version.className : version.device];
            }
        }
        std::vector<registry::FacetValue> values;
        values.reserve(counts.size());
        for (const auto& [value, count] : counts) {
            values.push_back({value, count});
        }
        return values;
    }

    [[nodiscard]] base::Result<registry::VersionSummary> resolve(const std::string& addressOrId) override {
        const std::lock_guard lock(m_mutex);
        for (const registry::VersionSummary& version : m_versions) {
            if (version.id == addressOrId ||
                version.model + "::" + version.module + "@v" + std::to_string(version.number) == addressOrId) {
                return version;
            }
        }
        return missing();
    }

    [[nodiscard]] base::Result<void> addTag(const std::string& id, const std::string& tag) override {
        return change(id, [&tag](registry::VersionSummary& version) { version.tags.push_back(tag); });
    }
    [[nodiscard]] base::Result<void> removeTag(const std::string& id, const std::string& tag) override {
        return change(id, [&tag](registry::VersionSummary& version) { std::erase(version.tags, tag); });
    }
    [[nodiscard]] base::Result<void> setAlias(const std::string& id, const std::string& alias) override {
        return change(id, [&alias](registry::VersionSummary& version) { version.aliases.push_back(alias); });
    }
    [[nodiscard]] base::Result<void> removeAlias(const std::string& id, const std::string& alias) override {
        return change(id, [&alias](registry::VersionSummary& version) { std::erase(version.aliases, alias); });
    }

    [[nodiscard]] base::Result<capture::VersionDocument> versionDocument(const std::string&) override { return missing(); }
    [[nodiscard]] base::Result<capture::NodeDocument> node(const std::string&) override { return missing(); }
    [[nodiscard]] base::Result<std::string> nodeText(const std::string&) override { return missing(); }
    [[nodiscard]] base::Result<std::string> source(const std::string&) override { return missing(); }
    [[nodiscard]] base::Result<std::map<std::string, registry::FileExtent>> tensors(const std::vector<std::string>&) override {
        return missing();
    }
    [[nodiscard]] base::Result<registry::FileExtent> program(const std::string&) override { return missing(); }
    [[nodiscard]] base::Result<std::vector<registry::RunSummary>> runs(const std::string&) override {
        return std::vector<registry::RunSummary>();
    }
    [[nodiscard]] base::Result<capture::RunRecord> runRecord(const std::string&) override { return missing(); }
    [[nodiscard]] base::Result<std::optional<registry::RunSummary>> runOf(const std::string&) override {
        return std::optional<registry::RunSummary>();
    }
    [[nodiscard]] base::Result<void> setAttribute(const std::string&, const std::string&,
                                                  const registry::AttributeValue&) override {
        return missing();
    }
    [[nodiscard]] base::Result<void> removeAttribute(const std::string&, const std::string&) override { return missing(); }
    [[nodiscard]] base::Result<void> remove(const std::string&) override { return missing(); }
    [[nodiscard]] base::Result<registry::StoredResult> storeResult(const std::string&,
                                                                   const registry::StoredResult& result) override {
        return result;
    }
    [[nodiscard]] base::Result<std::vector<registry::StoredResult>> results(const std::string&, const std::string&) override {
        return std::vector<registry::StoredResult>();
    }

private:
    [[nodiscard]] static base::Error missing() {
        return {base::ErrorCode::NotFound, "The fake registry does not keep this.", ""};
    }

    [[nodiscard]] base::Result<Summaries> find(const std::string& query) {
        if (query.find("broken") != std::string::npos) {
            return base::Error{base::ErrorCode::InvalidArgument, "Unknown field at character 3:\n    broken\n      ^",
                               "Take it out."};
        }
        const std::lock_guard lock(m_mutex);
        Summaries found;
        for (const registry::VersionSummary& version : m_versions) {
            if (matches(version, query)) {
                found.push_back(version);
            }
        }
        return found;
    }

    [[nodiscard]] static bool matches(const registry::VersionSummary& version, const std::string& query) {
        std::size_t at = 0;
        while (at < query.size()) {
            const std::size_t end = std::min(query.find(' ', at), query.size());
            std::string word = query.substr(at, end - at);
            at = end + 1;
            std::erase(word, '"');
            const std::size_t sign = word.find_first_of("=:");
            const std::string field = sign == std::string::npos ? "" : word.substr(0, sign);
            const std::string value = sign == std::string::npos ? word : word.substr(sign + 1);
            const bool holds =
                word.empty()        ? true
                : field == "model"  ? version.model == value
                : field == "module" ? version.module == value
                : field == "tag"
                    ? std::find(version.tags.begin(), version.tags.end(), value) != version.tags.end()
                    : (version.model + " " + version.module + " " + version.className).find(value) != std::string::npos;
            if (!holds) {
                return false;
            }
        }
        return true;
    }

    template <class Name>
    [[nodiscard]] base::Result<std::vector<registry::GroupSummary>> grouped(const std::string& query, Name name) {
        const base::Result<Summaries> found = find(query);
        if (!found) {
            return found.error();
        }
        std::vector<registry::GroupSummary> groups;
        std::map<std::string, std::set<std::string>> modules;
        for (const registry::VersionSummary& version : *found) {
            auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == name(version); });
            if (group == groups.end()) {
                groups.push_back({name(version), 0, 0, version.className});
                group = groups.end() - 1;
            }
            ++group->versionCount;
            modules[group->name].insert(version.module);
            group->moduleCount = static_cast<std::int64_t>(modules[group->name].size());
        }
        return groups;
    }

    template <class Change>
    [[nodiscard]] base::Result<void> change(const std::string& id, Change edit) {
        const std::lock_guard lock(m_mutex);
        for (registry::VersionSummary& version : m_versions) {
            if (version.id == id) {
                edit(version);
                return {};
            }
        }
        return missing();
    }

    std::mutex m_mutex;
    Summaries m_versions;
};

} // namespace modulelens::test
