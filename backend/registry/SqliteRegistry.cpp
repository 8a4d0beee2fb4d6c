// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/SqliteRegistry.h"

#include "backend/base/Digest.h"
#include "backend/registry/Names.h"
#include "backend/registry/NetworkFolder.h"
#include "backend/registry/Schema.h"
#include "backend/registry/Summaries.h"
#include "backend/registry/Timestamp.h"

#include <unistd.h>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>

namespace modulelens::registry {

namespace {

constexpr std::chrono::seconds kCommitPatience{60};
constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{1} << 30;

bool fileExists(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

std::int64_t pragma(Connection& connection, const char* name) {
    return connection.database().execAndGet(std::string("PRAGMA ") + name).getInt64();
}

/// Refuses a file that cannot be a registry's database, by the fixed fields of SQLite's file header
/// (https://www.sqlite.org/fileformat.html, 1.3), so that nothing is created beside what belongs to somebody else.
base::Result<void> checkDatabaseFile(const std::filesystem::path& path) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(path, failed);
    if (!std::filesystem::exists(status)) {
        return {};
    }
    const base::Error foreign{base::ErrorCode::Corrupt, path.string() + " is not a registry database.",
                              "If it was one, run `modulelens registry recover`; else choose another registry folder."};
    if (!std::filesystem::is_regular_file(status)) {
        return foreign;
    }
    std::array<char, 100> header{};
    std::ifstream file(path, std::ios::binary);
    file.read(header.data(), header.size());
    // A database that was just created may still be empty, and one that cannot be read is reported when it is opened.
    if (file.gcount() == 0) {
        return {};
    }
    constexpr std::string_view kMagic("SQLite format 3\0", 16);
    constexpr std::size_t kApplicationIdOffset = 68;
    std::int64_t applicationId = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        applicationId = (applicationId << 8) | static_cast<unsigned char>(header[kApplicationIdOffset + i]);
    }
    const bool isDatabase = file.gcount() == static_cast<std::streamsize>(header.size()) &&
                            std::string_view(header.data(), kMagic.size()) == kMagic;
    if (!isDatabase || (applicationId != 0 && applicationId != kApplicationId)) {
        return foreign;
    }
    return {};
}

base::Error damaged(const std::filesystem::path& file) {
    return {base::ErrorCode::Corrupt, "The registry file " + file.string() + " is damaged or missing.",
            "Import the bundle again, or restore the registry from a backup."};
}

base::Result<void> checkDigest(const std::string& digest) {
    if (base::isLowerHex(digest, 64)) {
        return {};
    }
    return base::Error{base::ErrorCode::InvalidArgument, "'" + digest.substr(0, 80) + "' is not a digest.",
                       "A digest is 64 lower-case hexadecimal digits."};
}

RunSummary readRun(SQLite::Statement& row) {
    RunSummary run;
    run.id = row.getColumn(0).getString();
    run.model = row.getColumn(1).getString();
    run.collection = row.getColumn(2).getString();
    run.step = row.getColumn(3).getInt64();
    run.started = formatUtc(row.getColumn(4).getInt64());
    run.digest = digestColumn(row, 5);
    run.callCount = row.getColumn(6).getInt64();
    return run;
}

constexpr const char* kRunColumns =
    "SELECT r.key, name.text, r.collection, r.step, r.started, r.digest, r.call_count FROM run AS r JOIN name ON name.id = "
    "r.model ";

}  // namespace

bool isKnownFile(Connection& connection, const std::string& name) {
    const bool pack = name.starts_with("packs/");
    SQLite::Statement& row =
        connection.prepare(pack ? "SELECT 1 FROM pack WHERE digest = ?1" : "SELECT 1 FROM object WHERE digest = ?1");
    bindDigest(row, 1, digestOfName(name));
    return hasRow(row);
}

SqliteRegistry::SqliteRegistry(base::FileSystem& files, std::filesystem::path folder, Mode mode)
    : m_files(files), m_layout(std::move(folder)), m_mode(mode) {}

base::Result<void> SqliteRegistry::open() {
    if (m_mode == Mode::ReadOnly) {
        return openReadOnly();
    }
    base::Result<void> done = prepareFolder();
    if (done) {
        done = prepareDatabase();
    }
    if (done) {
        sweep();
    }
    return done;
}

