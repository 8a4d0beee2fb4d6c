// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"

#include <map>
#include <string>

namespace modulelens::test {

/// Files of one folder in memory, for tests that read thousands of variants of them. Nothing can be written through the
/// interface: the test changes `files`. Confined to its thread.
class MemoryFileSystem : public base::FileSystem {
public:
    explicit MemoryFileSystem(std::filesystem::path folder) : m_folder(std::move(folder)) {}

    /// Every regular file below a real folder.
    [[nodiscard]] static std::map<std::string, std::string> load(const std::filesystem::path& folder);

    /// Content by the path relative to the folder. The empty name makes `folder` itself a file.
    std::map<std::string, std::string> files;

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
    [[nodiscard]] const std::string* find(const std::filesystem::path& path) const;

    std::filesystem::path m_folder;
};

}  // namespace modulelens::test
