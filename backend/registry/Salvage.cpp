// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// LocalRegistry::recover: a new database from the objects and packs of a registry whose database is damaged.
#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/registry/BundleExport.h"
#include "backend/registry/FileLock.h"
#include "backend/registry/ObjectStore.h"
#include "backend/registry/SqliteRegistry.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

namespace modulelens::registry {

namespace {

constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{1} << 30;

/// The files of a registry, found without its database. Confined to its thread.
class FoundFiles : public BundleSource {
public:
    FoundFiles(base::FileSystem& files, std::filesystem::path folder) : m_files(files), m_folder(std::move(folder)) {}

    base::Result<void> scan(const std::stop_token& stop, const ByteProgress& progress, RecoveryReport& report);
    /// Versions with a run that names them, as summaries for writeBundles().
    [[nodiscard]] std::vector<VersionSummary> versions() const { return m_versions; }

    base::Result<std::string> versionText(const VersionSummary& version) override { return document(version.versionDigest); }
    base::Result<std::string> nodeText(const std::string& digest) override { return document(digest); }
    base::Result<std::string> source(const std::string& digest) override { return document(digest); }
    base::Result<std::string> runText(const std::string& digest) override { return document(digest); }
    base::Result<FileExtent> program(const std::string& digest) override {
        const auto found = m_objects.find(digest);
        return found == m_objects.end() ? base::Result<FileExtent>(missing(digest))
                                        : FileExtent{m_folder / RegistryLayout::objectName(digest), 0, found->second};
    }
    base::Result<std::map<std::string, FileExtent>> tensors(const std::vector<std::string>& digests) override {
        std::map<std::string, FileExtent> extents;
        for (const std::string& digest : digests) {
            const auto found = m_tensors.find(digest);
            if (found == m_tensors.end()) {
                return missing(digest);
            }
            extents.emplace(digest, found->second);
        }
        return extents;
    }
    base::Result<std::string> runOf(const VersionSummary& version) override { return m_runOf.at(version.versionDigest); }

private:
    static base::Error missing(const std::string& digest) {
        return {base::ErrorCode::NotFound, "The file or tensor " + digest + " is missing or damaged.", ""};
    }
    base::Result<std::string> document(const std::string& digest) {
        if (!m_objects.contains(digest)) {
            return missing(digest);
        }
        return m_files.read(m_folder / RegistryLayout::objectName(digest), kMaxDocumentBytes);
    }
    void scanObject(const std::string& name, std::span<const std::byte> bytes, RecoveryReport& report);
    void scanPack(const std::string& name, std::span<const std::byte> bytes, RecoveryReport& report);
    void joinRuns(RecoveryReport& report);