base::Result<void> SqliteRegistry::prepareFolder() {
    if (base::Result<void> local = refuseNetworkFolder(m_layout.folder()); !local) {
        return local;
    }
    if (base::Result<void> ours = checkDatabaseFile(m_layout.database()); !ours) {
        return ours;
    }
    for (const char* name : {"objects", "packs", "inbox", "tmp", "locks"}) {
        if (base::Result<void> made = m_files.createDirectories(m_layout.folder() / name); !made) {
            return made.error().within("opening the registry");
        }
    }
    const bool databaseReadOnly = fileExists(m_layout.database()) && ::access(m_layout.database().c_str(), W_OK) != 0;
    if (databaseReadOnly || ::access(m_layout.folder().c_str(), W_OK) != 0) {
        return base::Error{base::ErrorCode::PermissionDenied,
                           "The registry folder " + m_layout.folder().string() + " cannot be written.",
                           "Change the permissions of the folder, open it read-only, or choose another one."};
    }
    return fileExists(m_layout.database()) ? base::Result<void>() : m_files.syncDirectory(m_layout.folder());
}

base::Result<void> SqliteRegistry::prepareDatabase() {
    m_pool = std::make_unique<ConnectionPool>(m_layout.database(), false, false);
    base::Result<FileLock> lock = FileLock::acquire(m_layout.commitLock(), {}, kCommitPatience);
    if (!lock) {
        return lock.error();
    }
    base::Result<void> done = m_pool->run([&](Connection& connection) -> base::Result<void> {
        int version = 0;
        base::Result<void> fit = checkSchema(connection, &version);
        if (!fit) {
            return fit;
        }
        // A registry that was moved comes without it.
        connection.database().execAndGet("PRAGMA journal_mode = WAL");
        if (version < kSchemaVersion) {
            migrate(connection, version);
        }
        return {};
    });
    if (!done) {
        return done;
    }
    return m_pool->run([&](Connection& connection) {
        return registry::recover(m_files, m_layout,
                                 [&](const std::string& name) -> base::Result<bool> { return isKnownFile(connection, name); });
    });
}

base::Result<void> SqliteRegistry::checkSchema(Connection& connection, int* userVersion) {
    const std::int64_t applicationId = pragma(connection, "application_id");
    const std::int64_t version = pragma(connection, "user_version");
    const std::int64_t tables = connection.database().execAndGet("SELECT count(*) FROM sqlite_master").getInt64();
    if (applicationId != kApplicationId && (applicationId != 0 || version != 0 || tables != 0)) {
        return base::Error{base::ErrorCode::Corrupt,
                           "The file " + m_layout.database().string() + " is a database of another program.",
                           "Choose another registry folder."};
    }
    if (version > kSchemaVersion) {
        return base::Error{base::ErrorCode::Unsupported,
                           "The registry " + m_layout.folder().string() + " was written by a newer ModuleLens (schema " +
                               std::to_string(version) + ", this one knows " + std::to_string(kSchemaVersion) + ").",
                           "Update ModuleLens."};
    }
    *userVersion = static_cast<int>(version);
    return {};
}

base::Result<void> SqliteRegistry::openReadOnly() {
    const base::Error missing{base::ErrorCode::NotFound, "There is no registry in " + m_layout.folder().string() + ".",
                              "Check the path, or import a bundle to create one."};
    if (!fileExists(m_layout.database())) {
        return missing;
    }
    if (base::Result<void> ours = checkDatabaseFile(m_layout.database()); !ours) {
        return ours;
    }
    const auto attempt = [&](bool immutable) {
        m_pool = std::make_unique<ConnectionPool>(m_layout.database(), true, immutable);
        return m_pool->run([&](Connection& connection) -> base::Result<void> {
            int version = 0;
            base::Result<void> fit = checkSchema(connection, &version);
            if (fit && version > 0 && version < kSchemaVersion) {
                return base::Error{base::ErrorCode::Unsupported,
                                   "The registry " + m_layout.folder().string() + " was written by an older ModuleLens.",
                                   "Open it once for writing, which brings it up to date."};
            }
            return fit && version == 0 ? missing : fit;
        });
    };
    base::Result<void> done = attempt(false);
    // SQLite reads a WAL database in a folder that cannot be written only when told that nobody else writes it either.
    const bool alone = !fileExists(m_layout.database().string() + "-wal");
    if (!done && done.error().code == base::ErrorCode::PermissionDenied && alone) {
        done = attempt(true);
    }
    return done;
}

/// Removes what processes that died have left in tmp/. While somebody imports, the rest waits for the next opening.
void SqliteRegistry::sweep() {
    const base::Result<std::optional<FileLock>> importLock = FileLock::tryAcquire(m_layout.importLock());
    if (!importLock || !*importLock) {
        return;
    }
    const base::Result<FileLock> commitLock = lockForCommit({});
    if (!commitLock) {
        return;
    }
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(m_layout.temporary(), ignored)) {
        static_cast<void>(m_files.remove(entry.path()).hasValue());
    }
}

