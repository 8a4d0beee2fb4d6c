// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/registry/Timestamp.h"
#include "backend/wandb/RegistryData.h"
#include "backend/wandb/WandbRegistry.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace modulelens::wandb {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using registry::FileExtent;
using registry::RunSummary;
using registry::StoredResult;

constexpr std::uint64_t kResultBytes = std::uint64_t{1} << 30;

base::Result<void> checkDigest(const std::string& digest) {
    if (!base::isLowerHex(digest, 64)) {
        return base::Error{base::ErrorCode::InvalidArgument, "'" + digest.substr(0, 100) + "' is no digest.", ""};
    }
    return {};
}

json resultJson(const StoredResult& result) {
    return {{"id", result.id},
            {"kind", result.kind},
            {"created", result.created},
            {"device", result.device},
            {"engine", result.engine},
            {"json", result.json},
            {"file", result.file.filename().string()}};
}

}  // namespace

base::Result<std::string> WandbRegistry::versionText(const std::string& id) {
    return base::guarded("reading a version", [&]() -> base::Result<std::string> {
        const auto row = m_data->rowOf(id);
        if (!row) {
            return row.error();
        }
        const auto listed = listedVersion(*row);
        if (!listed) {
            return base::Error{base::ErrorCode::Unsupported, "'" + id + "' was not published by ModuleLens, or by a newer one.",
                               ""};
        }
        if (const auto manifest = m_data->manifestOf(*row); !manifest) {
            return manifest.error();
        }
        const std::string& digest = listed->summary.versionDigest;
        return m_data->textOf("versions/" + digest + ".json", digest, "version");
    });
}

base::Result<capture::VersionDocument> WandbRegistry::versionDocument(const std::string& id) {
    const auto text = versionText(id);
    if (!text) {
        return text.error();
    }
    return capture::parseVersionDocument(*text, base::sha256Hex(*text));
}

base::Result<void> WandbRegistry::bring(const std::string& id) {
    return base::guarded("downloading", [&]() -> base::Result<void> {
        const auto row = m_data->rowOf(id);
        if (!row) {
            return row.error();
        }
        const auto manifest = m_data->manifestOf(*row);
        if (!manifest) {
            return manifest.error();
        }
        std::vector<std::string> paths;
        for (const auto& [path, entry] : manifest->entries) {
            if (entry.reference.empty()) {
                paths.push_back(path);
            }
        }
        const auto fetched = m_data->fetch(*row, *manifest, paths);
        return fetched ? base::Result<void>() : base::Result<void>(fetched.error());
    });
}

base::Result<std::string> WandbRegistry::nodeText(const std::string& digest) {
    return base::guarded("reading a node", [&]() -> base::Result<std::string> {
        if (auto fit = checkDigest(digest); !fit) {
            return fit.error();
        }
        return m_data->textOf("nodes/" + digest + ".json", digest, "node");
    });
}

base::Result<capture::NodeDocument> WandbRegistry::node(const std::string& digest) {
    const auto text = nodeText(digest);
    if (!text) {
        return text.error();
    }
    return capture::parseNodeDocument(*text, digest);
}

base::Result<std::string> WandbRegistry::source(const std::string& digest) {
    return base::guarded("reading a source", [&]() -> base::Result<std::string> {
        if (auto fit = checkDigest(digest); !fit) {
            return fit.error();
        }
        return m_data->textOf("sources/" + digest + ".py", digest, "source");
    });
}

base::Result<FileExtent> WandbRegistry::program(const std::string& digest) {
    return base::guarded("reading a program", [&]() -> base::Result<FileExtent> {
        if (auto fit = checkDigest(digest); !fit) {
            return fit.error();
        }
        base::Result<fs::path> file = base::Error{};
        for (const char* suffix : {".pt2", ".torchscript", ".aotinductor"}) {
            file = m_data->fileOf("programs/" + digest + suffix, "program " + digest);
            if (file || file.error().code != base::ErrorCode::NotFound) {
                break;
            }
        }
        if (!file) {
            return file.error();
        }
        const auto mapped = m_data->files.map(*file);
        if (!mapped) {
            return mapped.error();
        }
        if (base::sha256Hex((*mapped)->bytes()) != digest) {
            return base::Error{base::ErrorCode::Corrupt,
                               "The program " + digest + " of " + m_data->address.text() + " does not match its digest.",
                               "Publish the version again."};
        }
        return FileExtent{*file, 0, (*mapped)->bytes().size()};
    });
}

