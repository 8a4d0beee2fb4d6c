// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Exchange.h"

#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/registry/BundleExport.h"
#include "backend/registry/Timestamp.h"
#include "backend/wandb/VersionArtifact.h"

#include <unistd.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

namespace modulelens::wandb {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using registry::VersionSummary;

std::string quoted(const std::string& name) {
    std::string text = "\"";
    for (const char c : name) {
        text += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return text + '"';
}

/// True when the local registry has this very version.
base::Result<bool> isThere(registry::Registry& local, const VersionSummary& version) {
    registry::SearchRequest request;
    request.query = "model=" + quoted(version.model) + " module=" + quoted(version.module);
    request.limit = 1000;
    do {
        const auto page = local.search(request);
        if (!page) {
            return page.error();
        }
        if (std::any_of(page->versions.begin(), page->versions.end(),
                        [&](const VersionSummary& known) { return known.versionDigest == version.versionDigest; })) {
            return true;
        }
        request.cursor = page->nextCursor;
    } while (!request.cursor.empty());
    return false;
}

/// Publishes one after the other. Confined to its thread.
class Publication {
public:
    Publication(registry::Registry& from, base::FileSystem& files, Publisher& publisher, const std::stop_token& stop,
                const http::ByteProgress& progress)
        : m_from(from), m_files(files), m_publisher(publisher), m_stop(stop), m_progress(progress) {}

    base::Result<void> add(const std::string& addressOrId) {
        const auto version = m_from.resolve(addressOrId);
        if (!version) {
            return version.error();
        }
        const auto run = m_from.runOf(version->id);
        if (!run) {
            return run.error();
        }
        if (*run) {
            if (auto done = addRun(**run); !done) {
                return done;
            }
        }
        auto content = collectVersion(m_from, m_files, *version);
        if (!content) {
            return content.error();
        }
        for (const std::string& warning : content->warnings) {
            report.warnings.push_back(version->model + "::" + version->module + ": " + warning);
        }
        const auto outcome = m_publisher.publish(content->artifact, m_stop, m_progress);
        if (!outcome) {
            return outcome.error().within("publishing " + version->model + "::" + version->module);
        }
        report.bytesSent += outcome->bytesSent;
        report.bytesKnown += outcome->bytesKnown;
        report.versions.push_back(
            {*version, versionId(content->artifact.collection, outcome->number), outcome->number, outcome->wasThere});
        return {};
    }

    PublishReport report;

private:
    /// Runs come first, so that no version is visible without its run.
    base::Result<void> addRun(const registry::RunSummary& run) {
        if (!m_runs.insert(run.digest).second) {
            return {};
        }
        const auto content = collectRun(m_from, run);
        if (!content) {
            return content.error();
        }
        const auto outcome = m_publisher.publish(content->artifact, m_stop, m_progress);
        if (!outcome) {
            return outcome.error().within("publishing the run " + run.digest);
        }
        report.runs += outcome->wasThere ? 0 : 1;
        report.bytesSent += outcome->bytesSent;
        report.bytesKnown += outcome->bytesKnown;
        return {};
    }

    registry::Registry& m_from;
    base::FileSystem& m_files;
    Publisher& m_publisher;
    std::stop_token m_stop;
    const http::ByteProgress& m_progress;
    std::set<std::string> m_runs;
};

}  // namespace

base::Result<PublishReport> publishVersions(registry::Registry& from, base::FileSystem& files,
                                            const std::vector<std::string>& addressesOrIds, WandbRegistry& to,
                                            const std::string& seed, std::stop_token stop, const http::ByteProgress& progress) {
    return base::guarded("publishing", [&]() -> base::Result<PublishReport> {
        const auto target = to.publishTarget();
        if (!target) {
            return target.error();
        }
        Publisher publisher(to.service(), *target, seed);
        Publication publication(from, files, publisher, stop, progress);
        for (const std::string& address : addressesOrIds) {
            if (auto done = publication.add(address); !done) {
                return done.error();
            }
        }
        publisher.finish(stop);
        return std::move(publication.report);
    });
}

base::Result<registry::ImportReport> fetchVersions(WandbRegistry& from, const std::vector<std::string>& addressesOrIds,
                                                   registry::LocalRegistry& to, base::FileSystem& files, std::stop_token stop,
                                                   const registry::ByteProgress& progress) {
    return base::guarded("fetching", [&]() -> base::Result<registry::ImportReport> {
        std::vector<std::string> ids;
        int known = 0;
        for (const std::string& address : addressesOrIds) {
            const auto version = from.resolve(address);
            if (!version) {
                return version.error();
            }
            const auto there = isThere(to, *version);
            if (!there) {
                return there.error();
            }
            if (*there) {
                ++known;
                continue;
            }
            if (auto brought = from.bring(version->id); !brought) {
                return brought.error();
            }
            ids.push_back(version->id);
        }
        registry::ImportReport report;
        if (!ids.empty()) {
            const fs::path staging = from.cache().folder() / "fetching" / std::to_string(::getpid());
            if (auto gone = files.remove(staging); !gone) {
                return gone.error();
            }
            const auto exported = registry::exportBundles(from, files, ids, staging, stop, {});
            auto imported =
                exported ? to.import(staging, stop, progress) : base::Result<registry::ImportReport>(exported.error());
            (void)files.remove(staging);
            if (!imported) {
                return imported;
            }
            report = *std::move(imported);
            report.bundles.clear();
        }
        report.versionsKnown += known;
        return report;
    });
}

base::Result<QueuedPublication> PublishQueue::add(QueuedPublication publication) {
    std::random_device random;
    publication.created = registry::formatUtc(registry::currentUtcMicroseconds());
    publication.seed =
        base::sha256Hex(publication.created + std::to_string(random()) + std::to_string(random()) + std::to_string(::getpid()))
            .substr(0, 32);
    const json document = {{"schema", "modulelens.publication"}, {"schema_version", 1},
                           {"address", publication.address},     {"registry", publication.registryFolder},
                           {"versions", publication.versions},   {"created", publication.created}};
    if (auto kept = m_cache.keepDocument("queue/" + publication.seed + ".json",
                                         document.dump(-1, ' ', false, json::error_handler_t::replace));
        !kept) {
        return kept.error();
    }
    return publication;
}

base::Result<void> PublishQueue::remove(const std::string& seed) {
    return base::isLowerHex(seed, 32) ? m_cache.removeDocument("queue/" + seed + ".json") : base::Result<void>();
}

std::vector<QueuedPublication> PublishQueue::all() {
    std::vector<QueuedPublication> found;
    const auto names = m_cache.fileSystem().listFiles(m_cache.folder() / "queue");
    for (std::size_t i = 0; names && i < names->size(); ++i) {
        const std::string seed = (*names)[i].substr(0, (*names)[i].rfind(".json"));
        const auto text = base::isLowerHex(seed, 32) ? m_cache.document("queue/" + seed + ".json") : std::nullopt;
        const json document = text ? json::parse(*text, nullptr, false) : json();
        if (!document.is_object() || !document.contains("versions") || !document["versions"].is_array()) {
            continue;
        }
        QueuedPublication publication;
        publication.seed = seed;
        publication.address = document.value("address", "");
        publication.registryFolder = document.value("registry", "");
        publication.created = document.value("created", "");
        for (const json& version : document["versions"]) {
            publication.versions.push_back(version.is_string() ? version.get<std::string>() : std::string());
        }
        found.push_back(std::move(publication));
    }
    std::sort(found.begin(), found.end(),
              [](const QueuedPublication& a, const QueuedPublication& b) { return a.created < b.created; });
    return found;
}

}  // namespace modulelens::wandb
