// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Downloader.h"

#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/base/PercentEncoding.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <set>
#include <thread>

namespace modulelens::wandb {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kParallel = 4;
constexpr int kAttempts = 5;

/// A file that a download appends to. Locked, so that two processes never write one.
class PartFile {
public:
    PartFile() = default;
    ~PartFile() {
        if (m_file >= 0) {
            ::close(m_file);
        }
    }
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    base::Result<void> open(const fs::path& path) {
        for (int tries = 0; tries < 2; ++tries) {
            m_path = tries == 0 ? path : fs::path(path.string() + '.' + std::to_string(::getpid()));
            m_file = ::open(m_path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
            if (m_file < 0) {
                return base::errorFromErrno(errno, "writing", m_path);
            }
            if (::flock(m_file, LOCK_EX | LOCK_NB) == 0) {
                const off_t end = ::lseek(m_file, 0, SEEK_END);
                m_size = end < 0 ? 0 : static_cast<std::uint64_t>(end);
                return {};
            }
            ::close(m_file);
            m_file = -1;
        }
        return base::Error{base::ErrorCode::Unavailable, m_path.string() + " is being downloaded by another process.",
                           "Try again later."};
    }

    [[nodiscard]] const fs::path& path() const { return m_path; }
    [[nodiscard]] std::uint64_t size() const { return m_size; }

    base::Result<void> truncate() {
        if (::ftruncate(m_file, 0) != 0) {
            return base::errorFromErrno(errno, "writing", m_path);
        }
        m_size = 0;
        return {};
    }

    base::Result<void> append(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const ssize_t written = ::write(m_file, bytes.data(), bytes.size());
            if (written < 0 && errno != EINTR) {
                return base::errorFromErrno(errno, "writing", m_path);
            }
            if (written > 0) {
                m_size += static_cast<std::uint64_t>(written);
                bytes = bytes.subspan(static_cast<std::size_t>(written));
            }
        }
        return {};
    }

private:
    int m_file = -1;
    std::uint64_t m_size = 0;
    fs::path m_path;
};

/// One call of fetch(): what is to come, and how far it is. Thread-safe where workers share it.
class Fetching {
public:
    Fetching(Service& service, Cache& cache, const VersionRow& row, const Manifest& manifest, const std::stop_token& stop,
             const http::ByteProgress& progress)
        : m_service(service),
          m_cache(cache),
          m_row(row),
          m_manifest(manifest),
          m_outer(stop, [this] { m_stop.request_stop(); }),
          m_progress(progress) {}

    base::Result<void> run(std::vector<std::string> paths) {
        m_paths = std::move(paths);
        auto urls = m_service.fileUrls(m_row.place, m_row.number, m_paths, m_stop.get_token());
        if (!urls) {
            return urls.error();
        }
        {
            const base::MutexLock lock(m_mutex);
            m_urls = *std::move(urls);
        }
        for (const std::string& path : m_paths) {
            m_total += m_manifest.entries.at(path).sizeBytes;
        }
        {
            std::vector<std::jthread> workers;
            const std::size_t count = std::min(kParallel, m_paths.size());
            workers.reserve(count);
            for (std::size_t i = 0; i < count; ++i) {
                workers.emplace_back([this] { work(); });
            }
        }
        const base::MutexLock lock(m_mutex);
        return m_error ? base::Result<void>(*m_error) : base::Result<void>();
    }

private:
    void work() {
        for (std::size_t at = m_next++; at < m_paths.size() && !m_stop.stop_requested(); at = m_next++) {
            const std::string& path = m_paths[at];
            const auto done = base::guarded("downloading " + path, [&] { return download(path); });
            if (!done) {
                const base::MutexLock lock(m_mutex);
                if (!m_error) {
                    m_error = done.error().within("downloading " + path);
                }
                m_stop.request_stop();
            }
        }
    }

    base::Result<void> download(const std::string& path) {
        const ManifestEntry& entry = m_manifest.entries.at(path);
        const auto partPath = m_cache.partPath(entry);
        if (!partPath) {
            return partPath.error();
        }
        PartFile part;
        if (auto opened = part.open(*partPath); !opened) {
            return opened;
        }
        if (part.size() > entry.sizeBytes) {
            if (auto cut = part.truncate(); !cut) {
                return cut;
            }
        }
        report(part.size());
        if (auto filled = fill(path, entry, part); !filled) {
            return filled;
        }
        const auto accepted = m_cache.accept(part.path(), entry);
        return accepted ? base::Result<void>() : base::Result<void>(accepted.error());
    }

