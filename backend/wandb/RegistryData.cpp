// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/RegistryData.h"

#include "backend/base/Digest.h"
#include "backend/capture/Safetensors.h"
#include "backend/registry/Timestamp.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace modulelens::wandb {

namespace {

namespace fs = std::filesystem;

/// How long an answer of the server is used for further questions of the same sight.
constexpr std::chrono::seconds kFresh{20};
constexpr std::uint64_t kDocumentBytes = std::uint64_t{1} << 30;

std::string rowsName(const SignIn& signIn, const RegistryAddress& address) {
    return "rows/" + base::md5Hex(signIn.baseUrl + '\n' + address.text()) + ".json";
}

/// The folder and name of a path in an artifact: "nodes/<digest>.json" of "state/nodes/<digest>.json".
std::string suffixOf(const std::string& path) {
    const std::size_t slash = path.find('/');
    return slash == std::string::npos || path.starts_with("runs/") ? path : path.substr(slash + 1);
}

}  // namespace

bool isOffline(const base::Error& error) {
    return error.code == base::ErrorCode::Unavailable || error.code == base::ErrorCode::Timeout;
}

WandbRegistry::Data::Data(base::FileSystem& fileSystem, RegistryAddress where, OpenOptions given)
    : files(fileSystem),
      address(std::move(where)),
      options(std::move(given)),
      service(options.signIn, options.onRetry),
      cache(files, options.cacheFolder, options.cacheLimit),
      downloader(service, cache),
      mirror(cache, rowsName(options.signIn, address)) {}

base::Result<Organization> WandbRegistry::Data::organization() {
    {
        const base::MutexLock lock(mutex);
        if (organizationKnown) {
            return *organizationKnown;
        }
    }
    base::Result<Organization> found = service.organizationOf(address.entity, options.stop);
    if (found) {
        if (auto there = service.checkRegistry(*found, registryProject(address.registry), options.stop); !there) {
            return there.error();
        }
        mirror.setOrganization(*found);
        const base::MutexLock lock(mutex);
        organizationKnown = *found;
    } else if (const auto before = mirror.organization(); before && isOffline(found.error())) {
        return *before;
    }
    return found;
}

