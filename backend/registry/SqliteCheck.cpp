// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Self-check of SqliteRegistry.
#include "backend/base/Digest.h"
#include "backend/registry/SearchIndex.h"
#include "backend/registry/SqliteRegistry.h"

#include <set>
#include <system_error>

namespace modulelens::registry {

namespace {

constexpr std::size_t kSliceBytes = std::size_t{4} << 20;

struct StoredFile {
    std::int64_t rowid = 0;
    std::string digest;
    std::string name;
    std::uint64_t sizeBytes = 0;
};

struct StoredTensor {
    std::string digest;
    std::uint64_t offset = 0;
    std::uint64_t sizeBytes = 0;
};

/// What the database says is there.
struct Inventory {
    std::vector<StoredFile> objects;
    std::vector<StoredFile> packs;
    std::map<std::int64_t, std::vector<StoredTensor>> tensors;   ///< By rowid of the pack.
    std::vector<std::string> problems;
};

std::vector<StoredFile> readFiles(Connection& connection, const char* sql, std::string (*nameOf)(const std::string&)) {
    std::vector<StoredFile> files;
    SQLite::Statement& row = connection.prepare(sql);
    while (row.executeStep()) {
        const std::string digest = digestColumn(row, 1);
        files.push_back(
            {row.getColumn(0).getInt64(), digest, nameOf(digest), static_cast<std::uint64_t>(row.getColumn(2).getInt64())});
    }
    return files;
}

Inventory readInventory(Connection& connection) {
    Inventory inventory;
    SQLite::Statement& integrity = connection.prepare("PRAGMA integrity_check");
    while (integrity.executeStep()) {
        if (const std::string text = integrity.getColumn(0).getString(); text != "ok") {
            inventory.problems.push_back("registry.sqlite is damaged: " + text);
        }
    }
    SQLite::Statement& foreign = connection.prepare("PRAGMA foreign_key_check");
    while (foreign.executeStep()) {
        inventory.problems.push_back("registry.sqlite: a row of " + foreign.getColumn(0).getString() +
                                     " names a missing row of " + foreign.getColumn(2).getString());
    }
    inventory.objects =
        readFiles(connection, "SELECT id, digest, size FROM object ORDER BY digest", &RegistryLayout::objectName);
    inventory.packs = readFiles(connection, "SELECT id, digest, size FROM pack ORDER BY id", &RegistryLayout::packName);
    SQLite::Statement& tensor = connection.prepare("SELECT pack, digest, offset, size FROM tensor ORDER BY pack, offset");
    while (tensor.executeStep()) {
        inventory.tensors[tensor.getColumn(0).getInt64()].push_back(
            {digestColumn(tensor, 1), static_cast<std::uint64_t>(tensor.getColumn(2).getInt64()),
             static_cast<std::uint64_t>(tensor.getColumn(3).getInt64())});
    }
    return inventory;
}

/// Compares files with an inventory. Confined to its thread.
class FolderCheck {
public:
    FolderCheck(base::FileSystem& files, std::filesystem::path folder, std::stop_token stop, const ByteProgress& progress)
        : m_files(files), m_folder(std::move(folder)), m_stop(std::move(stop)), m_progress(progress) {}

    /// Files that the database does not know. Requires: nobody adds files since `inventory` was read.
    void checkUnknownFiles(const Inventory& inventory);
    /// Reads every known file.
    base::Result<CheckReport> run(const Inventory& inventory);

private:
    /// The file mapped, when its bytes are as the database says.
    std::shared_ptr<const base::MappedFile> checkFile(const StoredFile& file);
    void checkTensors(const StoredFile& pack, std::span<const std::byte> bytes, const std::vector<StoredTensor>& tensors);

