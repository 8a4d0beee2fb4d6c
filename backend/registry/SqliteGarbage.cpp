// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Garbage and numbers of SqliteRegistry: what nothing needs, giving its space back, how much there is.
#include "backend/registry/Schema.h"
#include "backend/registry/SqliteRegistry.h"
#include "backend/registry/Timestamp.h"

#include <algorithm>
#include <limits>
#include <set>
#include <system_error>

namespace modulelens::registry {

namespace {

constexpr std::chrono::hours kImportPatience{24};

/// Objects that something outside the trash needs: artifacts, runs and results, and other needed objects.
constexpr const char* kAliveObjects =
    "WITH RECURSIVE alive(id) AS (SELECT object FROM artifact_object WHERE artifact IN "
    "(SELECT state FROM version WHERE deleted IS NULL UNION ALL SELECT trace FROM version WHERE deleted IS NULL) "
    "UNION SELECT object FROM run UNION SELECT r.object FROM result AS r JOIN version AS v ON v.id = r.version "
    "WHERE r.object IS NOT NULL AND v.deleted IS NULL "
    "UNION SELECT e.child FROM object_object AS e JOIN alive ON e.parent = alive.id) ";

/// One pack with how much of it is needed.
struct PackUse {
    std::int64_t id = 0;
    std::string digest;
    std::uint64_t sizeBytes = 0;
    std::uint64_t aliveBytes = 0;
    std::uint64_t aliveTensors = 0;
};

std::int64_t number(Connection& connection, const std::string& sql) {
    SQLite::Statement& row = connection.prepare(sql);
    const std::int64_t value = row.executeStep() ? row.getColumn(0).getInt64() : 0;
    row.tryReset();
    return value;
}

std::uint64_t size(Connection& connection, const std::string& sql) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(number(connection, sql), 0));
}

std::int64_t execute(Connection& connection, const std::string& sql) {
    return connection.database().exec(sql);
}

std::vector<PackUse> packUses(Connection& connection) {
    SQLite::Statement& row = connection.prepare(
        "SELECT p.id, p.digest, p.size, ifnull(sum(t.size), 0), count(t.id) FROM pack AS p LEFT JOIN tensor AS t ON t.pack = "
        "p.id "
        "GROUP BY p.id ORDER BY p.id");
    std::vector<PackUse> packs;
    while (row.executeStep()) {
        packs.push_back(
            {row.getColumn(0).getInt64(), digestColumn(row, 1), static_cast<std::uint64_t>(row.getColumn(2).getInt64()),
             static_cast<std::uint64_t>(row.getColumn(3).getInt64()), static_cast<std::uint64_t>(row.getColumn(4).getInt64())});
    }
    return packs;
}

/// Less than half of it is needed, with what a header says of each tensor.
bool isWorthRewriting(const PackUse& pack) {
    constexpr std::uint64_t kHeaderBytesOfTensor = 512;
    return pack.aliveTensors > 0 && pack.aliveBytes + pack.aliveTensors * kHeaderBytesOfTensor < pack.sizeBytes / 2;
}

/// Removes the rows of what nothing needs, and dooms its files. Confined to its thread.
class RowSweeper {
public:
    RowSweeper(Connection& connection, StagedFiles& staged, GarbageReport& report)
        : m_connection(connection), m_staged(staged), m_report(report) {}