base::Result<void> SqliteRegistry::requireWritable() const {
    if (m_mode == Mode::ReadWrite) {
        return {};
    }
    return base::Error{base::ErrorCode::PermissionDenied, "The registry " + displayName() + " is open for reading only.",
                       "Open it in a folder that you can write."};
}

base::Result<FileLock> SqliteRegistry::lockForCommit(std::stop_token stop) {
    base::Result<FileLock> lock = FileLock::acquire(m_layout.commitLock(), std::move(stop), kCommitPatience);
    if (!lock) {
        return lock;
    }
    const base::Result<void> recovered = m_pool->run([&](Connection& connection) {
        return registry::recover(m_files, m_layout,
                                 [&](const std::string& name) -> base::Result<bool> { return isKnownFile(connection, name); });
    });
    if (!recovered) {
        return recovered.error();
    }
    return lock;
}

std::string SqliteRegistry::displayName() const {
    return m_layout.folder().string();
}

std::filesystem::path SqliteRegistry::folder() const {
    return m_layout.folder();
}

base::Result<FileExtent> SqliteRegistry::objectExtent(Connection& connection, const std::string& digest,
                                                      const std::string& kind) {
    if (const base::Result<void> fit = checkDigest(digest); !fit) {
        return fit.error();
    }
    SQLite::Statement& row = connection.prepare("SELECT size FROM object WHERE digest = ?1 AND kind = ?2");
    bindDigest(row, 1, digest);
    row.bind(2, kind);
    if (!row.executeStep()) {
        return base::Error{base::ErrorCode::NotFound,
                           "The registry " + displayName() + " has no " + kind + " with the digest " + digest + ".",
                           "Import the bundle that holds it."};
    }
    return FileExtent{m_layout.folder() / RegistryLayout::objectName(digest), 0,
                      static_cast<std::uint64_t>(row.getColumn(0).getInt64())};
}

base::Result<std::string> SqliteRegistry::objectText(const std::string& digest, const std::string& kind) {
    const base::Result<FileExtent> extent =
        m_pool->read([&](Connection& connection) { return objectExtent(connection, digest, kind); });
    if (!extent) {
        return extent.error();
    }
    base::Result<std::string> text = m_files.read(extent->file, kMaxDocumentBytes);
    if (!text) {
        return text.error().code == base::ErrorCode::NotFound ? damaged(extent->file) : text.error();
    }
    if (base::sha256Hex(*text) != digest) {
        return damaged(extent->file);
    }
    return text;
}

base::Result<std::string> SqliteRegistry::versionDigest(const std::string& id) {
    return m_pool->read([&](Connection& connection) -> base::Result<std::string> {
        SQLite::Statement& row = connection.prepare("SELECT digest FROM version WHERE key = ?1 AND deleted IS NULL");
        row.bind(1, id);
        if (!row.executeStep()) {
            return noSuchVersion(connection, id);
        }
        return digestColumn(row, 0);
    });
}

base::Result<std::string> SqliteRegistry::versionText(const std::string& id) {
    const base::Result<std::string> digest = versionDigest(id);
    return digest ? objectText(*digest, "version") : digest;
}

base::Result<std::string> SqliteRegistry::runText(const std::string& digest) {
    return objectText(digest, "run");
}

base::Result<capture::VersionDocument> SqliteRegistry::versionDocument(const std::string& id) {
    const base::Result<std::string> digest = versionDigest(id);
    if (!digest) {
        return digest.error();
    }
    const base::Result<std::string> text = objectText(*digest, "version");
    if (!text) {
        return text.error();
    }
    return capture::parseVersionDocument(*text, *digest);
}

base::Result<capture::NodeDocument> SqliteRegistry::node(const std::string& digest) {
    const base::Result<std::string> text = objectText(digest, "node");
    if (!text) {
        return text.error();
    }
    return capture::parseNodeDocument(*text, digest);
}

base::Result<std::string> SqliteRegistry::nodeText(const std::string& digest) {
    return objectText(digest, "node");
}

base::Result<std::string> SqliteRegistry::source(const std::string& digest) {
    return objectText(digest, "source");
}

base::Result<capture::RunRecord> SqliteRegistry::runRecord(const std::string& digest) {
    const base::Result<std::string> text = objectText(digest, "run");
    if (!text) {
        return text.error();
    }
    return capture::parseRunRecord(*text, digest);
}