    base::FileSystem& m_files;
    const std::filesystem::path m_folder;
    std::stop_token m_stop;
    const ByteProgress& m_progress;
    std::uint64_t m_total = 0;
    CheckReport m_report;
};

base::Result<CheckReport> FolderCheck::run(const Inventory& inventory) {
    m_report.problems.insert(m_report.problems.end(), inventory.problems.begin(), inventory.problems.end());
    for (const auto* files : {&inventory.objects, &inventory.packs}) {
        for (const StoredFile& file : *files) {
            m_total += file.sizeBytes;
        }
    }
    for (const StoredFile& object : inventory.objects) {
        checkFile(object);
        ++m_report.objects;
    }
    static const std::vector<StoredTensor> kNone;
    for (const StoredFile& pack : inventory.packs) {
        const auto tensors = inventory.tensors.find(pack.rowid);
        if (const auto file = checkFile(pack)) {
            checkTensors(pack, file->bytes(), tensors == inventory.tensors.end() ? kNone : tensors->second);
        }
        ++m_report.packs;
    }
    if (m_stop.stop_requested()) {
        return base::Error{base::ErrorCode::Cancelled, "The check of the registry was cancelled.", ""};
    }
    return std::move(m_report);
}

std::shared_ptr<const base::MappedFile> FolderCheck::checkFile(const StoredFile& file) {
    if (m_stop.stop_requested()) {
        return nullptr;
    }
    base::Result<std::shared_ptr<const base::MappedFile>> mapped = m_files.map(m_folder / file.name);
    if (!mapped) {
        m_report.problems.push_back(file.name + " cannot be read: " + mapped.error().message);
        return nullptr;
    }
    const std::span<const std::byte> bytes = (*mapped)->bytes();
    if (bytes.size() != file.sizeBytes) {
        m_report.problems.push_back(file.name + " holds " + std::to_string(bytes.size()) + " bytes instead of " +
                                    std::to_string(file.sizeBytes));
        return nullptr;
    }
    base::Sha256 digest;
    for (std::size_t done = 0; done < bytes.size() && !m_stop.stop_requested();) {
        const std::span<const std::byte> slice = bytes.subspan(done, std::min(kSliceBytes, bytes.size() - done));
        digest.update(slice);
        done += slice.size();
        m_report.bytesRead += slice.size();
        if (m_progress) {
            m_progress(m_report.bytesRead, m_total);
        }
    }
    if (m_stop.stop_requested()) {
        return nullptr;
    }
    if (digest.finish() != file.digest) {
        m_report.problems.push_back(file.name + " does not match its digest");
        return nullptr;
    }
    return std::move(*mapped);
}

void FolderCheck::checkTensors(const StoredFile& pack, std::span<const std::byte> bytes,
                               const std::vector<StoredTensor>& tensors) {
    const base::Result<capture::SafetensorsHeader> header = capture::readSafetensorsHeader(bytes, pack.name);
    if (!header) {
        m_report.problems.push_back(pack.name + " is no safetensors file: " + header.error().message);
        return;
    }
    for (const StoredTensor& tensor : tensors) {
        const auto entry = header->entries.find(tensor.digest);
        if (entry == header->entries.end() || entry->second.offset != tensor.offset ||
            entry->second.sizeBytes != tensor.sizeBytes) {
            m_report.problems.push_back(pack.name + " does not hold the tensor " + tensor.digest + " where the database says");
        }
        ++m_report.tensors;
    }
}

void FolderCheck::checkUnknownFiles(const Inventory& inventory) {
    std::set<std::string> known;
    for (const auto* files : {&inventory.objects, &inventory.packs}) {
        for (const StoredFile& file : *files) {
            known.insert(file.name);
        }
    }
    for (const char* folder : {"objects", "packs"}) {
        const base::Result<std::vector<std::string>> listed = m_files.listFiles(m_folder / folder);
        if (!listed) {
            m_report.problems.push_back(std::string(folder) + "/ cannot be listed: " + listed.error().message);
            continue;
        }
        for (const std::string& name : *listed) {
            const std::string relative = std::string(folder) + "/" + name;
            if (!known.contains(relative)) {
                m_report.problems.push_back(relative + " is not known to the database");
            }
        }
    }
}

}  // namespace

base::Result<CheckReport> SqliteRegistry::check(std::stop_token stop, const ByteProgress& progress) {
    return base::guarded("checking the registry " + displayName(), [&]() -> base::Result<CheckReport> {
        // The commit lock keeps files and database in step while both are listed; files that are known never change, so
        // they are read without it. A registry that is open for reading only is taken as it stands.
        std::optional<FileLock> lock;
        if (m_mode == Mode::ReadWrite) {
            base::Result<FileLock> held = lockForCommit(stop);
            if (!held) {
                return held.error();
            }
            lock = std::move(*held);
        }
        base::Result<Inventory> inventory =
            m_pool->read([&](Connection& connection) -> base::Result<Inventory> { return readInventory(connection); });
        if (!inventory) {
            return inventory.error();
        }
        base::Result<bool> isIndexed =
            m_pool->read([](Connection& connection) -> base::Result<bool> { return indexMatchesRows(connection); });
        if (isIndexed && !*isIndexed) {
            inventory->problems.push_back("The search index did not match its rows" +
                                          std::string(m_mode == Mode::ReadWrite ? "; it was made anew" : ""));
            if (m_mode == Mode::ReadWrite) {
                isIndexed = m_pool->write([](Connection& connection) -> base::Result<bool> {
                    rebuildIndex(connection);
                    return true;
                });
            }
        }
        if (!isIndexed) {
            return isIndexed.error();
        }
        FolderCheck folder(m_files, m_layout.folder(), stop, progress);
        folder.checkUnknownFiles(*inventory);
        lock.reset();
        return folder.run(*inventory);
    });
}

} // namespace modulelens::registry