    void sweep(std::int64_t deletedBefore) {
        removeVersions(deletedBefore);
        removeObjects();
        removeTensors();
        for (const PackUse& pack : packUses(m_connection)) {
            if (pack.aliveTensors == 0) {
                removePack(pack);
            } else if (!isWorthRewriting(pack)) {
                m_report.bytesKeptDead += pack.sizeBytes - std::min(pack.sizeBytes, pack.aliveBytes);
            }
        }
    }

private:
    void removeVersions(std::int64_t deletedBefore) {
        execute(m_connection, "CREATE TEMP TABLE IF NOT EXISTS doomed (id INTEGER PRIMARY KEY)");
        execute(m_connection, "CREATE TEMP TABLE IF NOT EXISTS doomed_bundle (id INTEGER PRIMARY KEY)");
        execute(m_connection, "DELETE FROM doomed; DELETE FROM doomed_bundle");
        execute(m_connection, "INSERT INTO doomed SELECT id FROM version WHERE deleted IS NOT NULL AND deleted <= " +
                                  std::to_string(deletedBefore));
        execute(m_connection,
                "INSERT INTO doomed_bundle SELECT DISTINCT bundle FROM version WHERE id IN (SELECT id FROM doomed)");
        for (const char* table : {"version_tag", "version_dtype", "alias", "attribute", "result", "link"}) {
            execute(m_connection, std::string("DELETE FROM ") + table + " WHERE version IN (SELECT id FROM doomed)");
        }
        execute(m_connection, "DELETE FROM link WHERE other IN (SELECT id FROM doomed)");
        m_report.versions = static_cast<int>(number(m_connection, "SELECT count(*) FROM doomed"));
        execute(m_connection, "DELETE FROM version WHERE id IN (SELECT id FROM doomed)");
        // The run of a bundle goes with the last of its versions; it names documents that are there no more.
        execute(m_connection, "DELETE FROM doomed_bundle WHERE id IN (SELECT bundle FROM version)");
        execute(m_connection,
                "DELETE FROM run WHERE bundle IN (SELECT id FROM doomed_bundle) AND id NOT IN "
                "(SELECT run FROM version WHERE run IS NOT NULL)");
        execute(m_connection,
                "DELETE FROM bundle WHERE id IN (SELECT id FROM doomed_bundle) AND id NOT IN "
                "(SELECT bundle FROM run)");
        for (const char* sql :
             {"DELETE FROM artifact_object WHERE artifact NOT IN (SELECT state FROM version UNION SELECT trace "
              "FROM version)",
              "DELETE FROM artifact WHERE id NOT IN (SELECT state FROM version UNION SELECT trace FROM version)"}) {
            execute(m_connection, sql);
        }
    }

    void removeObjects() {
        // Versions that stay in the trash are needed as well, until they go.
        execute(m_connection, "DELETE FROM doomed");
        execute(m_connection,
                "WITH RECURSIVE alive(id) AS (SELECT object FROM artifact_object UNION SELECT object FROM run "
                "UNION SELECT object FROM result WHERE object IS NOT NULL "
                "UNION SELECT e.child FROM object_object AS e JOIN alive ON e.parent = alive.id) "
                "INSERT INTO doomed SELECT id FROM object WHERE id NOT IN (SELECT id FROM alive)");
        SQLite::Statement& row = m_connection.prepare("SELECT digest, size FROM object WHERE id IN (SELECT id FROM doomed)");
        while (row.executeStep()) {
            m_staged.doom(RegistryLayout::objectName(digestColumn(row, 0)));
            m_report.bytesFreed += static_cast<std::uint64_t>(row.getColumn(1).getInt64());
            ++m_report.objects;
        }
        row.tryReset();
        execute(m_connection, "DELETE FROM object_object WHERE parent IN (SELECT id FROM doomed)");
        execute(m_connection, "DELETE FROM object_tensor WHERE object IN (SELECT id FROM doomed)");
        execute(m_connection, "DELETE FROM object WHERE id IN (SELECT id FROM doomed)");
    }

    void removeTensors() {
        m_report.tensors += execute(m_connection, "DELETE FROM tensor WHERE id NOT IN (SELECT tensor FROM object_tensor)");
    }

    void removePack(const PackUse& pack) {
        m_staged.doom(RegistryLayout::packName(pack.digest));
        execute(m_connection, "DELETE FROM pack WHERE id = " + std::to_string(pack.id));
        m_report.bytesFreed += pack.sizeBytes;
        ++m_report.packs;
    }

    Connection& m_connection;
    StagedFiles& m_staged;
    GarbageReport& m_report;
};

base::Error cancelled() {
    return {base::ErrorCode::Cancelled, "Collecting garbage was cancelled; what was done so far stays done.", ""};
}

}  // namespace

