// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/base/ZipReader.h"
#include "backend/capture/Bundle.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace modulelens::capture {

/// The files of a bundle, whether they lie in a folder or in a .mlens. Small files are read, large ones mapped, so that a
/// bundle of many nodes does not use up the process's mappings. Externally synchronised.
class BundleFiles {
public:
    /// NotFound: no such folder or file. Corrupt, Unsupported: a .mlens that ZipReader refuses or that holds bytes which
    /// no member explains.
    [[nodiscard]] static base::Result<BundleFiles> open(base::FileSystem& files, const std::filesystem::path& path);

    /// Size of every file by its name.
    [[nodiscard]] const std::map<std::string, std::uint64_t>& sizes() const { return m_sizes; }
    /// Requires: `name` is in sizes(). The bytes live as long as this object.
    [[nodiscard]] base::Result<std::span<const std::byte>> bytes(const std::string& name);
    [[nodiscard]] FileExtent extent(const std::string& name) const;

private:
    struct Content {
        std::unique_ptr<const std::string> text;
        std::shared_ptr<const base::MappedFile> mapped;
    };

    base::FileSystem* m_files = nullptr;
    std::filesystem::path m_path;
    std::optional<base::ZipReader> m_archive;
    std::map<std::string, std::uint64_t> m_sizes;
    std::map<std::string, Content> m_contents;
};

}  // namespace modulelens::capture
