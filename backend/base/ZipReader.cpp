// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ZipReader.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/base/Crc32.h"
#include "backend/base/Guarded.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace modulelens::base {

namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kEnd64LocatorSignature = 0x07064b50;
constexpr std::uint64_t kLocalSize = 30;
constexpr std::uint64_t kCentralSize = 46;
constexpr std::uint64_t kEndSize = 22;
constexpr std::uint64_t kEnd64Size = 56;
constexpr std::uint64_t kEnd64LocatorSize = 20;
constexpr std::uint64_t kMaximumComment = 0xffff;
constexpr std::uint16_t kFlagEncrypted = 1U << 0U;
constexpr std::uint16_t kFlagDataDescriptor = 1U << 3U;
constexpr std::uint16_t kVersion = 20;
constexpr std::uint16_t kVersion64 = 45;
constexpr std::uint16_t kExtraZip64 = 1;
constexpr std::uint16_t kExtraPadding = 0x4d4c;
constexpr std::uint32_t kIn64 = 0xffffffff;

/// Bounds-checked little-endian reads. A read outside the bytes yields 0, which no signature matches. Confined to its thread.
class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> bytes) : m_bytes(bytes) {}

    [[nodiscard]] std::uint64_t size() const { return m_bytes.size(); }
    [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t count) const {
        return offset <= size() && count <= size() - offset;
    }
    [[nodiscard]] std::uint16_t u16(std::uint64_t offset) const { return read<std::uint16_t>(offset); }
    [[nodiscard]] std::uint32_t u32(std::uint64_t offset) const { return read<std::uint32_t>(offset); }
    [[nodiscard]] std::uint64_t u64(std::uint64_t offset) const { return read<std::uint64_t>(offset); }
    [[nodiscard]] std::string text(std::uint64_t offset, std::uint64_t count) const {
        if (!contains(offset, count)) {
            return {};
        }
        return {reinterpret_cast<const char*>(m_bytes.data()) + offset, static_cast<std::size_t>(count)};
    }

private:
    template <class Number>
    [[nodiscard]] Number read(std::uint64_t offset) const {
        if (!contains(offset, sizeof(Number))) {
            return 0;
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < sizeof(Number); ++i) {
            value |= std::to_integer<std::uint64_t>(m_bytes[static_cast<std::size_t>(offset) + i]) << (8 * i);
        }
        return static_cast<Number>(value);
    }

    std::span<const std::byte> m_bytes;
};

struct Directory {
    std::uint64_t offset = 0;
    std::uint64_t sizeBytes = 0;
    std::uint64_t count = 0;
};

/// One record of the central directory.
struct CentralEntry {
    std::string name;
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint16_t time = 0;
    std::uint16_t date = 0;
    std::uint32_t crc = 0;
    std::uint64_t compressedSize = 0;
    std::uint64_t size = 0;
    std::uint64_t headerOffset = 0;
};

struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Reads one zip. Confined to its thread.
class DirectoryReader {
public:
    DirectoryReader(std::span<const std::byte> bytes, const std::string& displayName)
        : m_bytes(bytes), m_displayName(displayName) {}

    [[nodiscard]] Result<std::map<std::string, ZipMember>> read() {
        const auto directory = findDirectory();
        if (!directory) {
            return directory.error();
        }
        std::map<std::string, ZipMember> members;
        std::vector<Extent> extents{{directory->offset, directory->offset + directory->sizeBytes}};
        std::uint64_t position = directory->offset;
        const std::uint64_t end = directory->offset + directory->sizeBytes;
        for (std::uint64_t i = 0; i < directory->count; ++i) {
            const auto entry = centralEntry(position, end);
            if (!entry) {
                return entry.error();
            }
            const auto member = locate(*entry, extents);
            if (!member) {
                return member.error();
            }
            if (entry->name.ends_with('/')) {
                continue;
            }
            if (!members.emplace(entry->name, *member).second) {
                return corrupt("holds the member '" + entry->name + "' twice");
            }
        }
        if (position != end) {
            return corrupt("has a directory whose size and number of members differ");
        }
        if (overlaps(extents)) {
            return corrupt("has members that overlap");
        }
        return members;
    }