base::Result<void> SqliteRegistry::rewritePack(std::int64_t packId, std::stop_token stop, GarbageReport& report) {
    struct Kept {
        std::string packDigest;
        std::uint64_t packBytes = 0;
        std::set<std::string> tensors;
    };
    const base::Result<Kept> kept = m_pool->read([&](Connection& connection) -> base::Result<Kept> {
        Kept found;
        SQLite::Statement& row = connection.prepare(
            "SELECT p.digest, p.size, t.digest FROM pack AS p JOIN tensor AS t ON t.pack = p.id WHERE p.id = ?1");
        row.bind(1, packId);
        while (row.executeStep()) {
            found.packDigest = digestColumn(row, 0);
            found.packBytes = static_cast<std::uint64_t>(row.getColumn(1).getInt64());
            found.tensors.insert(digestColumn(row, 2));
        }
        return found;
    });
    if (!kept) {
        return kept.error();
    }
    const std::string oldName = RegistryLayout::packName(kept->packDigest);
    const base::Result<std::shared_ptr<const base::MappedFile>> file = m_files.map(m_layout.folder() / oldName);
    if (!file) {
        return file.error();
    }
    const base::Result<capture::SafetensorsHeader> header = capture::readSafetensorsHeader((*file)->bytes(), oldName);
    if (!header) {
        return header.error();
    }
    std::vector<capture::SafetensorsInput> inputs;
    inputs.reserve(kept->tensors.size());
    for (const std::string& digest : kept->tensors) {
        const auto entry = header->entries.find(digest);
        if (entry == header->entries.end()) {
            return base::Error{base::ErrorCode::Corrupt, oldName + " does not hold the tensor " + digest + ".",
                               "Run `modulelens registry verify`."};
        }
        inputs.push_back({digest, entry->second.dtype, entry->second.shape,
                          (*file)->bytes().subspan(entry->second.offset, entry->second.sizeBytes)});
    }
    StagedFiles staged(m_files, m_layout, "gc");
    const base::Result<StagedPack> pack = staged.addPack(inputs, stop, {});
    if (!pack) {
        return pack.error();
    }
    if (pack->digest == kept->packDigest) {
        return {};
    }
    const base::Result<FileLock> lock = lockForCommit(stop);
    if (!lock) {
        return lock.error();
    }
    base::Result<void> done = m_pool->write([&](Connection& connection) -> base::Result<void> {
        SQLite::Statement& row = connection.prepare("INSERT INTO pack (digest, size) VALUES (?1, ?2) RETURNING id");
        bindDigest(row, 1, pack->digest);
        row.bind(2, static_cast<std::int64_t>(pack->sizeBytes));
        row.executeStep();
        const std::int64_t newId = row.getColumn(0).getInt64();
        row.tryReset();
        SQLite::Statement& moved =
            connection.prepare("UPDATE tensor SET pack = ?1, offset = ?2 WHERE digest = ?3 AND pack = ?4");
        for (const auto& [digest, entry] : pack->entries) {
            moved.bind(1, newId);
            moved.bind(2, static_cast<std::int64_t>(entry.offset));
            bindDigest(moved, 3, digest);
            moved.bind(4, packId);
            moved.exec();
            moved.tryReset();
        }
        SQLite::Statement& removed = connection.prepare("DELETE FROM pack WHERE id = ?1");
        removed.bind(1, packId);
        removed.exec();
        staged.doom(oldName);
        return staged.publish();
    });
    if (done) {
        staged.keep();
        ++report.packs;
        ++report.packsRewritten;
        report.bytesFreed += kept->packBytes - std::min(kept->packBytes, pack->sizeBytes);
    }
    return done;
}

base::Result<void> SqliteRegistry::sweepUnknownFiles(std::stop_token stop, GarbageReport& report, bool isDryRun) {
    // Under the commit lock, so that no file is on its way in.
    const base::Result<FileLock> lock = lockForCommit(std::move(stop));
    if (!lock) {
        return lock.error();
    }
    for (const char* folder : {"objects", "packs"}) {
        const base::Result<std::vector<std::string>> names = m_files.listFiles(m_layout.folder() / folder);
        if (!names) {
            return names.error();
        }
        const base::Result<std::vector<std::string>> unknown =
            m_pool->read([&](Connection& connection) -> base::Result<std::vector<std::string>> {
                std::vector<std::string> found;
                for (const std::string& name : *names) {
                    const std::string relative = std::string(folder) + "/" + name;
                    if (digestOfName(relative).empty() || !isKnownFile(connection, relative)) {
                        found.push_back(relative);
                    }
                }
                return found;
            });
        if (!unknown) {
            return unknown.error();
        }
        for (const std::string& name : *unknown) {
            const base::Result<std::uint64_t> sizeBytes = m_files.sizeBytes(m_layout.folder() / name);
            report.bytesFreed += sizeBytes ? *sizeBytes : 0;
            ++report.objects;
            if (!isDryRun) {
                if (base::Result<void> removed = m_files.remove(m_layout.folder() / name); !removed) {
                    return removed;
                }
            }
        }
    }
    return {};
}

