// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"

namespace modulelens::test {

/// The real file system until the change that comes after `survived` others: there the process kills itself, an append
/// having written the first half of its bytes. Confined to its thread.
class KillingFileSystem : public base::FileSystem {
public:
    explicit KillingFileSystem(int survived) : m_left(survived) {}

    base::Result<std::unique_ptr<base::WritableFile>> create(const std::filesystem::path& path) override;
    base::Result<std::shared_ptr<const base::MappedFile>> map(const std::filesystem::path& path) override;
    base::Result<std::string> read(const std::filesystem::path& path, std::uint64_t limitBytes) override;
    base::Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
    base::Result<void> remove(const std::filesystem::path& path) override;
    base::Result<std::uint64_t> sizeBytes(const std::filesystem::path& path) override;
    base::Result<void> createDirectories(const std::filesystem::path& path) override;
    base::Result<void> syncDirectory(const std::filesystem::path& directory) override;
    base::Result<std::vector<std::string>> listFiles(const std::filesystem::path& directory) override;

private:
    class File;
    /// Counts a change; true when it is the last one.
    bool isLast() { return m_left-- == 0; }
    void live();

    int m_left = 0;
};

} // namespace modulelens::test
