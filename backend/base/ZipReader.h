// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace modulelens::base {

/// Where a stored (uncompressed) member's bytes lie in the zip file.
struct ZipMember {
    std::uint64_t offset = 0;
    std::uint64_t sizeBytes = 0;
};

/// Index of a zip whose members are all stored without compression or encryption. Immutable after construction.
class ZipReader {
public:
    /// Reads the central directory of `file`. Corrupt: cut, overlapping or out-of-range members, a name that is
    /// absolute, holds "..", a backslash or NUL, or stands twice. Unsupported: compression or encryption.
    /// The reader keeps `file` alive.
    [[nodiscard]] static Result<ZipReader> open(std::shared_ptr<const MappedFile> file, const std::string& displayName);

    /// Corrupt: a byte of the file whose change no digest of a member would show: a gap between members, a field that
    /// differs from member to member (versions, attributes, time), an extra field that is no padding of zeros. Archives
    /// that this holds for are damaged visibly wherever they are damaged. Requires what our own writers do.
    [[nodiscard]] Result<void> checkEveryByteIsExplained() const;

    /// Names of all members, however they are stored: what an archive says that it holds. Corrupt: no zip, or one that is cut
    /// or has a damaged directory.
    [[nodiscard]] static Result<std::vector<std::string>> memberNames(std::span<const std::byte> bytes,
                                                                      const std::string& displayName);

    /// Compares the checksum of each member that is stored without compression and has one (0 is none). Corrupt: one
    /// differs, or lies outside.
    [[nodiscard]] static Result<void> checkSums(std::span<const std::byte> bytes, const std::string& displayName);

    /// Members by name, directories left out.
    [[nodiscard]] const std::map<std::string, ZipMember>& members() const { return m_members; }
    /// Bytes of `name`, valid as long as this reader; NotFound when absent.
    [[nodiscard]] Result<std::span<const std::byte>> bytes(const std::string& name) const;
    [[nodiscard]] const std::shared_ptr<const MappedFile>& file() const { return m_file; }

private:
    std::shared_ptr<const MappedFile> m_file;
    std::string m_displayName;
    std::map<std::string, ZipMember> m_members;
};

}  // namespace modulelens::base
