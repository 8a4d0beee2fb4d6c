// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

/// Notices that a person saved: whether their editor writes the file in place or renames another one over it.
namespace modulelens::operations {

/// What is looked at: a file, and every .py file below the folders.
struct WatchedFiles {
    std::filesystem::path file;                    ///< Empty: none.
    std::vector<std::string> folders;
};

/// The files at one moment. Equal to another when none was saved, added or removed in between. A plain value.
struct SavedState {
    struct Stamp {
        std::int64_t modifiedNs = 0;
        std::int64_t sizeBytes = 0;
        std::uint64_t inode = 0;

        [[nodiscard]] bool operator==(const Stamp&) const = default;
    };
    std::map<std::string, Stamp> files;            ///< By path; without those that are not there.

    [[nodiscard]] bool operator==(const SavedState&) const = default;
};

/// Blocks on disk.
[[nodiscard]] SavedState savedState(const WatchedFiles& watched);

/// Blocks until the files are no longer as in `seen` and have stayed the same for a moment, so that no half-written file is
/// read; a file that is gone is waited for, for a second. Returns false when `stop` came first.
[[nodiscard]] bool waitForSave(const WatchedFiles& watched, const SavedState& seen, const std::stop_token& stop);

} // namespace modulelens::operations
