// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Cache.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/base/Digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <vector>

namespace modulelens::wandb {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDocumentBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kDefaultLimit = 50'000'000'000;
constexpr auto kPartLife = std::chrono::hours(24 * 7);

struct CachedFile {
    fs::path path;
    std::uint64_t sizeBytes = 0;
    fs::file_time_type used;
};

/// Regular files below `folder`; what vanishes meanwhile is left out.
std::vector<CachedFile> filesBelow(const fs::path& folder) {
    std::vector<CachedFile> found;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error); !error && at != fs::recursive_directory_iterator();
         at.increment(error)) {
        std::error_code gone;
        CachedFile file{at->path(), at->file_size(gone), {}};
        if (!gone && at->is_regular_file(gone) && !gone) {
            file.used = at->last_write_time(gone);
            if (!gone) {
                found.push_back(std::move(file));
            }
        }
    }
    return found;
}

template <class Hash>
std::string digestOf(std::span<const std::byte> bytes) {
    Hash hash;
    hash.update(bytes);
    return base::base64Of(hash.finishBytes());
}

base::Result<void> checkContent(base::FileSystem& files, const fs::path& path, const ManifestEntry& entry) {
    const auto mapped = files.map(path);
    if (!mapped) {
        return mapped.error();
    }
    const std::span<const std::byte> bytes = (*mapped)->bytes();
    const std::string digest =
        entry.algorithm == DigestAlgorithm::Md5 ? digestOf<base::Md5>(bytes) : digestOf<base::Xxh128>(bytes);
    if (bytes.size() != entry.sizeBytes || digest != entry.digest) {
        return base::Error{base::ErrorCode::Corrupt,
                           "What W&B sent is not the file that the manifest names: " + std::to_string(bytes.size()) +
                               " bytes with digest " + digest + ", not " + std::to_string(entry.sizeBytes) + " with " +
                               entry.digest + ".",
                           "Try again; if it stays so, the stored file is damaged and must be published again."};
    }
    return {};
}

base::Result<void> syncFile(const fs::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return base::errorFromErrno(errno, "opening", path);
    }
    const int failed = ::fsync(file) == 0 ? 0 : errno;
    ::close(file);
    return failed == 0 ? base::Result<void>() : base::Result<void>(base::errorFromErrno(failed, "writing", path));
}

}  // namespace

Cache::Cache(base::FileSystem& files, fs::path folder, std::uint64_t limitBytes)
    : m_files(files), m_folder(std::move(folder)), m_limitBytes(limitBytes) {}

fs::path Cache::pathOf(const ManifestEntry& entry) const {
    const std::string hex = base::hexOf(base::bytesOfBase64(entry.digest).value_or(""));
    const std::string prefix = entry.algorithm == DigestAlgorithm::Md5 ? "md5-" : "xxh128-";
    // The size is part of the name, since two contents of one MD5 can be made on purpose.
    return m_folder / "files" / hex.substr(0, 2) / (prefix + hex + '-' + std::to_string(entry.sizeBytes));
}

std::optional<fs::path> Cache::find(const ManifestEntry& entry) {
    fs::path path = pathOf(entry);
    const auto size = m_files.sizeBytes(path);
    if (!size || *size != entry.sizeBytes) {
        return std::nullopt;
    }
    {
        const base::MutexLock lock(m_mutex);
        m_given.insert(path);
    }
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    return path;
}

base::Result<fs::path> Cache::partPath(const ManifestEntry& entry) {
    fs::path path = m_folder / "parts" / (pathOf(entry).filename().string() + ".part");
    if (auto made = m_files.createDirectories(path.parent_path()); !made) {
        return made.error();
    }
    return path;
}

base::Result<fs::path> Cache::accept(const fs::path& part, const ManifestEntry& entry) {
    if (auto right = checkContent(m_files, part, entry); !right) {
        (void)m_files.remove(part);
        return right.error();
    }
    fs::path path = pathOf(entry);
    auto done = m_files.createDirectories(path.parent_path());
    if (done) {
        done = syncFile(part);
    }
    if (done) {
        done = m_files.rename(part, path);
    }
    if (done) {
        done = m_files.syncDirectory(path.parent_path());
    }
    if (!done) {
        return done.error();
    }
    const base::MutexLock lock(m_mutex);
    m_given.insert(path);
    return path;
}