    [[nodiscard]] Result<std::vector<std::string>> names() const {
        const auto directory = findDirectory();
        if (!directory) {
            return directory.error();
        }
        std::vector<std::string> names;
        std::uint64_t position = directory->offset;
        const std::uint64_t end = directory->offset + directory->sizeBytes;
        for (std::uint64_t i = 0; i < directory->count; ++i) {
            auto entry = centralEntry(position, end);
            if (!entry) {
                return entry.error();
            }
            names.push_back(std::move(entry->name));
        }
        return names;
    }

    [[nodiscard]] Result<void> checkSums(std::span<const std::byte> bytes) const {
        const auto directory = findDirectory();
        if (!directory) {
            return directory.error();
        }
        std::uint64_t position = directory->offset;
        const std::uint64_t end = directory->offset + directory->sizeBytes;
        for (std::uint64_t i = 0; i < directory->count; ++i) {
            const auto entry = centralEntry(position, end);
            if (!entry) {
                return entry.error();
            }
            if (entry->method != 0) {
                continue;
            }
            const std::uint64_t header = entry->headerOffset;
            const std::uint64_t data = header + kLocalSize + m_bytes.u16(header + 26) + m_bytes.u16(header + 28);
            // PyTorch leaves the sum out when it is told to be quick.
            const bool hasSum = entry->crc != 0;
            if (!m_bytes.contains(header, kLocalSize) || !m_bytes.contains(data, entry->size) ||
                (hasSum && crc32(bytes.subspan(data, entry->size)) != entry->crc)) {
                return corrupt("holds other bytes than it says in its member '" + entry->name + "'");
            }
        }
        return {};
    }

    /// Requires: read() succeeded.
    [[nodiscard]] Result<void> checkEveryByteIsExplained() const {
        const auto directory = findDirectory();
        if (!directory) {
            return directory.error();
        }
        std::vector<Extent> extents;
        std::uint64_t position = directory->offset;
        const std::uint64_t end = directory->offset + directory->sizeBytes;
        const std::uint64_t first = position;
        while (position < end) {
            const std::uint64_t record = position;
            const auto entry = centralEntry(position, end);
            if (!entry) {
                return entry.error();
            }
            if (auto located = locate(*entry, extents); !located) {
                return located.error();
            }
            if (!looksLike(record, first) || !hasOnlyKnownFields(record, *entry)) {
                return corrupt("describes the member '" + entry->name + "' in an unusual way");
            }
        }
        extents.push_back({directory->offset, end});
        std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
        std::uint64_t explained = 0;
        for (const Extent& extent : extents) {
            if (extent.begin != explained) {
                return corrupt("holds bytes that belong to no member");
            }
            explained = extent.end;
        }
        return {};
    }

private:
    /// System, flags, method, time, date, comment, disk and attributes of two records of the directory are equal.
    [[nodiscard]] bool looksLike(std::uint64_t record, std::uint64_t other) const {
        constexpr std::uint64_t kVersions = 0x00ff00ff;
        return (m_bytes.u64(record + 4) | kVersions) == (m_bytes.u64(other + 4) | kVersions) &&
               m_bytes.u16(record + 12) == m_bytes.u16(other + 12) && m_bytes.u16(record + 14) == m_bytes.u16(other + 14) &&
               m_bytes.u64(record + 32) == m_bytes.u64(other + 32) && m_bytes.u16(record + 40) == m_bytes.u16(other + 40) &&
               m_bytes.u16(record + 32) == 0;
    }

