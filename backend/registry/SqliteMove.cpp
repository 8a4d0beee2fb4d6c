// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Moving of SqliteRegistry to another folder.
#include "backend/base/Digest.h"
#include "backend/registry/SqliteRegistry.h"

#include <system_error>

namespace modulelens::registry {

namespace {

constexpr std::size_t kSliceBytes = std::size_t{4} << 20;

bool isAbsentOrEmpty(const std::filesystem::path& folder) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::symlink_status(folder, failed);
    if (status.type() == std::filesystem::file_type::not_found) {
        return true;
    }
    return std::filesystem::is_directory(status) && std::filesystem::is_empty(folder, failed) && !failed;
}

bool isInside(const std::filesystem::path& folder, const std::filesystem::path& parent) {
    std::error_code failed;
    const std::string inner = std::filesystem::weakly_canonical(folder, failed).string() + "/";
    const std::string outer = std::filesystem::weakly_canonical(parent, failed).string() + "/";
    return inner.starts_with(outer);
}

/// Copies a folder file by file, synced; what is named by its digest is checked on the way. Confined to its thread.
class FolderCopy {
public:
    FolderCopy(base::FileSystem& files, std::filesystem::path from, std::filesystem::path to, std::stop_token stop,
               const ByteProgress& progress)
        : m_files(files), m_from(std::move(from)), m_to(std::move(to)), m_stop(std::move(stop)), m_progress(progress) {}

    base::Result<void> run() {
        const base::Result<std::vector<std::string>> names = m_files.listFiles(m_from);
        if (!names) {
            return names.error();
        }
        for (const std::string& name : *names) {
            const base::Result<std::uint64_t> size = m_files.sizeBytes(m_from / name);
            m_total += size ? *size : 0;
        }
        base::Result<void> done = m_files.createDirectories(m_to);
        for (auto name = names->begin(); done && name != names->end(); ++name) {
            if (!name->starts_with("locks/") && !name->starts_with("tmp/")) {
                done = copy(*name);
            }
        }
        return done ? m_files.syncDirectory(m_to) : done;
    }

private:
    base::Result<void> copy(const std::string& name) {
        const std::filesystem::path target = m_to / name;
        base::Result<void> done = m_files.createDirectories(target.parent_path());
        if (!done) {
            return done;
        }
        const base::Result<std::shared_ptr<const base::MappedFile>> source = m_files.map(m_from / name);
        if (!source) {
            return source.error();
        }
        base::Result<std::unique_ptr<base::WritableFile>> written = m_files.create(target);
        if (!written) {
            return written.error();
        }
        const std::span<const std::byte> bytes = (*source)->bytes();
        const std::string expected = digestOfName(name);
        base::Sha256 digest;
        for (std::size_t at = 0; done && at < bytes.size(); at += kSliceBytes) {
            if (m_stop.stop_requested()) {
                return base::Error{base::ErrorCode::Cancelled, "Moving the registry was cancelled; it is where it was.", ""};
            }
            const std::span<const std::byte> slice = bytes.subspan(at, std::min(kSliceBytes, bytes.size() - at));
            if (!expected.empty()) {
                digest.update(slice);
            }
            done = (*written)->append(slice);
            m_finished += slice.size();
            if (m_progress) {
                m_progress(std::min(m_finished, m_total), m_total);
            }
        }
        if (done) {
            done = (*written)->sync();
        }
        if (done) {
            done = (*written)->close();
        }
        if (done && !expected.empty() && digest.finish() != expected) {
            return base::Error{base::ErrorCode::Corrupt, name + " does not match its digest; the registry was not moved.",
                               "Run `modulelens registry verify`."};
        }
        return done ? m_files.syncDirectory(target.parent_path()) : done;
    }

    base::FileSystem& m_files;
    const std::filesystem::path m_from;
    const std::filesystem::path m_to;
    std::stop_token m_stop;
    const ByteProgress& m_progress;
    std::uint64_t m_total = 0;
    std::uint64_t m_finished = 0;
};

}  // namespace

base::Result<void> SqliteRegistry::moveTo(const std::filesystem::path& target, std::stop_token stop,
                                          const ByteProgress& progress) {
    if (base::Result<void> writable = requireWritable(); !writable) {
        return writable;
    }
    return base::guarded("moving the registry " + displayName(), [&]() -> base::Result<void> {
        if (!isAbsentOrEmpty(target)) {
            return base::Error{base::ErrorCode::AlreadyExists, "There is something at " + target.string() + " already.",
                               "Name a folder that is absent or empty."};
        }
        if (isInside(target, m_layout.folder())) {
            return base::Error{base::ErrorCode::InvalidArgument, target.string() + " lies inside the registry itself.",
                               "Name a folder outside of it."};
        }
        const base::Result<std::optional<FileLock>> importLock = FileLock::tryAcquire(m_layout.importLock());
        if (!importLock) {
            return importLock.error();
        }
        const base::Error inUse{base::ErrorCode::Timeout, "Another program uses the registry " + displayName() + ".",
                                "Close the explorer and every other program that has it open, then try again."};
        if (!*importLock) {
            return inUse;
        }
        const base::Result<FileLock> commitLock = lockForCommit(stop);
        if (!commitLock) {
            return commitLock.error();
        }
        // Leaving the WAL needs every other connection closed, which shows whether there is one.
        m_pool->closeIdle();
        const base::Result<bool> alone = m_pool->run([](Connection& connection) -> base::Result<bool> {
            connection.database().setBusyTimeout(0);
            return connection.database().execAndGet("PRAGMA journal_mode = DELETE").getString() == "delete";
        });
        m_pool->closeIdle();
        if (!alone) {
            return alone.error().code == base::ErrorCode::Timeout ? inUse : alone.error();
        }
        if (!*alone) {
            return inUse;
        }
        base::Result<void> done = relocate(target, std::move(stop), progress);
        if (done) {
            m_pool->close();
            return done;
        }
        const base::Result<void> restored = m_pool->run([](Connection& connection) -> base::Result<void> {
            connection.database().execAndGet("PRAGMA journal_mode = WAL");
            return {};
        });
        return restored ? done : restored;
    });
}

base::Result<void> SqliteRegistry::relocate(const std::filesystem::path& target, std::stop_token stop,
                                            const ByteProgress& progress) {
    const std::filesystem::path parent = std::filesystem::absolute(target).parent_path();
    base::Result<void> done = m_files.createDirectories(parent);
    if (!done) {
        return done;
    }
    // A rename replaces an empty folder. Across disks it fails, and the files are copied instead.
    if (m_files.rename(m_layout.folder(), target)) {
        done = m_files.syncDirectory(parent);
        return done ? m_files.syncDirectory(std::filesystem::absolute(m_layout.folder()).parent_path()) : done;
    }
    std::filesystem::path partial = parent / ("." + target.filename().string() + ".moving");
    static_cast<void>(m_files.remove(partial).hasValue());
    done = FolderCopy(m_files, m_layout.folder(), partial, std::move(stop), progress).run();
    if (done) {
        done = m_files.rename(partial, target);
    }
    if (done) {
        done = m_files.syncDirectory(parent);
    }
    if (!done) {
        static_cast<void>(m_files.remove(partial).hasValue());
        return done;
    }
    return m_files.remove(m_layout.folder());
}

}  // namespace modulelens::registry