std::optional<std::string> Cache::document(const std::string& name) {
    auto text = m_files.read(m_folder / name, kDocumentBytes);
    return text ? std::optional(*std::move(text)) : std::nullopt;
}

base::Result<void> Cache::keepDocument(const std::string& name, const std::string& text) {
    if (auto fit = base::checkRelativeName(name, "the cache"); !fit) {
        return fit;
    }
    const fs::path path = m_folder / name;
    const fs::path beside = path.string() + '.' + std::to_string(::getpid()) + '-' + base::md5Hex(text).substr(0, 8) + ".new";
    auto done = m_files.createDirectories(path.parent_path());
    if (done) {
        done = m_files.remove(beside);
    }
    if (!done) {
        return done;
    }
    auto file = m_files.create(beside);
    if (!file) {
        return file.error();
    }
    done = (*file)->append(std::as_bytes(std::span(text)));
    if (done) {
        done = (*file)->sync();
    }
    if (done) {
        done = (*file)->close();
    }
    if (done) {
        done = m_files.rename(beside, path);
    }
    if (!done) {
        (void)m_files.remove(beside);
    }
    return done;
}

base::Result<void> Cache::removeDocument(const std::string& name) {
    return m_files.remove(m_folder / name);
}

CacheReport Cache::report() const {
    CacheReport report{m_folder, 0, 0, m_limitBytes};
    for (const CachedFile& file : filesBelow(m_folder)) {
        ++report.files;
        report.sizeBytes += file.sizeBytes;
    }
    return report;
}

void Cache::trim() {
    for (const CachedFile& part : filesBelow(m_folder / "parts")) {
        if (fs::file_time_type::clock::now() - part.used > kPartLife) {
            (void)m_files.remove(part.path);
        }
    }
    std::vector<CachedFile> files = filesBelow(m_folder / "files");
    std::sort(files.begin(), files.end(), [](const CachedFile& a, const CachedFile& b) { return a.used < b.used; });
    std::uint64_t total = 0;
    for (const CachedFile& file : files) {
        total += file.sizeBytes;
    }
    const base::MutexLock lock(m_mutex);
    for (const CachedFile& file : files) {
        if (total <= m_limitBytes) {
            return;
        }
        if (!m_given.contains(file.path) && m_files.remove(file.path)) {
            total -= file.sizeBytes;
        }
    }
}

base::Result<void> Cache::clear() {
    for (const char* part : {"files", "parts", "manifests", "rows"}) {
        if (auto removed = m_files.remove(m_folder / part); !removed) {
            return removed;
        }
    }
    const base::MutexLock lock(m_mutex);
    m_given.clear();
    return {};
}

fs::path defaultCacheFolder() {
    const auto variable = [](const char* name) { return std::string(std::getenv(name) == nullptr ? "" : std::getenv(name)); };
    if (std::string own = variable("MODULELENS_CACHE"); !own.empty()) {
        return own;
    }
    if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
        return fs::path(cache) / "modulelens" / "wandb";
    }
    const std::string home = variable("HOME");
    return home.empty() ? fs::path() : fs::path(home) / ".cache" / "modulelens" / "wandb";
}

std::uint64_t defaultCacheLimit() {
    const char* text = std::getenv("MODULELENS_CACHE_LIMIT");
    if (text == nullptr) {
        return kDefaultLimit;
    }
    const std::string_view written(text);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
    const std::string_view unit(end, written.data() + written.size());
    const std::size_t power = unit.empty() ? 0 : std::string_view("KMGT").find(unit.front()) + 1;
    if (error != std::errc() || unit.size() > 1 || power > 4 || value > 1'000'000'000) {
        return error == std::errc() && unit.empty() ? value : kDefaultLimit;
    }
    for (std::size_t i = 0; i < power; ++i) {
        value *= 1000;
    }
    return value;
}

}  // namespace modulelens::wandb