    /// Versions say whether numbers of 64 bits are used, and the extra fields hold such numbers and padding only.
    [[nodiscard]] bool hasOnlyKnownFields(std::uint64_t record, const CentralEntry& entry) const {
        const std::uint64_t header = entry.headerOffset;
        const std::uint64_t central = record + kCentralSize + m_bytes.u16(record + 28);
        const std::uint64_t local = header + kLocalSize + m_bytes.u16(header + 26);
        std::uint64_t wide = 0;
        for (const std::uint64_t field : {record + 20, record + 24, record + 42}) {
            wide += m_bytes.u32(field) == kIn64 ? 8 : 0;
        }
        const bool isLocalWide = m_bytes.u32(header + 18) == kIn64 && m_bytes.u32(header + 22) == kIn64;
        const std::uint16_t localVersion = isLocalWide ? kVersion64 : kVersion;
        const std::uint16_t centralVersion = isLocalWide || wide > 0 ? kVersion64 : kVersion;
        return m_bytes.u16(header + 4) == localVersion && m_bytes.u16(record + 6) == centralVersion &&
               (m_bytes.u16(record + 4) & 0xffU) == centralVersion &&
               fieldsAreKnown(central, m_bytes.u16(record + 30), wide, nullptr) &&
               fieldsAreKnown(local, m_bytes.u16(header + 28), isLocalWide ? 16 : 0, &entry);
    }

    /// Fields of zeros, and at most one with `wideBytes` bytes of 64-bit numbers, which are both the size of `sized`.
    [[nodiscard]] bool fieldsAreKnown(std::uint64_t extra, std::uint64_t size, std::uint64_t wideBytes,
                                      const CentralEntry* sized) const {
        const std::uint64_t end = extra + size;
        while (extra != end) {
            const std::uint64_t fieldSize = end - extra < 4 ? size : m_bytes.u16(extra + 2);
            if (fieldSize > end - extra - 4) {
                return false;
            }
            const std::uint64_t content = extra + 4;
            if (m_bytes.u16(extra) == kExtraZip64) {
                const bool hasSizes =
                    sized == nullptr || (m_bytes.u64(content) == sized->size && m_bytes.u64(content + 8) == sized->size);
                if (fieldSize != wideBytes || fieldSize == 0 || !hasSizes) {
                    return false;
                }
                wideBytes = 0;
            } else if (m_bytes.u16(extra) != kExtraPadding ||
                       m_bytes.text(content, fieldSize).find_first_not_of('\0') != std::string::npos) {
                return false;
            }
            extra = content + fieldSize;
        }
        return wideBytes == 0;
    }

    [[nodiscard]] Error corrupt(const std::string& what) const {
        return {ErrorCode::Corrupt, "the archive '" + m_displayName + "' " + what,
                "The file is damaged or was changed; fetch or capture it again."};
    }

    [[nodiscard]] Result<Directory> findDirectory() const {
        const auto end = findEnd();
        if (!end) {
            return corrupt("is cut or no zip: it has no end record");
        }
        if (m_bytes.u16(*end + 4) != 0 || m_bytes.u16(*end + 6) != 0 || m_bytes.u16(*end + 8) != m_bytes.u16(*end + 10)) {
            return corrupt("is one part of several");
        }
        Directory directory{m_bytes.u32(*end + 16), m_bytes.u32(*end + 12), m_bytes.u16(*end + 10)};
        std::uint64_t directoryEnd = *end;
        const bool has64 = *end >= kEnd64LocatorSize && m_bytes.u32(*end - kEnd64LocatorSize) == kEnd64LocatorSignature;
        if (has64) {
            const std::uint64_t end64 = m_bytes.u64(*end - kEnd64LocatorSize + 8);
            if (!m_bytes.contains(end64, kEnd64Size) || m_bytes.u32(end64) != kEnd64Signature ||
                m_bytes.u64(end64 + 24) != m_bytes.u64(end64 + 32) || m_bytes.u32(end64 + 16) != 0 ||
                m_bytes.u32(end64 + 20) != 0 || end64 + m_bytes.u64(end64 + 4) + 12 != *end - kEnd64LocatorSize) {
                return corrupt("has a damaged 64-bit end record");
            }
            directory = {m_bytes.u64(end64 + 48), m_bytes.u64(end64 + 40), m_bytes.u64(end64 + 32)};
            directoryEnd = end64;
        }
        if (!m_bytes.contains(directory.offset, directory.sizeBytes) ||
            directory.offset + directory.sizeBytes != directoryEnd || directory.count > directory.sizeBytes / kCentralSize) {
            return corrupt("has an end record that points outside the file");
        }
        return directory;
    }

