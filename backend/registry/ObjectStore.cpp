// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/ObjectStore.h"

#include "backend/base/Digest.h"

#include <unistd.h>
#include <atomic>
#include <future>
#include <memory>
#include <set>

namespace modulelens::registry {

namespace {

constexpr std::string_view kObjectFolder = "objects/";
constexpr std::string_view kPackFolder = "packs/";
constexpr std::string_view kPackSuffix = ".safetensors";
constexpr std::uint64_t kMaxJournalBytes = std::uint64_t{1} << 30;
constexpr std::size_t kSliceBytes = std::size_t{4} << 20;

std::span<const std::byte> bytesOf(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string freshName(const std::string& purpose) {
    static std::atomic<unsigned> counter = 0;
    return purpose + "-" + std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
}

/// Passes a file's bytes on, in slices, and takes their digest on the way. Confined to its thread.
class DigestingFile : public base::WritableFile {
public:
    DigestingFile(std::unique_ptr<base::WritableFile> inner, base::Sha256& digest, std::uint64_t& sizeBytes,
                  std::stop_token stop, const std::function<void(std::uint64_t)>& progress)
        : m_inner(std::move(inner)), m_digest(digest), m_sizeBytes(sizeBytes), m_stop(std::move(stop)), m_progress(progress) {}

    base::Result<void> append(std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            if (m_stop.stop_requested()) {
                return base::Error{base::ErrorCode::Cancelled, "The import was cancelled.", ""};
            }
            const std::span<const std::byte> slice = bytes.first(std::min(bytes.size(), kSliceBytes));
            // Hashing and writing take about as long as one another, so they go side by side.
            const std::future<void> hashed = std::async(std::launch::async, [&] { m_digest.update(slice); });
            base::Result<void> written = m_inner->append(slice);
            hashed.wait();
            if (!written) {
                return written;
            }
            m_sizeBytes += slice.size();
            if (m_progress) {
                m_progress(slice.size());
            }
            bytes = bytes.subspan(slice.size());
        }
        return {};
    }
    base::Result<void> sync() override { return m_inner->sync(); }
    base::Result<void> close() override { return m_inner->close(); }

private:
    std::unique_ptr<base::WritableFile> m_inner;
    base::Sha256& m_digest;
    std::uint64_t& m_sizeBytes;
    std::stop_token m_stop;
    const std::function<void(std::uint64_t)>& m_progress;
};

/// The given file system, but files that are created go through DigestingFile. Confined to its thread.
class DigestingFileSystem : public base::FileSystem {
public:
    DigestingFileSystem(base::FileSystem& inner, std::stop_token stop, const std::function<void(std::uint64_t)>& progress)
        : m_inner(inner), m_stop(std::move(stop)), m_progress(progress) {}

    base::Result<std::unique_ptr<base::WritableFile>> create(const std::filesystem::path& path) override {
        base::Result<std::unique_ptr<base::WritableFile>> file = m_inner.create(path);
        if (!file) {
            return file;
        }
        return std::unique_ptr<base::WritableFile>(
            std::make_unique<DigestingFile>(std::move(*file), digest, sizeBytesWritten, m_stop, m_progress));
    }
    base::Result<std::shared_ptr<const base::MappedFile>> map(const std::filesystem::path& path) override {
        return m_inner.map(path);
    }
    base::Result<std::string> read(const std::filesystem::path& path, std::uint64_t limitBytes) override {
        return m_inner.read(path, limitBytes);
    }
    base::Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
        return m_inner.rename(from, to);
    }
    base::Result<void> remove(const std::filesystem::path& path) override { return m_inner.remove(path); }
    base::Result<std::uint64_t> sizeBytes(const std::filesystem::path& path) override { return m_inner.sizeBytes(path); }
    base::Result<void> createDirectories(const std::filesystem::path& path) override { return m_inner.createDirectories(path); }
    base::Result<void> syncDirectory(const std::filesystem::path& directory) override {
        return m_inner.syncDirectory(directory);
    }
    base::Result<std::vector<std::string>> listFiles(const std::filesystem::path& directory) override {
        return m_inner.listFiles(directory);
    }

    base::Sha256 digest;
    std::uint64_t sizeBytesWritten = 0;

private:
    base::FileSystem& m_inner;
    std::stop_token m_stop;
    const std::function<void(std::uint64_t)>& m_progress;
};

base::Result<void> writeFile(base::FileSystem& files, const std::filesystem::path& path, std::span<const std::byte> bytes) {
    base::Result<std::unique_ptr<base::WritableFile>> file = files.create(path);
    if (!file) {
        return file.error();
    }
    base::Result<void> done = (*file)->append(bytes);
    if (done) {
        done = (*file)->sync();
    }
    if (done) {
        done = (*file)->close();
    }
    return done;
}

}  // namespace

std::string RegistryLayout::objectName(const std::string& digest) {
    return std::string(kObjectFolder) + digest.substr(0, 2) + "/" + digest;
}

std::string RegistryLayout::packName(const std::string& digest) {
    return std::string(kPackFolder) + digest + std::string(kPackSuffix);
}

