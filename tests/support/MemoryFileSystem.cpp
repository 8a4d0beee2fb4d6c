// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/MemoryFileSystem.h"

#include "tests/support/MemoryFile.h"

#include <cerrno>

namespace modulelens::test {

namespace {

base::Error readOnly(const std::filesystem::path& path) {
    return base::errorFromErrno(EROFS, "change", path);
}

base::Error missing(const std::filesystem::path& path) {
    return base::errorFromErrno(ENOENT, "open", path);
}

} // namespace

std::map<std::string, std::string> MemoryFileSystem::load(const std::filesystem::path& folder) {
    std::map<std::string, std::string> files;
    base::FileSystem& real = base::realFileSystem();
    const auto names = real.listFiles(folder);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
        auto text = real.read(folder / name, 1 << 28);
        if (text) {
            files.emplace(name, std::move(*text));
        }
    }
    return files;
}

const std::string* MemoryFileSystem::find(const std::filesystem::path& path) const {
    const std::string whole = path.generic_string();
    const std::string folder = m_folder.generic_string();
    if (!whole.starts_with(folder)) {
        return nullptr;
    }
    const auto found = files.find(whole == folder ? std::string() : whole.substr(folder.size() + 1));
    return found == files.end() ? nullptr : &found->second;
}

base::Result<std::unique_ptr<base::WritableFile>> MemoryFileSystem::create(const std::filesystem::path& path) {
    return readOnly(path);
}

base::Result<std::shared_ptr<const base::MappedFile>> MemoryFileSystem::map(const std::filesystem::path& path) {
    const std::string* text = find(path);
    return text == nullptr ? base::Result<std::shared_ptr<const base::MappedFile>>(missing(path)) : memoryFile(*text);
}

base::Result<std::string> MemoryFileSystem::read(const std::filesystem::path& path, std::uint64_t limitBytes) {
    const std::string* text = find(path);
    if (text == nullptr) {
        return missing(path);
    }
    if (text->size() > limitBytes) {
        return base::Error{base::ErrorCode::InvalidArgument, "too large", ""};
    }
    return *text;
}

base::Result<void> MemoryFileSystem::rename(const std::filesystem::path& from, const std::filesystem::path&) {
    return readOnly(from);
}

base::Result<void> MemoryFileSystem::remove(const std::filesystem::path& path) {
    return readOnly(path);
}

base::Result<std::uint64_t> MemoryFileSystem::sizeBytes(const std::filesystem::path& path) {
    const std::string* text = find(path);
    if (text != nullptr) {
        return static_cast<std::uint64_t>(text->size());
    }
    if (path == m_folder) {
        return base::Error{base::ErrorCode::InvalidArgument, "a folder", ""};
    }
    return missing(path);
}

base::Result<void> MemoryFileSystem::createDirectories(const std::filesystem::path& path) {
    return readOnly(path);
}

base::Result<void> MemoryFileSystem::syncDirectory(const std::filesystem::path& directory) {
    return readOnly(directory);
}

base::Result<std::vector<std::string>> MemoryFileSystem::listFiles(const std::filesystem::path& directory) {
    if (directory != m_folder) {
        return missing(directory);
    }
    std::vector<std::string> names;
    names.reserve(files.size());
    for (const auto& [name, text] : files) {
        names.push_back(name);
    }
    return names;
}

} // namespace modulelens::test