    /// Offset of the end record: the last one whose comment ends where the file ends.
    [[nodiscard]] std::optional<std::uint64_t> findEnd() const {
        const std::uint64_t size = m_bytes.size();
        for (std::uint64_t comment = 0; comment <= kMaximumComment && comment + kEndSize <= size; ++comment) {
            const std::uint64_t offset = size - kEndSize - comment;
            if (m_bytes.u32(offset) == kEndSignature && m_bytes.u16(offset + 20) == comment) {
                return offset;
            }
        }
        return std::nullopt;
    }

    /// Reads the record at `position` and moves `position` behind it.
    [[nodiscard]] Result<CentralEntry> centralEntry(std::uint64_t& position, std::uint64_t end) const {
        if (end - position < kCentralSize || m_bytes.u32(position) != kCentralSignature) {
            return corrupt("has a damaged directory");
        }
        const std::uint64_t nameSize = m_bytes.u16(position + 28);
        const std::uint64_t extraSize = m_bytes.u16(position + 30);
        const std::uint64_t recordSize = kCentralSize + nameSize + extraSize + m_bytes.u16(position + 32);
        if (recordSize > end - position) {
            return corrupt("has a damaged directory");
        }
        CentralEntry entry;
        entry.name = m_bytes.text(position + kCentralSize, nameSize);
        entry.flags = m_bytes.u16(position + 8);
        entry.method = m_bytes.u16(position + 10);
        entry.time = m_bytes.u16(position + 12);
        entry.date = m_bytes.u16(position + 14);
        entry.crc = m_bytes.u32(position + 16);
        entry.compressedSize = m_bytes.u32(position + 20);
        entry.size = m_bytes.u32(position + 24);
        entry.headerOffset = m_bytes.u32(position + 42);
        if (!readZip64(entry, position + kCentralSize + nameSize, extraSize)) {
            return corrupt("has a damaged 64-bit size for '" + entry.name + "'");
        }
        position += recordSize;
        return entry;
    }

    /// Replaces the numbers that did not fit 32 bits by those of the extra field. False: they are missing.
    [[nodiscard]] bool readZip64(CentralEntry& entry, std::uint64_t extra, std::uint64_t extraSize) const {
        std::vector<std::uint64_t*> wanted;
        for (std::uint64_t* number : {&entry.size, &entry.compressedSize, &entry.headerOffset}) {
            if (*number == kIn64) {
                wanted.push_back(number);
            }
        }
        const std::uint64_t end = extra + extraSize;
        while (!wanted.empty() && end - extra >= 4) {
            const std::uint64_t fieldSize = m_bytes.u16(extra + 2);
            if (fieldSize > end - extra - 4) {
                return false;
            }
            if (m_bytes.u16(extra) == kExtraZip64) {
                if (fieldSize < wanted.size() * 8) {
                    return false;
                }
                for (std::size_t i = 0; i < wanted.size(); ++i) {
                    *wanted[i] = m_bytes.u64(extra + 4 + 8 * i);
                }
                return true;
            }
            extra += 4 + fieldSize;
        }
        return wanted.empty();
    }

