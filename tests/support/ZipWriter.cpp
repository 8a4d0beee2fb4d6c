// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/ZipWriter.h"

namespace modulelens::test {

namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
        out.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
    }
}

void putCommon(std::string& out, const ZipEntry& entry, std::uint64_t size) {
    put(out, entry.flags, 2);
    put(out, entry.method, 2);
    put(out, 0, 4);            // Time and date.
    put(out, 0, 4);            // CRC: no reader here relies on it, content has digests.
    put(out, size, 4);
    put(out, size, 4);
}

} // namespace

std::string makeZip(const std::vector<ZipEntry>& entries, bool zip64) {
    constexpr std::uint64_t kIn64 = 0xffffffff;
    std::string file;
    std::string directory;
    for (const ZipEntry& entry : entries) {
        const std::uint64_t offset = file.size();
        const std::string& localName = entry.localName.empty() ? entry.name : entry.localName;
        put(file, 0x04034b50, 4);
        put(file, 20, 2);
        putCommon(file, entry, zip64 ? kIn64 : entry.data.size());
        put(file, localName.size(), 2);
        put(file, 0, 2);
        file += localName + entry.data;

        put(directory, 0x02014b50, 4);
        put(directory, 20, 2);
        put(directory, 20, 2);
        putCommon(directory, entry, zip64 ? kIn64 : entry.data.size());
        put(directory, entry.name.size(), 2);
        put(directory, zip64 ? 28 : 0, 2);
        put(directory, 0, 2);
        put(directory, 0, 2);
        put(directory, 0, 2);
        put(directory, 0, 4);
        put(directory, zip64 ? kIn64 : offset, 4);
        directory += entry.name;
        if (zip64) {
            put(directory, 1, 2);
            put(directory, 24, 2);
            put(directory, entry.data.size(), 8);
            put(directory, entry.data.size(), 8);
            put(directory, offset, 8);
        }
    }
    const std::uint64_t directoryOffset = file.size();
    file += directory;
    if (zip64) {
        const std::uint64_t end64 = file.size();
        put(file, 0x06064b50, 4);
        put(file, 44, 8);
        put(file, 45, 2);
        put(file, 45, 2);
        put(file, 0, 8);
        put(file, entries.size(), 8);
        put(file, entries.size(), 8);
        put(file, directory.size(), 8);
        put(file, directoryOffset, 8);
        put(file, 0x07064b50, 4);
        put(file, 0, 4);
        put(file, end64, 8);
        put(file, 1, 4);
    }
    put(file, 0x06054b50, 4);
    put(file, 0, 4);
    put(file, entries.size(), 2);
    put(file, entries.size(), 2);
    put(file, zip64 ? kIn64 : directory.size(), 4);
    put(file, zip64 ? kIn64 : directoryOffset, 4);
    put(file, 0, 2);
    return file;
}

} // namespace modulelens::test