base::Result<std::map<std::string, FileExtent>> WandbRegistry::tensors(const std::vector<std::string>& digests) {
    return base::guarded("reading tensors", [&]() -> base::Result<std::map<std::string, FileExtent>> {
        std::vector<std::string> missing;
        for (const std::string& digest : digests) {
            if (auto fit = checkDigest(digest); !fit) {
                return fit.error();
            }
            const base::MutexLock lock(m_data->mutex);
            if (!m_data->tensorPlaces.contains(digest)) {
                missing.push_back(digest);
            }
        }
        // Those with a file of their own, all of a version at once.
        std::map<std::string, std::vector<std::string>> paths;
        {
            const base::MutexLock lock(m_data->mutex);
            for (const std::string& digest : missing) {
                if (const auto place = m_data->places.find("tensors/" + digest + ".safetensors");
                    place != m_data->places.end()) {
                    paths[place->second.first].push_back(place->second.second);
                }
            }
        }
        for (const auto& [id, ofVersion] : paths) {
            Data::KnownVersion version;
            {
                const base::MutexLock lock(m_data->mutex);
                version = m_data->known.at(id);
            }
            const auto fetched = m_data->fetch(version.row, version.manifest, ofVersion);
            if (!fetched) {
                return fetched.error();
            }
            for (const auto& [path, file] : *fetched) {
                if (auto read = m_data->readTensors(file); !read) {
                    return read.error();
                }
            }
        }
        if (auto found = m_data->findSmallTensors(digests); !found) {
            return found.error();
        }
        std::map<std::string, FileExtent> extents;
        const base::MutexLock lock(m_data->mutex);
        for (const std::string& digest : digests) {
            const auto place = m_data->tensorPlaces.find(digest);
            if (place == m_data->tensorPlaces.end()) {
                return base::Error{
                    base::ErrorCode::NotFound,
                    "No version of " + m_data->address.text() + " that was opened here has the tensor " + digest + ".",
                    "Open the version that it belongs to first."};
            }
            extents[digest] = place->second;
        }
        return extents;
    });
}

base::Result<std::vector<RunSummary>> WandbRegistry::runs(const std::string& model) {
    return base::guarded("listing runs", [&]() -> base::Result<std::vector<RunSummary>> {
        const auto of = m_data->organization();
        if (!of) {
            return of.error();
        }
        std::vector<RunSummary> runs;
        const json filter = {{"name", capture::runCollectionId(model)}};
        const auto take = [&](const VersionRow& row) {
            auto run = listedRun(row);
            if (run && run->model == model) {
                runs.push_back(*std::move(run));
            }
        };
        const auto done = m_data->service.versions(
            *of, registryProject(m_data->address.registry), {filter.dump(), ""},
            [&](const std::vector<VersionRow>& page) {
                std::for_each(page.begin(), page.end(), take);
                m_data->mirror.take(page, false, registry::currentUtcMicroseconds());
            },
            m_data->options.stop);
        if (!done && isOffline(done.error())) {
            for (const SeenRow& seen : m_data->mirror.rows()) {
                take(seen.row);
            }
        } else if (!done) {
            return done.error();
        }
        std::sort(runs.begin(), runs.end(), [](const RunSummary& a, const RunSummary& b) { return a.started > b.started; });
        return runs;
    });
}

base::Result<std::string> WandbRegistry::runText(const std::string& digest) {
    return base::guarded("reading a run", [&]() -> base::Result<std::string> {
        if (auto fit = checkDigest(digest); !fit) {
            return fit.error();
        }
        const auto row = m_data->runRow(digest);
        if (!row) {
            return row.error();
        }
        if (!*row) {
            return base::Error{base::ErrorCode::NotFound, "There is no run " + digest + " in " + m_data->address.text() + ".",
                               ""};
        }
        if (const auto manifest = m_data->manifestOf(**row); !manifest) {
            return manifest.error();
        }
        return m_data->textOf("runs/" + digest + ".json", digest, "run");
    });
}

