// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/workerclient/ScratchFolder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace modulelens::workerclient {

namespace {

constexpr const char* kPrefix = "modulelens-worker-";
constexpr int kAttempts = 10;

std::filesystem::path temporaryFolder() {
    const char* setting = std::getenv("TMPDIR");
    return setting == nullptr || *setting == '\0' ? std::filesystem::path("/tmp") : std::filesystem::path(setting);
}

/// The lock on `folder`, or -1 when another process holds it or it is none of ours. Links are not followed.
int tryLock(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        return -1;
    }
    struct stat facts = {};
    if (::fstat(descriptor, &facts) != 0 || facts.st_uid != ::geteuid() || ::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        ::close(descriptor);
        return -1;
    }
    return descriptor;
}

void removeLeftovers(const std::filesystem::path& parent) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
        if (!entry.path().filename().string().starts_with(kPrefix)) {
            continue;
        }
        if (const int lock = tryLock(entry.path()); lock >= 0) {
            std::filesystem::remove_all(entry.path(), ignored);
            ::close(lock);
        }
    }
}

base::Error cannotWrite(int number, const std::filesystem::path& parent) {
    const bool isFull = number == ENOSPC || number == EDQUOT;
    return {isFull ? base::ErrorCode::StorageFull : base::ErrorCode::PermissionDenied,
            "the scratch folder '" + parent.string() + "' cannot be written: " + std::generic_category().message(number),
            "Check its permissions and the free space, or set TMPDIR to another folder."};
}

} // namespace

base::Result<std::unique_ptr<ScratchFolder>> ScratchFolder::create(std::filesystem::path parent) {
    if (parent.empty()) {
        parent = temporaryFolder();
    }
    std::error_code failed;
    std::filesystem::create_directories(parent, failed);
    if (failed) {
        return cannotWrite(failed.value(), parent);
    }
    removeLeftovers(parent);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        std::string name = (std::filesystem::absolute(parent) / (std::string(kPrefix) + "XXXXXX")).string();
        if (::mkdtemp(name.data()) == nullptr) {
            return cannotWrite(errno, parent);
        }
        // Another start may have taken the folder for a leftover before it was locked; then it is gone.
        const int lock = tryLock(name);
        if (lock >= 0 && ::access(name.c_str(), W_OK) == 0) {
            return std::unique_ptr<ScratchFolder>(new ScratchFolder(name, lock));
        }
        if (lock >= 0) {
            ::close(lock);
        }
    }
    return cannotWrite(EBUSY, parent);
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
    ::close(m_lock);
}

} // namespace modulelens::workerclient
