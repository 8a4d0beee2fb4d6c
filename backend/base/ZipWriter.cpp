// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ZipWriter.h"

#include "backend/base/Crc32.h"

#include <cstdint>
#include <limits>

namespace modulelens::base {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLocalSize = 30;
constexpr std::size_t kFieldHead = 4;
constexpr std::uint64_t kVersion = 20;
constexpr std::uint64_t kExtraPadding = 0x4d4c;
constexpr std::uint64_t kDate = 0x21;   // 1 January 1980.

void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
        out.push_back(static_cast<char>((value >> (8U * static_cast<unsigned>(i))) & 0xffU));
    }
}

/// What stands alike in a local header and in the directory.
void putCommon(std::string& out, const ZipContent& member, std::uint32_t crc) {
    put(out, 0, 4);       // Flags and method.
    put(out, 0, 2);       // Time.
    put(out, kDate, 2);
    put(out, crc, 4);
    put(out, member.bytes.size(), 4);
    put(out, member.bytes.size(), 4);
    put(out, member.name.size(), 2);
}

}  // namespace

Result<std::string> makeZip(const std::vector<ZipContent>& members) {
    std::uint64_t total = 0;
    for (const ZipContent& member : members) {
        total += member.bytes.size() + 2 * member.name.size() + 4 * kAlignment;
    }
    if (members.size() > std::numeric_limits<std::uint16_t>::max() || total > std::numeric_limits<std::uint32_t>::max()) {
        return Error{ErrorCode::InvalidArgument, "the archive would be larger than a zip without 64-bit sizes can be", ""};
    }
    std::string file;
    std::string directory;
    file.reserve(static_cast<std::size_t>(total));
    for (const ZipContent& member : members) {
        const std::size_t offset = file.size();
        const std::uint32_t crc = crc32(member.bytes);
        const std::size_t data = offset + kLocalSize + member.name.size() + kFieldHead;
        const std::size_t padding = (kAlignment - data % kAlignment) % kAlignment;
        put(file, 0x04034b50, 4);
        put(file, kVersion, 2);
        putCommon(file, member, crc);
        put(file, kFieldHead + padding, 2);
        file += member.name;
        put(file, kExtraPadding, 2);
        put(file, padding, 2);
        file.append(padding, '\0');
        file.append(reinterpret_cast<const char*>(member.bytes.data()), member.bytes.size());

        put(directory, 0x02014b50, 4);
        put(directory, kVersion, 2);
        put(directory, kVersion, 2);
        putCommon(directory, member, crc);
        put(directory, 0, 2 + 2 + 2 + 2);   // Extra field, comment, disk, internal attributes.
        put(directory, 0, 4);
        put(directory, offset, 4);
        directory += member.name;
    }
    const std::size_t directoryOffset = file.size();
    file += directory;
    put(file, 0x06054b50, 4);
    put(file, 0, 4);
    put(file, members.size(), 2);
    put(file, members.size(), 2);
    put(file, directory.size(), 4);
    put(file, directoryOffset, 4);
    put(file, 0, 2);
    return file;
}

}  // namespace modulelens::base
