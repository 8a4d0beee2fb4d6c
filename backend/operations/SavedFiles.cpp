// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/SavedFiles.h"

#include <sys/stat.h>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace modulelens::operations {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookAgain{150};
constexpr int kLooksForAMissingFile = 7;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

void note(const fs::path& path, SavedState& state) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        state.files[path.string()] = {status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec, status.st_size,
                                      status.st_ino};
    }
}

/// Returns false when `stop` came.
bool pause(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, kLookAgain, [] { return false; });
    return !stop.stop_requested();
}

} // namespace

SavedState savedState(const WatchedFiles& watched) {
    SavedState state;
    if (!watched.file.empty()) {
        note(watched.file, state);
    }
    for (const std::string& folder : watched.folders) {
        std::error_code failed;
        fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed);
        for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
            if (entry->path().extension() == ".py") {
                note(entry->path(), state);
            }
        }
    }
    return state;
}

bool waitForSave(const WatchedFiles& watched, const SavedState& seen, const std::stop_token& stop) {
    SavedState before = seen;
    int missing = 0;
    while (pause(stop)) {
        SavedState now = savedState(watched);
        const bool isSettled = now == before;
        before = std::move(now);
        const bool isGone = !watched.file.empty() && !before.files.contains(watched.file.string());
        missing = isGone ? missing + 1 : 0;
        if (before != seen && isSettled && (!isGone || missing > kLooksForAMissingFile)) {
            return true;
        }
    }
    return false;
}

} // namespace modulelens::operations
