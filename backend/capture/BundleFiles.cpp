// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/BundleFiles.h"

namespace modulelens::capture {

namespace {

constexpr std::uint64_t kReadUpToBytes = 256 * 1024;

}  // namespace

base::Result<BundleFiles> BundleFiles::open(base::FileSystem& files, const std::filesystem::path& path) {
    BundleFiles bundle;
    bundle.m_files = &files;
    bundle.m_path = path;
    const auto asFile = files.sizeBytes(path);
    if (!asFile && asFile.error().code != base::ErrorCode::InvalidArgument) {
        return asFile.error();
    }
    if (!asFile) {
        const auto names = files.listFiles(path);
        if (!names) {
            return names.error();
        }
        for (const std::string& name : *names) {
            const auto size = files.sizeBytes(path / name);
            if (!size) {
                return size.error();
            }
            bundle.m_sizes.emplace(name, *size);
        }
        return bundle;
    }
    const auto file = files.map(path);
    if (!file) {
        return file.error();
    }
    auto archive = base::ZipReader::open(*file, path.filename().string());
    if (!archive) {
        return archive.error();
    }
    const auto explained = archive->checkEveryByteIsExplained();
    if (!explained) {
        return explained.error();
    }
    for (const auto& [name, member] : archive->members()) {
        bundle.m_sizes.emplace(name, member.sizeBytes);
    }
    bundle.m_archive.emplace(std::move(*archive));
    return bundle;
}

base::Result<std::span<const std::byte>> BundleFiles::bytes(const std::string& name) {
    if (m_archive) {
        return m_archive->bytes(name);
    }
    Content& content = m_contents[name];
    if (content.text == nullptr && content.mapped == nullptr) {
        const std::filesystem::path path = m_path / name;
        if (m_sizes[name] <= kReadUpToBytes) {
            auto text = m_files->read(path, kReadUpToBytes);
            if (!text) {
                return text.error();
            }
            content.text = std::make_unique<const std::string>(std::move(*text));
        } else {
            auto mapped = m_files->map(path);
            if (!mapped) {
                return mapped.error();
            }
            content.mapped = std::move(*mapped);
        }
    }
    return content.text != nullptr ? std::as_bytes(std::span(*content.text)) : content.mapped->bytes();
}

FileExtent BundleFiles::extent(const std::string& name) const {
    if (m_archive) {
        const base::ZipMember member = m_archive->members().at(name);
        return {m_path, member.offset, member.sizeBytes};
    }
    return {m_path / name, 0, m_sizes.at(name)};
}

}  // namespace modulelens::capture
