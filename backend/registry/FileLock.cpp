// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/FileLock.h"

#include "backend/base/FileSystem.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>
#include <thread>
#include <utility>

namespace modulelens::registry {

namespace {

constexpr std::chrono::milliseconds kPollInterval{10};

}  // namespace

base::Result<FileLock> FileLock::acquire(const std::filesystem::path& path, std::stop_token stop,
                                         std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (true) {
        base::Result<std::optional<FileLock>> lock = tryAcquire(path);
        if (!lock) {
            return lock.error();
        }
        if (*lock) {
            return std::move(**lock);
        }
        if (stop.stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled,
                               "Waiting for another program that writes to the registry was cancelled.", ""};
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return base::Error{base::ErrorCode::Timeout,
                               "Another program has been writing to the registry " + path.parent_path().parent_path().string() +
                                   " for too long.",
                               "Wait until it is done and try again."};
        }
        std::this_thread::sleep_for(kPollInterval);
    }
}

base::Result<std::optional<FileLock>> FileLock::tryAcquire(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        return base::errorFromErrno(errno, "lock", path);
    }
    FileLock lock(descriptor);
    int result = ::flock(descriptor, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR) {
        result = ::flock(descriptor, LOCK_EX | LOCK_NB);
    }
    if (result == 0) {
        return std::optional<FileLock>(std::move(lock));
    }
    if (errno == EWOULDBLOCK) {
        return std::optional<FileLock>();
    }
    return base::errorFromErrno(errno, "lock", path);
}

FileLock::~FileLock() {
    if (m_descriptor >= 0) {
        ::close(m_descriptor);
    }
}

FileLock::FileLock(FileLock&& other) noexcept : m_descriptor(std::exchange(other.m_descriptor, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
    std::swap(m_descriptor, other.m_descriptor);
    return *this;
}

}  // namespace modulelens::registry