    /// Asks until the file is whole: from the storage, with a fresh address after a refusal, in the end from the server itself.
    base::Result<void> fill(const std::string& path, const ManifestEntry& entry, PartFile& part) {
        std::string url;
        {
            const base::MutexLock lock(m_mutex);
            const auto known = m_urls.find(path);
            url = known == m_urls.end() ? std::string() : known->second;
        }
        std::optional<base::Error> last;
        for (int attempt = 0; attempt < kAttempts && (part.size() < entry.sizeBytes || entry.sizeBytes == 0); ++attempt) {
            if (url.empty() || attempt == kAttempts - 1) {
                const auto withArtifact =
                    m_service.hasFeature("ARTIFACT_V2_DOWNLOAD_HANDLER_SUPPORTS_ARTIFACT_ID", m_stop.get_token());
                url = handlerUrl(m_service.signIn().baseUrl, m_row, m_manifest, path, withArtifact && *withArtifact);
            }
            const auto response = ask(url, entry, part);
            if (!response) {
                if (response.error().code != base::ErrorCode::Unavailable &&
                    response.error().code != base::ErrorCode::Timeout) {
                    return response.error();
                }
                last = response.error();
                continue;
            }
            if (http::isSuccess(response->status)) {
                if (entry.sizeBytes == 0) {
                    return {};
                }
                continue;
            }
            last = base::Error{base::ErrorCode::Unavailable, "the storage answered " + std::to_string(response->status),
                               "The file may have been deleted, or the account may have lost access to it."};
            if (response->status != 401 && response->status != 403 && response->status != 416) {
                return *last;
            }
            if (response->status == 416) {
                if (auto cut = part.truncate(); !cut) {
                    return cut;
                }
            }
            const auto fresh = m_service.fileUrls(m_row.place, m_row.number, {path}, m_stop.get_token());
            url = fresh && fresh->contains(path) ? fresh->at(path) : std::string();
        }
        if (part.size() < entry.sizeBytes) {
            return last.value_or(
                base::Error{base::ErrorCode::Unavailable, "the connection ends too early again and again", "Try again later."});
        }
        return {};
    }

    base::Result<http::Response> ask(const std::string& url, const ManifestEntry& entry, PartFile& part) {
        http::Request request;
        request.url = url;
        request.withCredentials = url.starts_with(m_service.signIn().baseUrl + "/artifactsV2/");
        const std::uint64_t from = part.size();
        if (from > 0) {
            request.headers = {{"Range", "bytes=" + std::to_string(from) + '-'}};
        }
        request.onHead = [&](const http::ResponseHead& head) -> base::Result<void> {
            const std::string range(http::findHeader(head.headers, "content-range").value_or(""));
            const bool goesOn = head.status == 206 && range.starts_with("bytes " + std::to_string(from) + '-');
            if (from > 0 && !goesOn) {
                report(0 - from);
                return part.truncate();
            }
            return {};
        };
        request.onBody = [&](std::span<const std::byte> bytes) -> base::Result<void> {
            if (bytes.size() > entry.sizeBytes - std::min(entry.sizeBytes, part.size())) {
                (void)part.truncate();
                return base::Error{base::ErrorCode::Corrupt,
                                   "the storage sends more than the " + std::to_string(entry.sizeBytes) + " bytes of the file",
                                   ""};
            }
            report(bytes.size());
            return part.append(bytes);
        };
        return m_service.client().send(request, m_stop.get_token());
    }

    void report(std::uint64_t more) {
        const base::MutexLock lock(m_mutex);
        m_done += more;
        if (m_progress) {
            m_progress(std::min(m_done, m_total), m_total);
        }
    }

    Service& m_service;
    Cache& m_cache;
    const VersionRow& m_row;
    const Manifest& m_manifest;
    std::stop_source m_stop;
    std::stop_callback<std::function<void()>> m_outer;
    const http::ByteProgress& m_progress;
    std::vector<std::string> m_paths;
    std::atomic<std::size_t> m_next{0};
    base::Mutex m_mutex;
    std::map<std::string, std::string> m_urls ML_GUARDED_BY(m_mutex);
    std::uint64_t m_done ML_GUARDED_BY(m_mutex) = 0;
    std::uint64_t m_total = 0;
    std::optional<base::Error> m_error ML_GUARDED_BY(m_mutex);
};

bool matchesDigest(const Manifest& manifest, const VersionRow& row) {
    if (row.digestAlgorithm) {
        return manifestDigest(manifest, *row.digestAlgorithm) == row.digest;
    }
    return manifestDigest(manifest, DigestAlgorithm::Md5) == row.digest ||
           manifestDigest(manifest, DigestAlgorithm::Xxh128) == row.digest;
}

}  // namespace