base::Result<GarbageReport> SqliteRegistry::collectGarbage(const GarbageSettings& settings, std::stop_token stop,
                                                           const ByteProgress& progress) {
    if (base::Result<void> writable = requireWritable(); !writable) {
        return writable.error();
    }
    return base::guarded("collecting the garbage of " + displayName(), [&]() -> base::Result<GarbageReport> {
        // An import decides what it need not store again before it commits: nothing may go in between.
        const base::Result<FileLock> importLock = FileLock::acquire(m_layout.importLock(), stop, kImportPatience);
        if (!importLock) {
            return importLock.error();
        }
        GarbageReport report;
        std::vector<PackUse> worth;
        // Without an age everything goes, also what a clock that was ahead has deleted in the future.
        const std::int64_t before =
            settings.trashAge.count() <= 0
                ? std::numeric_limits<std::int64_t>::max()
                : currentUtcMicroseconds() - std::chrono::duration_cast<std::chrono::microseconds>(settings.trashAge).count();
        {
            const base::Result<FileLock> lock = lockForCommit(stop);
            if (!lock) {
                return lock.error();
            }
            StagedFiles staged(m_files, m_layout, "gc");
            bool isCounted = false;
            const base::Result<void> swept = m_pool->write([&](Connection& connection) -> base::Result<void> {
                RowSweeper(connection, staged, report).sweep(before);
                worth = packUses(connection);
                std::erase_if(worth, [](const PackUse& pack) { return !isWorthRewriting(pack); });
                isCounted = true;
                // A dry run counts inside the transaction, which then is taken back.
                return settings.isDryRun ? base::Result<void>(cancelled()) : staged.publish();
            });
            if (!swept && !(settings.isDryRun && isCounted)) {
                return swept.error();
            }
            if (swept) {
                staged.keep();
            }
        }
        if (base::Result<void> done = sweepUnknownFiles(stop, report, settings.isDryRun); !done) {
            return done.error();
        }
        std::uint64_t total = 0;
        for (const PackUse& pack : worth) {
            total += pack.aliveBytes;
        }
        std::uint64_t finished = 0;
        for (const PackUse& pack : worth) {
            if (stop.stop_requested()) {
                return cancelled();
            }
            if (settings.isDryRun) {
                ++report.packs;
                ++report.packsRewritten;
                report.bytesFreed += pack.sizeBytes - pack.aliveBytes;
            } else if (const base::Result<void> done = rewritePack(pack.id, stop, report); !done) {
                return done.error();
            }
            finished += pack.aliveBytes;
            if (progress) {
                progress(finished, total);
            }
        }
        return report;
    });
}

base::Result<RegistryStatistics> SqliteRegistry::statistics() {
    base::Result<RegistryStatistics> read = m_pool->read([&](Connection& connection) -> base::Result<RegistryStatistics> {
        RegistryStatistics numbers;
        numbers.models = number(connection, "SELECT count(DISTINCT model) FROM collection WHERE latest IS NOT NULL");
        numbers.collections = number(connection, "SELECT count(*) FROM collection WHERE latest IS NOT NULL");
        numbers.versions = number(connection, "SELECT count(*) FROM version WHERE deleted IS NULL");
        numbers.trashed = number(connection, "SELECT count(*) FROM version WHERE deleted IS NOT NULL");
        numbers.runs = number(connection, "SELECT count(*) FROM run");
        numbers.results = number(connection, "SELECT count(*) FROM result");
        numbers.objects = number(connection, "SELECT count(*) FROM object");
        numbers.objectBytes = size(connection, "SELECT ifnull(sum(size), 0) FROM object");
        numbers.packs = number(connection, "SELECT count(*) FROM pack");
        numbers.packBytes = size(connection, "SELECT ifnull(sum(size), 0) FROM pack");
        numbers.tensors = number(connection, "SELECT count(*) FROM tensor");
        numbers.tensorBytes = size(connection, "SELECT ifnull(sum(size), 0) FROM tensor");
        const std::string alive(kAliveObjects);
        numbers.deadBytes =
            size(connection, alive + "SELECT ifnull(sum(size), 0) FROM object WHERE id NOT IN (SELECT id FROM alive)") +
            size(connection, alive +
                                 "SELECT ifnull(sum(size), 0) FROM tensor WHERE id NOT IN (SELECT tensor FROM "
                                 "object_tensor WHERE object IN (SELECT id FROM alive))");
        numbers.schemaVersion = kSchemaVersion;
        return numbers;
    });
    if (!read) {
        return read;
    }
    for (const char* suffix : {"", "-wal"}) {
        const base::Result<std::uint64_t> sizeBytes = m_files.sizeBytes(m_layout.database().string() + suffix);
        read->databaseBytes += sizeBytes ? *sizeBytes : 0;
    }
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(m_layout.inbox(), ignored)) {
        read->waiting += isTemporaryName(entry.path().filename().string()) ? 0 : 1;
    }
    return read;
}

}  // namespace modulelens::registry
