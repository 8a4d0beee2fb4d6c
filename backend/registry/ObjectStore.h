// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/capture/Safetensors.h"

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace modulelens::registry {

/// Where the files of a registry folder lie. Immutable after construction.
class RegistryLayout {
public:
    explicit RegistryLayout(std::filesystem::path folder) : m_folder(std::move(folder)) {}

    [[nodiscard]] const std::filesystem::path& folder() const { return m_folder; }
    [[nodiscard]] std::filesystem::path database() const { return m_folder / "registry.sqlite"; }
    [[nodiscard]] std::filesystem::path inbox() const { return m_folder / "inbox"; }
    [[nodiscard]] std::filesystem::path temporary() const { return m_folder / "tmp"; }
    [[nodiscard]] std::filesystem::path journal() const { return m_folder / "tmp" / "commit.journal"; }
    [[nodiscard]] std::filesystem::path importLock() const { return m_folder / "locks" / "import.lock"; }
    [[nodiscard]] std::filesystem::path commitLock() const { return m_folder / "locks" / "commit.lock"; }

    /// "objects/aa/<sha256>" and "packs/<sha256>.safetensors": relative to the folder.
    [[nodiscard]] static std::string objectName(const std::string& digest);
    [[nodiscard]] static std::string packName(const std::string& digest);

private:
    std::filesystem::path m_folder;
};

/// A pack that was staged.
struct StagedPack {
    std::string digest;
    std::uint64_t sizeBytes = 0;
    std::map<std::string, capture::SafetensorsEntry> entries;   ///< By tensor digest.
};

/// Files on their way into the registry: written and synced in a folder below tmp/, moved to their places by publish(), and taken
/// back by the destructor unless keep() was called. A journal names what publish() moves and what goes with the commit, so that
/// recover() can finish when the process dies. Confined to its thread.
class StagedFiles {
public:
    StagedFiles(base::FileSystem& files, const RegistryLayout& layout, const std::string& purpose);
    ~StagedFiles();
    StagedFiles(const StagedFiles&) = delete;
    StagedFiles& operator=(const StagedFiles&) = delete;

    /// Writes and syncs an object. Requires: `digest` is the sha256 of `bytes`.
    [[nodiscard]] base::Result<void> addObject(const std::string& digest, std::span<const std::byte> bytes);
    /// Writes and syncs a pack; `progress` receives the bytes of each write. Cancelled when `stop` is asked.
    [[nodiscard]] base::Result<StagedPack> addPack(const std::vector<capture::SafetensorsInput>& tensors, std::stop_token stop,
                                                   const std::function<void(std::uint64_t)>& progress);
    /// Forgets a staged object, because it has come into the registry in the meantime.
    void drop(const std::string& digest);

    /// Names a file of the registry, relative to its folder, that the database no longer knows once it has committed.
    void doom(const std::string& name) { m_doomed.push_back(name); }

    /// Moves everything to its place, durably. Requires: the commit lock is held, recover() was called under it, and nothing
    /// staged is in the database yet.
    [[nodiscard]] base::Result<void> publish();
    /// What was published stays, what was doomed goes. Called when the database has committed.
    void keep();

private:
    [[nodiscard]] base::Result<void> ensureFolder();
    [[nodiscard]] base::Result<void> writeJournal();

    base::FileSystem& m_files;
    const RegistryLayout& m_layout;
    const std::filesystem::path m_folder;
    bool m_folderMade = false;
    bool m_journalMade = false;
    bool m_kept = false;
    std::map<std::string, std::string> m_staged;   ///< Name relative to the registry -> name in m_folder.
    std::vector<std::string> m_published;          ///< Names relative to the registry, as are the next.
    std::vector<std::string> m_doomed;
};

/// Takes back what a process that died had published but not committed, and removes what it had doomed and committed: every file that the journal names and
/// `isCommitted(name)` denies. Requires: the commit lock is held.
[[nodiscard]] base::Result<void> recover(base::FileSystem& files, const RegistryLayout& layout,
                                         const std::function<base::Result<bool>(const std::string& name)>& isCommitted);

/// The digest in an object or pack name; empty when `name` is neither.
[[nodiscard]] std::string digestOfName(const std::string& name);

}  // namespace modulelens::registry
