// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/registry/KillingFileSystem.h"

#include <csignal>

namespace modulelens::test {

namespace {

base::FileSystem& real() {
    return base::realFileSystem();
}

} // namespace

class KillingFileSystem::File : public base::WritableFile {
public:
    File(KillingFileSystem& owner, std::unique_ptr<base::WritableFile> inner) : m_owner(owner), m_inner(std::move(inner)) {}

    base::Result<void> append(std::span<const std::byte> bytes) override {
        if (m_owner.isLast()) {
            static_cast<void>(m_inner->append(bytes.first(bytes.size() / 2)).hasValue());
            std::raise(SIGKILL);
        }
        return m_inner->append(bytes);
    }
    base::Result<void> sync() override {
        m_owner.live();
        return {};
    }
    base::Result<void> close() override {
        m_owner.live();
        return m_inner->close();
    }

private:
    KillingFileSystem& m_owner;
    std::unique_ptr<base::WritableFile> m_inner;
};

void KillingFileSystem::live() {
    if (isLast()) {
        std::raise(SIGKILL);
    }
}

base::Result<std::unique_ptr<base::WritableFile>> KillingFileSystem::create(const std::filesystem::path& path) {
    live();
    base::Result<std::unique_ptr<base::WritableFile>> file = real().create(path);
    if (!file) {
        return file;
    }
    return std::unique_ptr<base::WritableFile>(std::make_unique<File>(*this, std::move(*file)));
}

base::Result<std::shared_ptr<const base::MappedFile>> KillingFileSystem::map(const std::filesystem::path& path) {
    return real().map(path);
}

base::Result<std::string> KillingFileSystem::read(const std::filesystem::path& path, std::uint64_t limitBytes) {
    return real().read(path, limitBytes);
}

base::Result<void> KillingFileSystem::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
    live();
    return real().rename(from, to);
}

base::Result<void> KillingFileSystem::remove(const std::filesystem::path& path) {
    live();
    return real().remove(path);
}

base::Result<std::uint64_t> KillingFileSystem::sizeBytes(const std::filesystem::path& path) {
    return real().sizeBytes(path);
}

base::Result<void> KillingFileSystem::createDirectories(const std::filesystem::path& path) {
    live();
    return real().createDirectories(path);
}

base::Result<void> KillingFileSystem::syncDirectory(const std::filesystem::path& directory) {
    live();
    return directory.empty() ? real().syncDirectory(directory) : base::Result<void>();
}

base::Result<std::vector<std::string>> KillingFileSystem::listFiles(const std::filesystem::path& directory) {
    return real().listFiles(directory);
}

} // namespace modulelens::test
