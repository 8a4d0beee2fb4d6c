// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/DeviceLock.h"

#include "backend/base/FileSystem.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

namespace modulelens::operations {

namespace {

constexpr std::chrono::milliseconds kPollInterval{50};
constexpr std::chrono::minutes kPatience{30};

const char* environmentOr(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? otherwise : value;
}

std::string fileName(const std::string& device) {
    std::string name = "device-" + device + ".lock";
    for (char& c : name) {
        const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
        c = isPlain ? c : '_';
    }
    return name;
}

/// The folder must be the user's own: whoever else could make files in it could hold every measurement up.
base::Result<void> makeFolder(const std::filesystem::path& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder.parent_path(), failed);
    constexpr mode_t kOnlyTheUser = 0700;
    if (::mkdir(folder.c_str(), kOnlyTheUser) != 0 && errno != EEXIST) {
        return base::errorFromErrno(errno, "create", folder);
    }
    struct stat facts = {};
    if (::lstat(folder.c_str(), &facts) != 0) {
        return base::errorFromErrno(errno, "open", folder);
    }
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid()) {
        return base::Error{base::ErrorCode::PermissionDenied,
                           "the folder of the device locks, '" + folder.string() + "', is not a folder of this user",
                           "Remove it, or set XDG_RUNTIME_DIR to a folder of your own."};
    }
    return {};
}

/// "process 1234", or "another process" when the holder has not said who it is.
std::string holderOf(const std::filesystem::path& path) {
    std::ifstream file(path);
    long process = 0;
    return file >> process && process > 0 ? "process " + std::to_string(process) : std::string("another process");
}

} // namespace

std::filesystem::path deviceLockFolder() {
    const char* runtime = environmentOr("XDG_RUNTIME_DIR", "");
    if (*runtime != '\0') {
        return std::filesystem::path(runtime) / "modulelens";
    }
    return std::filesystem::path(environmentOr("TMPDIR", "/tmp")) / ("modulelens-" + std::to_string(::geteuid()));
}

base::Result<DeviceLock> DeviceLock::acquire(const std::string& device, const OperationContext& context) {
    return acquireIn(deviceLockFolder(), device, context);
}

base::Result<DeviceLock> DeviceLock::acquireIn(const std::filesystem::path& folder, const std::string& device,
                                               const OperationContext& context) {
    if (base::Result<void> made = makeFolder(folder); !made) {
        return made.error();
    }
    const std::filesystem::path path = folder / fileName(device);
    const auto start = std::chrono::steady_clock::now();
    const std::chrono::milliseconds patience = context.timeout.value_or(kPatience);
    while (true) {
        base::Result<std::optional<registry::FileLock>> lock = registry::FileLock::tryAcquire(path);
        if (!lock) {
            return lock.error();
        }
        if (*lock) {
            // Only for whoever waits; without it they are told less.
            std::ofstream(path, std::ios::trunc) << ::getpid() << '\n';
            return DeviceLock(std::move(**lock));
        }
        if (context.stop.stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled, "waiting for the device '" + device + "' was cancelled", {}};
        }
        const auto waited = std::chrono::steady_clock::now() - start;
        if (waited >= patience) {
            return base::Error{base::ErrorCode::Timeout,
                               holderOf(path) + " has been measuring on '" + device +
                                   "' all the time, and two measurements "
                                   "at once would disturb each other",
                               "Wait until it is done, end it, or allow more time with --timeout."};
        }
        if (context.progress) {
            context.progress(
                {0, "waiting for the device", std::chrono::duration_cast<std::chrono::seconds>(waited).count(), 0});
        }
        std::this_thread::sleep_for(kPollInterval);
    }
}

} // namespace modulelens::operations