    /// Checks the entry and its local header, and gives the place of its data.
    [[nodiscard]] Result<ZipMember> locate(const CentralEntry& entry, std::vector<Extent>& extents) const {
        const bool isFolder = entry.name.ends_with('/');
        const std::string_view path = std::string_view(entry.name).substr(0, entry.name.size() - (isFolder ? 1 : 0));
        const auto name = checkRelativeName(path, m_displayName);
        if (!name) {
            return name.error();
        }
        if ((entry.flags & kFlagEncrypted) != 0 || entry.method != 0) {
            return Error{ErrorCode::Unsupported,
                         "the archive '" + m_displayName + "' holds the compressed or encrypted member '" + entry.name + "'",
                         "Write the archive without compression."};
        }
        const std::uint64_t header = entry.headerOffset;
        if (entry.size != entry.compressedSize || (isFolder && entry.size != 0) || !m_bytes.contains(header, kLocalSize) ||
            m_bytes.u32(header) != kLocalSignature) {
            return corrupt("points outside itself for the member '" + entry.name + "'");
        }
        const std::uint64_t nameSize = m_bytes.u16(header + 26);
        const std::uint64_t data = header + kLocalSize + nameSize + m_bytes.u16(header + 28);
        if (!m_bytes.contains(data, entry.size)) {
            return corrupt("is cut within the member '" + entry.name + "'");
        }
        if (!localHeaderAgrees(entry, nameSize)) {
            return corrupt("describes the member '" + entry.name + "' in two different ways");
        }
        extents.push_back({header, data + entry.size});
        return ZipMember{data, entry.size};
    }

    [[nodiscard]] bool localHeaderAgrees(const CentralEntry& entry, std::uint64_t nameSize) const {
        const std::uint64_t header = entry.headerOffset;
        if (m_bytes.text(header + kLocalSize, nameSize) != entry.name || m_bytes.u16(header + 6) != entry.flags ||
            m_bytes.u16(header + 8) != entry.method || m_bytes.u16(header + 10) != entry.time ||
            m_bytes.u16(header + 12) != entry.date) {
            return false;
        }
        const std::uint32_t compressed = m_bytes.u32(header + 18);
        const std::uint32_t size = m_bytes.u32(header + 22);
        if ((entry.flags & kFlagDataDescriptor) != 0 && compressed == 0 && size == 0) {
            return true;
        }
        const auto agrees = [](std::uint32_t local, std::uint64_t central) { return local == central || local == kIn64; };
        return m_bytes.u32(header + 14) == entry.crc && agrees(compressed, entry.compressedSize) && agrees(size, entry.size);
    }

    [[nodiscard]] static bool overlaps(std::vector<Extent>& extents) {
        std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
        for (std::size_t i = 1; i < extents.size(); ++i) {
            if (extents[i].begin < extents[i - 1].end) {
                return true;
            }
        }
        return false;
    }

    ByteReader m_bytes;
    const std::string& m_displayName;
};

}  // namespace

Result<ZipReader> ZipReader::open(std::shared_ptr<const MappedFile> file, const std::string& displayName) {
    return guarded("opening the archive '" + displayName + "'", [&]() -> Result<ZipReader> {
        auto members = DirectoryReader(file->bytes(), displayName).read();
        if (!members) {
            return members.error();
        }
        ZipReader reader;
        reader.m_file = std::move(file);
        reader.m_displayName = displayName;
        reader.m_members = std::move(*members);
        return reader;
    });
}

Result<std::vector<std::string>> ZipReader::memberNames(std::span<const std::byte> bytes, const std::string& displayName) {
    return guarded("opening the archive '" + displayName + "'", [&] { return DirectoryReader(bytes, displayName).names(); });
}

Result<void> ZipReader::checkSums(std::span<const std::byte> bytes, const std::string& displayName) {
    return guarded("checking the archive '" + displayName + "'",
                   [&] { return DirectoryReader(bytes, displayName).checkSums(bytes); });
}

Result<void> ZipReader::checkEveryByteIsExplained() const {
    return guarded("checking the archive '" + m_displayName + "'",
                   [&] { return DirectoryReader(m_file->bytes(), m_displayName).checkEveryByteIsExplained(); });
}

Result<std::span<const std::byte>> ZipReader::bytes(const std::string& name) const {
    const auto found = m_members.find(name);
    if (found == m_members.end()) {
        return Error{ErrorCode::NotFound, "the archive '" + m_displayName + "' has no member '" + name + "'", ""};
    }
    return m_file->bytes().subspan(static_cast<std::size_t>(found->second.offset),
                                   static_cast<std::size_t>(found->second.sizeBytes));
}

}  // namespace modulelens::base