    base::FileSystem& m_files;
    const std::filesystem::path m_folder;
    std::map<std::string, std::uint64_t> m_objects;   ///< Sizes of those that are what their name says.
    std::map<std::string, FileExtent> m_tensors;
    std::map<std::string, capture::VersionDocument> m_documents;
    std::map<std::string, capture::RunRecord> m_runs;
    std::map<std::string, std::string> m_runOf;       ///< By digest of the version.
    std::vector<VersionSummary> m_versions;
};

base::Result<void> FoundFiles::scan(const std::stop_token& stop, const ByteProgress& progress, RecoveryReport& report) {
    std::vector<std::string> names;
    for (const char* folder : {"objects", "packs"}) {
        const base::Result<std::vector<std::string>> listed = m_files.listFiles(m_folder / folder);
        if (!listed) {
            return listed.error();
        }
        for (const std::string& name : *listed) {
            names.push_back(std::string(folder) + "/" + name);
        }
    }
    std::uint64_t done = 0;
    for (const std::string& name : names) {
        if (stop.stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled, "Recovering the registry was cancelled; it is as it was.", ""};
        }
        const std::string digest = digestOfName(name);
        const base::Result<std::shared_ptr<const base::MappedFile>> file = m_files.map(m_folder / name);
        if (digest.empty() || !file || base::sha256Hex((*file)->bytes()) != digest) {
            report.problems.push_back(name + " is damaged and was left out");
        } else if (name.starts_with("packs/")) {
            scanPack(name, (*file)->bytes(), report);
        } else {
            scanObject(name, (*file)->bytes(), report);
        }
        if (progress) {
            progress(++done, names.size());
        }
    }
    joinRuns(report);
    return {};
}

void FoundFiles::scanObject(const std::string& name, std::span<const std::byte> bytes, RecoveryReport& report) {
    const std::string digest = digestOfName(name);
    m_objects.emplace(digest, bytes.size());
    if (bytes.empty() || static_cast<char>(bytes.front()) != '{') {
        return;
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    const auto schema = json.is_object() ? json.find("schema") : json.end();
    if (schema == json.end()) {
        return;
    }
    if (*schema == "modulelens.version") {
        if (base::Result<capture::VersionDocument> version = capture::parseVersionDocument(text, digest)) {
            m_documents.emplace(digest, std::move(*version));
        } else {
            report.problems.push_back(name + " cannot be read: " + version.error().message);
        }
    } else if (*schema == "modulelens.run") {
        if (base::Result<capture::RunRecord> run = capture::parseRunRecord(text, digest)) {
            m_runs.emplace(digest, std::move(*run));
        } else {
            report.problems.push_back(name + " cannot be read: " + run.error().message);
        }
    }
}

void FoundFiles::scanPack(const std::string& name, std::span<const std::byte> bytes, RecoveryReport& report) {
    const base::Result<capture::SafetensorsHeader> header = capture::readSafetensorsHeader(bytes, name);
    if (!header) {
        report.problems.push_back(name + " cannot be read: " + header.error().message);
        return;
    }
    for (const auto& [key, entry] : header->entries) {
        m_tensors.try_emplace(key, FileExtent{m_folder / name, entry.offset, entry.sizeBytes});
    }
}

/// A version belongs to the earliest run that names it, else to the earliest of its model; its time is that of the capture.
void FoundFiles::joinRuns(RecoveryReport& report) {
    std::map<std::string, const capture::RunRecord*> earliest;
    std::map<std::string, const capture::RunRecord*> ofModel;
    for (const auto& [digest, run] : m_runs) {
        const capture::RunRecord*& first = ofModel[run.model];
        first = first == nullptr || run.started < first->started ? &run : first;
        for (const capture::RunCall& call : run.calls) {
            if (!call.version.empty()) {
                const capture::RunRecord*& known = earliest[call.version];
                known = known == nullptr || run.started < known->started ? &run : known;
            }
        }
    }
    for (const auto& [digest, document] : m_documents) {
        const auto named = earliest.find(digest);
        const auto other = ofModel.find(document.model);
        if (named == earliest.end() && other == ofModel.end()) {
            report.problems.push_back("There is no run of the version " + digest + " of " + document.model +
                                      "::" + document.module + "; it was left out");
            continue;
        }
        const capture::RunRecord& run = named != earliest.end() ? *named->second : *other->second;
        m_runOf.emplace(digest, run.digest);
        VersionSummary version;
        version.model = document.model;
        version.module = document.module;
        version.className = document.className;
        version.versionDigest = digest;
        version.created = run.started;
        m_versions.push_back(std::move(version));
    }
    std::sort(m_versions.begin(), m_versions.end(), [](const VersionSummary& a, const VersionSummary& b) {
        return std::tie(a.created, a.versionDigest) < std::tie(b.created, b.versionDigest);
    });
}

/// Names free for the damaged database and its companions.
std::filesystem::path asideName(const std::filesystem::path& database) {
    std::error_code ignored;
    for (int i = 0;; ++i) {
        std::filesystem::path name = database.string() + ".damaged" + (i == 0 ? "" : "-" + std::to_string(i));
        if (!std::filesystem::exists(name, ignored)) {
            return name;
        }
    }
}

base::Result<void> moveAside(base::FileSystem& files, const std::filesystem::path& database,
                             const std::filesystem::path& aside) {
    std::error_code ignored;
    for (const char* suffix : {"", "-wal", "-shm"}) {
        const std::filesystem::path from = database.string() + suffix;
        if (std::filesystem::exists(from, ignored)) {
            if (base::Result<void> moved = files.rename(from, aside.string() + suffix); !moved) {
                return moved;
            }
        }
    }
    return files.syncDirectory(database.parent_path());
}

/// True when the database opens and SQLite finds nothing wrong with it.
bool isSound(const std::filesystem::path& database) {
    ConnectionPool pool(database, true, false);
    const base::Result<bool> sound = pool.run([](Connection& connection) -> base::Result<bool> {
        return connection.database().execAndGet("PRAGMA quick_check").getString() == "ok";
    });
    return sound && *sound;
}

}  // namespace

base::Result<RecoveryReport> LocalRegistry::recover(base::FileSystem& files, const std::filesystem::path& folder,
                                                    std::stop_token stop, const ByteProgress& progress) {
    return base::guarded("recovering the registry " + folder.string(), [&]() -> base::Result<RecoveryReport> {
        const RegistryLayout layout(folder);
        for (const char* name : {"objects", "packs", "tmp", "locks"}) {
            if (base::Result<void> made = files.createDirectories(folder / name); !made) {
                return made.error();
            }
        }
        RecoveryReport report;
        const std::filesystem::path bundles = layout.folder() / "recovered";
        std::vector<std::filesystem::path> written;
        {
            const base::Result<std::optional<FileLock>> importLock = FileLock::tryAcquire(layout.importLock());
            const base::Result<std::optional<FileLock>> commitLock = FileLock::tryAcquire(layout.commitLock());
            if (!importLock || !commitLock || !*importLock || !*commitLock) {
                return base::Error{base::ErrorCode::Timeout, "Another program uses the registry " + folder.string() + ".",
                                   "Close the explorer and every other program that has it open, then try again."};
            }
            std::error_code ignored;
            const bool isThere = std::filesystem::exists(layout.database(), ignored);
            if (isThere && isSound(layout.database())) {
                return base::Error{base::ErrorCode::InvalidArgument,
                                   "The database of the registry " + folder.string() + " is sound.",
                                   "Run `modulelens registry verify` to see what is wrong."};
            }
            FoundFiles found(files, folder);
            if (base::Result<void> scanned = found.scan(stop, progress, report); !scanned) {
                return scanned.error();
            }
            static_cast<void>(files.remove(bundles).hasValue());
            // One by one, so that a version that lacks a file does not take others with it.
            for (const VersionSummary& version : found.versions()) {
                const std::filesystem::path target = bundles / std::to_string(written.size());
                const base::Result<ExportReport> exported = writeBundles(found, files, {version}, target, stop, {});
                if (exported) {
                    written.push_back(target);
                    continue;
                }
                if (exported.error().code == base::ErrorCode::Cancelled ||
                    exported.error().code == base::ErrorCode::StorageFull) {
                    static_cast<void>(files.remove(bundles).hasValue());
                    return exported.error();
                }
                report.problems.push_back(version.model + "::" + version.module + " was left out: " + exported.error().message);
                static_cast<void>(files.remove(target).hasValue());
            }
            if (isThere) {
                report.damagedDatabase = asideName(layout.database());
                if (base::Result<void> moved = moveAside(files, layout.database(), report.damagedDatabase); !moved) {
                    return moved.error();
                }
            }
        }
        const base::Result<std::unique_ptr<LocalRegistry>> registry = open(files, folder, Mode::ReadWrite);
        if (!registry) {
            return registry.error();
        }
        for (const std::filesystem::path& bundle : written) {
            const base::Result<ImportReport> imported = (*registry)->import(bundle, stop, {});
            if (!imported) {
                return imported.error();
            }
            report.versions += imported->versionsNew;
            report.runs += imported->runsNew;
        }
        if (base::Result<void> removed = files.remove(bundles); !removed) {
            return removed.error();
        }
        return report;
    });
}

}  // namespace modulelens::registry
