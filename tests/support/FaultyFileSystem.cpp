// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/FaultyFileSystem.h"

#include <algorithm>
#include <cerrno>

namespace modulelens::test {

namespace {

bool changesTheDisk(FileOperation operation) {
    switch (operation) {
        case FileOperation::Create:
        case FileOperation::Append:
        case FileOperation::Sync:
        case FileOperation::Close:
        case FileOperation::Rename:
        case FileOperation::Remove:
        case FileOperation::CreateDirectories:
        case FileOperation::SyncDirectory:
            return true;
        case FileOperation::Map:
        case FileOperation::Read:
        case FileOperation::SizeBytes:
        case FileOperation::ListFiles:
            return false;
    }
    return false;
}

}  // namespace

/// A file of the inner file system with the faults of its owner. Confined to its thread.
class FaultyFileSystem::File : public base::WritableFile {
public:
    File(FaultyFileSystem& owner, std::unique_ptr<base::WritableFile> inner, std::filesystem::path path)
        : m_owner(owner), m_inner(std::move(inner)), m_path(std::move(path)) {}

    base::Result<void> append(std::span<const std::byte> bytes) override {
        if (auto error = m_owner.next(FileOperation::Append, m_path)) {
            return *error;
        }
        std::size_t fitting = bytes.size();
        {
            const std::lock_guard lock(m_owner.m_mutex);
            if (m_owner.m_capacityBytes) {
                fitting = static_cast<std::size_t>(std::min<std::uint64_t>(fitting, *m_owner.m_capacityBytes));
                *m_owner.m_capacityBytes -= fitting;
            }
        }
        auto written = m_inner->append(bytes.first(fitting));
        m_writtenBytes += fitting;
        if (written && fitting < bytes.size()) {
            return base::errorFromErrno(ENOSPC, "write", m_path);
        }
        return written;
    }

    base::Result<void> sync() override {
        if (auto error = m_owner.next(FileOperation::Sync, m_path)) {
            return *error;
        }
        const std::lock_guard lock(m_owner.m_mutex);
        if (!m_owner.m_losesSyncs) {
            m_owner.m_syncedBytes[m_path] = m_writtenBytes;
        }
        // The inner sync is left out: the tests that count calls would only wait for the disk.
        return {};
    }

    base::Result<void> close() override {
        if (auto error = m_owner.next(FileOperation::Close, m_path)) {
            return *error;
        }
        return m_inner->close();
    }

private:
    FaultyFileSystem& m_owner;
    std::unique_ptr<base::WritableFile> m_inner;
    std::filesystem::path m_path;
    std::uint64_t m_writtenBytes = 0;
};

FaultyFileSystem::FaultyFileSystem(base::FileSystem& inner) : m_inner(inner) {}

FaultyFileSystem::~FaultyFileSystem() = default;

void FaultyFileSystem::failFrom(FileOperation operation, int skipped, int errorNumber) {
    const std::lock_guard lock(m_mutex);
    m_faults[operation] = {m_calls[operation] + skipped, errorNumber};
}

void FaultyFileSystem::failChangesFrom(int skipped, int errorNumber) {
    const std::lock_guard lock(m_mutex);
    m_changeFault = Fault{m_changes + skipped, errorNumber};
}

void FaultyFileSystem::limitCapacity(std::uint64_t capacityBytes) {
    const std::lock_guard lock(m_mutex);
    m_capacityBytes = capacityBytes;
}

void FaultyFileSystem::loseSyncs() {
    const std::lock_guard lock(m_mutex);
    m_losesSyncs = true;
}

void FaultyFileSystem::heal() {
    const std::lock_guard lock(m_mutex);
    m_faults.clear();
    m_calls.clear();
    m_changeFault.reset();
    m_changes = 0;
    m_capacityBytes.reset();
    m_losesSyncs = false;
}

void FaultyFileSystem::loseUnsyncedBytes() {
    const std::lock_guard lock(m_mutex);
    for (const auto& [path, synced] : m_syncedBytes) {
        std::error_code code;
        if (std::filesystem::file_size(path, code) > synced && !code) {
            std::filesystem::resize_file(path, synced, code);
        }
    }
}

int FaultyFileSystem::changes() const {
    const std::lock_guard lock(m_mutex);
    return m_changes;
}

std::optional<base::Error> FaultyFileSystem::next(FileOperation operation, const std::filesystem::path& path) {
    const std::lock_guard lock(m_mutex);
    const int call = m_calls[operation]++;
    const auto fault = m_faults.find(operation);
    if (fault != m_faults.end() && call >= fault->second.skipped) {
        return base::errorFromErrno(fault->second.errorNumber, "change", path);
    }
    if (changesTheDisk(operation)) {
        const int change = m_changes++;
        if (m_changeFault && change >= m_changeFault->skipped) {
            return base::errorFromErrno(m_changeFault->errorNumber, "change", path);
        }
    }
    return std::nullopt;
}

base::Result<std::unique_ptr<base::WritableFile>> FaultyFileSystem::create(const std::filesystem::path& path) {
    if (auto error = next(FileOperation::Create, path)) {
        return *error;
    }
    auto inner = m_inner.create(path);
    if (!inner) {
        return inner.error();
    }
    {
        const std::lock_guard lock(m_mutex);
        m_syncedBytes[path] = 0;
    }
    return std::unique_ptr<base::WritableFile>(std::make_unique<File>(*this, std::move(*inner), path));
}

base::Result<std::shared_ptr<const base::MappedFile>> FaultyFileSystem::map(const std::filesystem::path& path) {
    if (auto error = next(FileOperation::Map, path)) {
        return *error;
    }
    return m_inner.map(path);
}

base::Result<std::string> FaultyFileSystem::read(const std::filesystem::path& path, std::uint64_t limitBytes) {
    if (auto error = next(FileOperation::Read, path)) {
        return *error;
    }
    return m_inner.read(path, limitBytes);
}

base::Result<void> FaultyFileSystem::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (auto error = next(FileOperation::Rename, from)) {
        return *error;
    }
    auto renamed = m_inner.rename(from, to);
    const std::lock_guard lock(m_mutex);
    const auto record = m_syncedBytes.find(from);
    if (renamed && record != m_syncedBytes.end()) {
        m_syncedBytes[to] = record->second;
        m_syncedBytes.erase(from);
    }
    return renamed;
}

base::Result<void> FaultyFileSystem::remove(const std::filesystem::path& path) {
    if (auto error = next(FileOperation::Remove, path)) {
        return *error;
    }
    {
        const std::lock_guard lock(m_mutex);
        m_syncedBytes.erase(path);
    }
    return m_inner.remove(path);
}

base::Result<std::uint64_t> FaultyFileSystem::sizeBytes(const std::filesystem::path& path) {
    if (auto error = next(FileOperation::SizeBytes, path)) {
        return *error;
    }
    return m_inner.sizeBytes(path);
}

base::Result<void> FaultyFileSystem::createDirectories(const std::filesystem::path& path) {
    if (auto error = next(FileOperation::CreateDirectories, path)) {
        return *error;
    }
    return m_inner.createDirectories(path);
}

base::Result<void> FaultyFileSystem::syncDirectory(const std::filesystem::path& directory) {
    if (auto error = next(FileOperation::SyncDirectory, directory)) {
        return *error;
    }
    return {};
}

base::Result<std::vector<std::string>> FaultyFileSystem::listFiles(const std::filesystem::path& directory) {
    if (auto error = next(FileOperation::ListFiles, directory)) {
        return *error;
    }
    return m_inner.listFiles(directory);
}

}  // namespace modulelens::test