base::Result<std::vector<ListedVersion>> WandbRegistry::Data::ask(const RowFilter& filter) {
    const auto of = organization();
    if (!of) {
        return of.error();
    }
    std::vector<VersionRow> rows;
    const auto done = service.versions(
        *of, registryProject(address.registry), filter,
        [&](std::vector<VersionRow> page) {
            rows.insert(rows.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
        },
        options.stop);
    if (!done) {
        return done.error();
    }
    const RowFilter everything = serverFilter({});
    mirror.take(rows, filter.collections == everything.collections && filter.versions.empty(),
                registry::currentUtcMicroseconds());
    std::vector<ListedVersion> listed;
    for (const VersionRow& row : rows) {
        if (auto version = listedVersion(row)) {
            listed.push_back(*std::move(version));
        }
    }
    return listed;
}

std::vector<ListedVersion> WandbRegistry::Data::remembered() {
    std::vector<ListedVersion> listed;
    std::int64_t oldest = registry::currentUtcMicroseconds();
    for (const SeenRow& seen : mirror.rows()) {
        if (auto version = listedVersion(seen.row)) {
            oldest = std::min(oldest, seen.seen);
            listed.push_back(*std::move(version));
        }
    }
    const base::MutexLock lock(mutex);
    seenAt = registry::formatUtc(oldest);
    return listed;
}

base::Result<std::vector<ListedVersion>> WandbRegistry::Data::find(const std::string& text) {
    const base::Result<registry::Query> query = registry::parseQuery(text);
    if (!query) {
        return query.error();
    }
    const RowFilter filter = serverFilter(*query);
    const std::string key = filter.collections + '\n' + filter.versions;
    std::vector<ListedVersion> all;
    bool isFresh = false;
    {
        const base::MutexLock lock(mutex);
        const auto answer = answers.find(key);
        if (answer != answers.end() && std::chrono::steady_clock::now() - answer->second.at < kFresh) {
            all = answer->second.versions;
            isFresh = true;
        }
    }
    if (!isFresh) {
        base::Result<std::vector<ListedVersion>> asked = ask(filter);
        if (!asked && (!isOffline(asked.error()) || mirror.rows().empty())) {
            return asked.error();
        }
        const bool isAnswered = asked.hasValue();
        all = isAnswered ? *std::move(asked) : remembered();
        const base::MutexLock lock(mutex);
        if (isAnswered) {
            seenAt.clear();
            answers[key] = {all, std::chrono::steady_clock::now()};
        }
    }
    std::erase_if(all, [&](const ListedVersion& version) { return !matches(*query, version); });
    return all;
}

base::Result<VersionRow> WandbRegistry::Data::rowAt(const std::string& collection, const std::string& alias) {
    const auto of = organization();
    if (!of) {
        return of.error();
    }
    base::Result<VersionRow> row =
        service.version({of->entity, registryProject(address.registry), collection}, alias, options.stop);
    if (row) {
        mirror.take({*row}, false, registry::currentUtcMicroseconds());
        return row;
    }
    std::optional<SeenRow> seen = mirror.findAlias(collection, alias);
    if (const auto place = versionPlace(collection + '-' + alias); place && !seen) {
        seen = mirror.find(place->collection, place->number);
    }
    if (seen && isOffline(row.error())) {
        const base::MutexLock lock(mutex);
        seenAt = registry::formatUtc(seen->seen);
        return seen->row;
    }
    return row;
}

base::Result<VersionRow> WandbRegistry::Data::freshRow(const std::string& id) {
    const auto place = versionPlace(id);
    if (!place) {
        return base::Error{base::ErrorCode::NotFound,
                           "There is no version '" + id.substr(0, 200) + "' in " + address.text() + ".", ""};
    }
    return rowAt(place->collection, "v" + std::to_string(place->number));
}

base::Result<VersionRow> WandbRegistry::Data::rowOf(const std::string& id) {
    if (const auto place = versionPlace(id)) {
        if (const auto seen = mirror.find(place->collection, place->number); seen && seen->row.isAvailable) {
            return seen->row;
        }
    }
    return freshRow(id);
}

void WandbRegistry::Data::changed(const VersionRow& row) {
    {
        const base::MutexLock lock(mutex);
        answers.clear();
    }
    (void)rowAt(row.place.collection, "v" + std::to_string(row.number));
}

base::Result<std::map<std::string, fs::path>> WandbRegistry::Data::fetch(const VersionRow& row, const Manifest& manifest,
                                                                         const std::vector<std::string>& paths) {
    return downloader.fetch(row, manifest, paths, options.stop, options.onBytes);
}

base::Result<Manifest> WandbRegistry::Data::manifestOf(const VersionRow& row) {
    const std::string id = versionId(row.place.collection, row.number);
    {
        const base::MutexLock lock(mutex);
        const auto found = known.find(id);
        if (found != known.end() && found->second.row.digest == row.digest) {
            return found->second.manifest;
        }
    }
    base::Result<Manifest> manifest = downloader.manifest(row, options.stop);
    if (manifest) {
        const base::MutexLock lock(mutex);
        known[id] = {row, *manifest};
        for (const auto& [path, entry] : manifest->entries) {
            places[suffixOf(path)] = {id, path};
        }
    }
    return manifest;
}

void WandbRegistry::Data::loadKeptManifests() {
    for (const SeenRow& seen : mirror.rows()) {
        if (seen.row.isAvailable &&
            cache.document("manifests/" + base::md5Hex(options.signIn.baseUrl + '\n' + seen.row.artifact) + ".json")) {
            (void)manifestOf(seen.row);
        }
    }
}

base::Result<fs::path> WandbRegistry::Data::fileOf(const std::string& suffix, const std::string& what) {
    for (int tries = 0; tries < 2; ++tries) {
        std::optional<KnownVersion> version;
        std::string path;
        {
            const base::MutexLock lock(mutex);
            if (const auto place = places.find(suffix); place != places.end()) {
                version = known.at(place->second.first);
                path = place->second.second;
            }
        }
        if (version) {
            const auto fetched = fetch(version->row, version->manifest, {path});
            return fetched ? base::Result<fs::path>(fetched->at(path)) : base::Result<fs::path>(fetched.error());
        }
        if (tries == 0) {
            loadKeptManifests();
        }
    }
    return base::Error{base::ErrorCode::NotFound, "No version of " + address.text() + " that was opened here has " + what + ".",
                       "Open the version that it belongs to first."};
}

base::Result<std::string> WandbRegistry::Data::textOf(const std::string& suffix, const std::string& digest,
                                                      const std::string& what) {
    const auto file = fileOf(suffix, what + " " + digest);
    if (!file) {
        return file.error();
    }
    base::Result<std::string> text = files.read(*file, kDocumentBytes);
    if (text && base::sha256Hex(*text) != digest) {
        return base::Error{base::ErrorCode::Corrupt,
                           "The " + what + " " + digest + " of " + address.text() + " does not match its digest.",
                           "Publish the version again."};
    }
    return text;
}

base::Result<std::optional<VersionRow>> WandbRegistry::Data::runRow(const std::string& digest) {
    const auto of = organization();
    if (!of) {
        return of.error();
    }
    std::optional<VersionRow> found;
    const nlohmann::json filter = {{"metadata.run_digest", digest}};
    const auto done = service.versions(
        *of, registryProject(address.registry), {"{\"name\":{\"$regex\":\"^registered_model_\"}}", filter.dump()},
        [&](const std::vector<VersionRow>& page) {
            for (const VersionRow& row : page) {
                const auto run = listedRun(row);
                if (run && run->digest == digest) {
                    found = row;
                }
            }
        },
        options.stop);
    if (done) {
        if (found) {
            mirror.take({*found}, false, registry::currentUtcMicroseconds());
        }
        return found;
    }
    if (isOffline(done.error())) {
        for (const SeenRow& seen : mirror.rows()) {
            const auto run = listedRun(seen.row);
            if (run && run->digest == digest) {
                return std::optional(seen.row);
            }
        }
    }
    return done.error();
}

base::Result<void> WandbRegistry::Data::readTensors(const fs::path& file) {
    const auto mapped = files.map(file);
    if (!mapped) {
        return mapped.error();
    }
    const auto header = capture::readSafetensorsHeader((*mapped)->bytes(), file.filename().string());
    if (!header) {
        return header.error();
    }
    const base::MutexLock lock(mutex);
    for (const auto& [key, entry] : header->entries) {
        tensorPlaces[key] = {file, entry.offset, entry.sizeBytes};
    }
    return {};
}

base::Result<void> WandbRegistry::Data::findSmallTensors(const std::vector<std::string>& digests) {
    const auto isComplete = [&] {
        const base::MutexLock lock(mutex);
        for (const std::string& digest : digests) {
            if (!tensorPlaces.contains(digest)) {
                return false;
            }
        }
        return true;
    };
    std::map<std::string, KnownVersion> versions;
    {
        const base::MutexLock lock(mutex);
        versions = known;
    }
    for (const auto& [id, version] : versions) {
        for (const auto& [path, entry] : version.manifest.entries) {
            if (isComplete()) {
                return {};
            }
            if (suffixOf(path).starts_with("tensors/small-")) {
                const auto fetched = fetch(version.row, version.manifest, {path});
                if (!fetched) {
                    return fetched.error();
                }
                if (auto read = readTensors(fetched->at(path)); !read) {
                    return read;
                }
            }
        }
    }
    return {};
}

}  // namespace modulelens::wandb