base::Result<capture::RunRecord> WandbRegistry::runRecord(const std::string& digest) {
    const auto text = runText(digest);
    if (!text) {
        return text.error();
    }
    return capture::parseRunRecord(*text, digest);
}

base::Result<std::optional<RunSummary>> WandbRegistry::runOf(const std::string& id) {
    return base::guarded("finding a run", [&]() -> base::Result<std::optional<RunSummary>> {
        const auto row = m_data->rowOf(id);
        if (!row) {
            return row.error();
        }
        const auto listed = listedVersion(*row);
        if (!listed || listed->run.empty()) {
            return std::optional<RunSummary>();
        }
        const auto run = m_data->runRow(listed->run);
        if (!run) {
            return run.error();
        }
        return *run ? listedRun(**run) : std::nullopt;
    });
}

base::Result<StoredResult> WandbRegistry::storeResult(const std::string& id, const StoredResult& result) {
    return base::guarded("keeping a result", [&]() -> base::Result<StoredResult> {
        if (!versionPlace(id)) {
            return base::Error{base::ErrorCode::NotFound, "There is no version '" + id.substr(0, 200) + "'.", ""};
        }
        StoredResult stored = result;
        if (stored.created.empty()) {
            stored.created = registry::formatUtc(registry::currentUtcMicroseconds());
        }
        stored.id = base::sha256Hex(stored.created + stored.kind + stored.json).substr(0, 24);
        const std::string folder =
            "results/" + base::md5Hex(m_data->options.signIn.baseUrl + '\n' + m_data->address.text()) + '/' + id + '/';
        if (!result.file.empty()) {
            const auto content = m_data->files.read(result.file, kResultBytes);
            if (!content) {
                return content.error();
            }
            const std::string name = stored.id + result.file.extension().string();
            if (auto kept = m_data->cache.keepDocument(folder + name, *content); !kept) {
                return kept.error();
            }
            stored.file = m_data->cache.folder() / (folder + name);
        }
        const std::string text = resultJson(stored).dump(-1, ' ', false, json::error_handler_t::replace);
        if (auto kept = m_data->cache.keepDocument(folder + stored.id + ".result.json", text); !kept) {
            return kept.error();
        }
        return stored;
    });
}

base::Result<std::vector<StoredResult>> WandbRegistry::results(const std::string& id, const std::string& kind) {
    return base::guarded("reading results", [&]() -> base::Result<std::vector<StoredResult>> {
        std::vector<StoredResult> found;
        if (!versionPlace(id)) {
            return found;
        }
        const fs::path folder = m_data->cache.folder() / "results" /
                                base::md5Hex(m_data->options.signIn.baseUrl + '\n' + m_data->address.text()) / id;
        const auto names = m_data->files.listFiles(folder);
        for (std::size_t i = 0; names && i < names->size(); ++i) {
            const std::string& name = (*names)[i];
            const auto text = name.ends_with(".result.json") ? m_data->files.read(folder / name, kResultBytes)
                                                             : base::Result<std::string>(std::string());
            const json item = text ? json::parse(*text, nullptr, false) : json();
            if (!item.is_object()) {
                continue;
            }
            const auto textAt = [&](const char* key) {
                return item.contains(key) && item[key].is_string() ? item[key].get<std::string>() : std::string();
            };
            StoredResult result{
                textAt("id"), textAt("kind"), textAt("created"), textAt("device"), textAt("engine"), textAt("json"), {}};
            const fs::path file = fs::path(textAt("file")).filename();
            result.file = file.empty() ? fs::path() : folder / file;
            if (kind.empty() || result.kind == kind) {
                found.push_back(std::move(result));
            }
        }
        std::sort(found.begin(), found.end(),
                  [](const StoredResult& a, const StoredResult& b) { return a.created > b.created; });
        return found;
    });
}

}  // namespace modulelens::wandb