std::string handlerUrl(const std::string& baseUrl, const VersionRow& row, const Manifest& manifest, const std::string& path,
                       bool withArtifact) {
    const ManifestEntry& entry = manifest.entries.at(path);
    const std::string region = manifest.storageRegion.empty() ? "default" : manifest.storageRegion;
    const std::string birth = entry.birthArtifact.empty() ? row.artifact : entry.birthArtifact;
    std::string url = baseUrl + "/artifactsV2";
    for (const std::string& part : {region, row.place.entity, row.place.project, row.place.collection}) {
        url += '/' + base::percentEncoded(part);
    }
    if (withArtifact) {
        url += '/' + base::percentEncoded(row.artifact);
    }
    url += '/' + base::percentEncoded(birth) + '/' + base::hexOf(base::bytesOfBase64(entry.digest).value_or(""));
    return url + '/' + base::percentEncoded(path.substr(path.rfind('/') + 1));
}

base::Result<Manifest> Downloader::manifest(const VersionRow& row, std::stop_token stop) {
    // What a digest names never changes; the birth artifacts in it belong to this server.
    const std::string name = "manifests/" + base::md5Hex(m_service.signIn().baseUrl + '\n' + row.artifact) + ".json";
    if (const auto kept = m_cache.document(name)) {
        auto manifest = parseManifest(*kept);
        if (manifest && matchesDigest(*manifest, row)) {
            return manifest;
        }
    }
    const auto url = m_service.manifestUrl(row.artifact, stop);
    if (!url) {
        return url.error();
    }
    http::Request request;
    request.url = *url;
    request.bodyLimitBytes = std::uint64_t{256} << 20;
    const auto response = m_service.client().send(request, stop);
    if (!response) {
        return response.error();
    }
    if (!http::isSuccess(response->status)) {
        return base::Error{base::ErrorCode::Unavailable,
                           "The storage answered " + std::to_string(response->status) + " for a manifest.", "Try again later."};
    }
    auto manifest = parseManifest(response->body);
    if (!manifest) {
        return manifest;
    }
    if (!matchesDigest(*manifest, row)) {
        return base::Error{base::ErrorCode::Corrupt,
                           "The manifest of " + row.place.collection + ":v" + std::to_string(row.number) +
                               " does not match the artifact's digest.",
                           "The artifact is damaged or was changed; publish it again."};
    }
    if (auto kept = m_cache.keepDocument(name, response->body); !kept && kept.error().code == base::ErrorCode::StorageFull) {
        return kept.error();
    }
    return manifest;
}

base::Result<std::map<std::string, fs::path>> Downloader::fetch(const VersionRow& row, const Manifest& manifest,
                                                                const std::vector<std::string>& paths, std::stop_token stop,
                                                                const http::ByteProgress& progress) {
    return base::guarded("downloading", [&]() -> base::Result<std::map<std::string, fs::path>> {
        std::map<std::string, fs::path> found;
        std::vector<std::string> missing;
        std::set<std::string> asked;
        for (const std::string& path : paths) {
            const auto entry = manifest.entries.find(path);
            if (entry == manifest.entries.end()) {
                return base::Error{base::ErrorCode::NotFound,
                                   row.place.collection + ":v" + std::to_string(row.number) + " has no file '" + path + "'.",
                                   ""};
            }
            if (!entry->second.reference.empty()) {
                return base::Error{base::ErrorCode::Unsupported,
                                   "'" + path + "' is a reference to " + entry->second.reference.substr(0, 200) +
                                       ", which W&B does not store.",
                                   ""};
            }
            if (auto file = m_cache.find(entry->second)) {
                found[path] = *std::move(file);
            } else if (asked.insert(entry->second.digest).second) {
                missing.push_back(path);
            }
        }
        if (!missing.empty()) {
            Fetching fetching(m_service, m_cache, row, manifest, stop, progress);
            if (auto done = fetching.run(missing); !done) {
                return stop.stop_requested() ? base::Error{base::ErrorCode::Cancelled, "Stopped while downloading.", ""}
                                             : done.error();
            }
            for (const std::string& path : paths) {
                if (auto file = m_cache.find(manifest.entries.at(path))) {
                    found[path] = *std::move(file);
                }
            }
            m_cache.trim();
        }
        return found;
    });
}

}  // namespace modulelens::wandb