base::Result<std::map<std::string, FileExtent>> SqliteRegistry::tensors(const std::vector<std::string>& digests) {
    using Extents = std::map<std::string, FileExtent>;
    return m_pool->read([&](Connection& connection) -> base::Result<Extents> {
        Extents extents;
        std::map<std::filesystem::path, std::uint64_t> packSizes;
        for (const std::string& digest : digests) {
            if (const base::Result<void> fit = checkDigest(digest); !fit) {
                return fit.error();
            }
            SQLite::Statement& row = connection.prepare(
                "SELECT pack.digest, t.offset, t.size FROM tensor AS t JOIN pack ON pack.id = t.pack WHERE t.digest = ?1");
            bindDigest(row, 1, digest);
            if (!row.executeStep()) {
                return base::Error{base::ErrorCode::NotFound,
                                   "The registry " + displayName() + " has no tensor with the digest " + digest + ".",
                                   "Import the bundle that holds it."};
            }
            const FileExtent extent{m_layout.folder() / RegistryLayout::packName(digestColumn(row, 0)),
                                    static_cast<std::uint64_t>(row.getColumn(1).getInt64()),
                                    static_cast<std::uint64_t>(row.getColumn(2).getInt64())};
            if (!packSizes.contains(extent.file)) {
                std::error_code failed;
                const std::uintmax_t size = std::filesystem::file_size(extent.file, failed);
                packSizes[extent.file] = failed ? 0 : size;
            }
            const std::uint64_t size = packSizes[extent.file];
            if (extent.offset > size || extent.sizeBytes > size - extent.offset) {
                return damaged(extent.file);
            }
            extents.emplace(digest, extent);
        }
        return extents;
    });
}

base::Result<FileExtent> SqliteRegistry::program(const std::string& digest) {
    base::Result<FileExtent> extent =
        m_pool->read([&](Connection& connection) { return objectExtent(connection, digest, "program"); });
    if (!extent) {
        return extent;
    }
    const base::Result<std::shared_ptr<const base::MappedFile>> file = m_files.map(extent->file);
    if (!file || base::sha256Hex((*file)->bytes()) != digest) {
        return damaged(extent->file);
    }
    return extent;
}

base::Result<std::vector<RunSummary>> SqliteRegistry::runs(const std::string& model) {
    return m_pool->read([&](Connection& connection) -> base::Result<std::vector<RunSummary>> {
        SQLite::Statement& row =
            connection.prepare(std::string(kRunColumns) + "WHERE ?1 = '' OR name.text = ?1 ORDER BY r.started DESC, r.id DESC");
        row.bind(1, model);
        std::vector<RunSummary> runs;
        while (row.executeStep()) {
            runs.push_back(readRun(row));
        }
        return runs;
    });
}

base::Result<std::optional<RunSummary>> SqliteRegistry::runOf(const std::string& id) {
    return m_pool->read([&](Connection& connection) -> base::Result<std::optional<RunSummary>> {
        const std::optional<std::int64_t> version = findVersion(connection, id);
        if (!version) {
            return noSuchVersion(connection, id);
        }
        SQLite::Statement& row =
            connection.prepare(std::string(kRunColumns) + "WHERE r.id = (SELECT run FROM version WHERE id = ?1)");
        row.bind(1, *version);
        return row.executeStep() ? std::optional<RunSummary>(readRun(row)) : std::nullopt;
    });
}

base::Result<std::unique_ptr<LocalRegistry>> LocalRegistry::open(base::FileSystem& files, const std::filesystem::path& folder,
                                                                 Mode mode) {
    if (folder.empty()) {
        return base::Error{base::ErrorCode::InvalidArgument, "No registry folder is known.",
                           "Name one, or set MODULELENS_REGISTRY or HOME."};
    }
    return base::guarded("opening the registry " + folder.string(), [&]() -> base::Result<std::unique_ptr<LocalRegistry>> {
        auto registry = std::make_unique<SqliteRegistry>(files, folder, mode);
        if (base::Result<void> opened = registry->open(); !opened) {
            return opened.error();
        }
        return std::unique_ptr<LocalRegistry>(std::move(registry));
    });
}

std::filesystem::path defaultRegistryFolder() {
    const auto fromEnvironment = [](const char* name) {
        const char* value = std::getenv(name);
        return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
    };
    if (std::filesystem::path folder = fromEnvironment("MODULELENS_REGISTRY"); !folder.empty()) {
        return folder;
    }
    std::filesystem::path data = fromEnvironment("XDG_DATA_HOME");
    if (!data.is_absolute()) {
        const std::filesystem::path home = fromEnvironment("HOME");
        if (!home.is_absolute()) {
            return {};
        }
        data = home / ".local" / "share";
    }
    return data / "modulelens" / "registry";
}

}  // namespace modulelens::registry