std::string digestOfName(const std::string& name) {
    std::string digest;
    if (name.starts_with(kObjectFolder) && name.size() == kObjectFolder.size() + 3 + 64) {
        digest = name.substr(kObjectFolder.size() + 3);
        return base::isLowerHex(digest, 64) && RegistryLayout::objectName(digest) == name ? digest : std::string();
    }
    if (name.starts_with(kPackFolder) && name.size() == kPackFolder.size() + 64 + kPackSuffix.size()) {
        digest = name.substr(kPackFolder.size(), 64);
        return base::isLowerHex(digest, 64) && RegistryLayout::packName(digest) == name ? digest : std::string();
    }
    return digest;
}

StagedFiles::StagedFiles(base::FileSystem& files, const RegistryLayout& layout, const std::string& purpose)
    : m_files(files), m_layout(layout), m_folder(layout.temporary() / freshName(purpose)) {}

StagedFiles::~StagedFiles() {
    bool clean = true;
    for (const std::string& name : m_kept ? m_doomed : m_published) {
        clean = m_files.remove(m_layout.folder() / name).hasValue() && clean;
    }
    // While a file could not be removed, the journal stays for recover().
    if (m_journalMade && clean) {
        static_cast<void>(m_files.remove(m_layout.journal()).hasValue());
    }
    if (m_folderMade) {
        static_cast<void>(m_files.remove(m_folder).hasValue());
    }
}

base::Result<void> StagedFiles::ensureFolder() {
    if (m_folderMade) {
        return {};
    }
    m_folderMade = true;
    return m_files.createDirectories(m_folder);
}

base::Result<void> StagedFiles::addObject(const std::string& digest, std::span<const std::byte> bytes) {
    const std::string name = RegistryLayout::objectName(digest);
    if (m_staged.contains(name)) {
        return {};
    }
    base::Result<void> done = ensureFolder();
    if (done) {
        done = writeFile(m_files, m_folder / digest, bytes);
    }
    if (done) {
        m_staged.emplace(name, digest);
    }
    return done;
}

base::Result<StagedPack> StagedFiles::addPack(const std::vector<capture::SafetensorsInput>& tensors, std::stop_token stop,
                                              const std::function<void(std::uint64_t)>& progress) {
    if (const base::Result<void> folder = ensureFolder(); !folder) {
        return folder.error();
    }
    const std::string temporaryName = "pack" + std::string(kPackSuffix);
    DigestingFileSystem digesting(m_files, std::move(stop), progress);
    base::Result<std::map<std::string, capture::SafetensorsEntry>> entries =
        capture::writeSafetensors(digesting, m_folder / temporaryName, tensors, {{"format", "modulelens.pack"}});
    if (!entries) {
        return entries.error();
    }
    StagedPack pack;
    pack.digest = digesting.digest.finish();
    pack.sizeBytes = digesting.sizeBytesWritten;
    pack.entries = std::move(*entries);
    m_staged.emplace(RegistryLayout::packName(pack.digest), temporaryName);
    return pack;
}

void StagedFiles::drop(const std::string& digest) {
    m_staged.erase(RegistryLayout::objectName(digest));
}

base::Result<void> StagedFiles::writeJournal() {
    std::string text;
    for (const auto& [name, temporaryName] : m_staged) {
        text += name + "\n";
    }
    for (const std::string& name : m_doomed) {
        text += name + "\n";
    }
    m_journalMade = true;
    base::Result<void> done = writeFile(m_files, m_layout.journal(), bytesOf(text));
    if (done) {
        done = m_files.syncDirectory(m_layout.temporary());
    }
    return done;
}

base::Result<void> StagedFiles::publish() {
    if (m_staged.empty() && m_doomed.empty()) {
        return {};
    }
    base::Result<void> done = writeJournal();
    std::set<std::filesystem::path> changed;
    for (auto staged = m_staged.begin(); done && staged != m_staged.end(); ++staged) {
        const std::filesystem::path target = m_layout.folder() / staged->first;
        if (changed.insert(target.parent_path()).second) {
            changed.insert(target.parent_path().parent_path());
            done = m_files.createDirectories(target.parent_path());
        }
        if (done) {
            m_published.push_back(staged->first);
            done = m_files.rename(m_folder / staged->second, target);
        }
    }
    for (auto directory = changed.begin(); done && directory != changed.end(); ++directory) {
        done = m_files.syncDirectory(*directory);
    }
    return done;
}

void StagedFiles::keep() {
    m_kept = true;
}

base::Result<void> recover(base::FileSystem& files, const RegistryLayout& layout,
                           const std::function<base::Result<bool>(const std::string& name)>& isCommitted) {
    base::Result<std::string> journal = files.read(layout.journal(), kMaxJournalBytes);
    if (!journal) {
        return journal.error().code == base::ErrorCode::NotFound ? base::Result<void>() : journal.error();
    }
    // A journal whose last line was cut was never acted upon: files move only once it is whole.
    std::size_t begin = 0;
    for (std::size_t end = journal->find('\n'); end != std::string::npos; end = journal->find('\n', begin)) {
        const std::string name = journal->substr(begin, end - begin);
        begin = end + 1;
        if (digestOfName(name).empty()) {
            continue;
        }
        const base::Result<bool> committed = isCommitted(name);
        if (!committed) {
            return committed.error();
        }
        if (!*committed) {
            if (base::Result<void> removed = files.remove(layout.folder() / name); !removed) {
                return removed;
            }
        }
    }
    return files.remove(layout.journal());
}

}  // namespace modulelens::registry
