// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/base/Result.h"
#include "backend/protocol/WorkerMessages.h"

#include <memory>
#include <string>
#include <vector>

namespace modulelens::engine {

/// Maps the bytes of a file that holds code or a pickle, after the user's consent was found and the bytes were compared
/// with `sha256`. ConsentNeeded: `consent` does not name them. Corrupt: other bytes. Blocks on disk.
[[nodiscard]] base::Result<std::shared_ptr<const base::MappedFile>> openWithConsent(const std::string& file,
                                                                                    std::uint64_t offset, std::uint64_t length,
                                                                                    const std::string& sha256,
                                                                                    const std::vector<std::string>& consent,
                                                                                    const std::string& name);

/// Loads the libraries that this process has not loaded yet, in order. ConsentNeeded, Corrupt as above; Unsupported: the
/// system's loader refuses one, or it throws while it registers its operators. A library that crashes ends the process.
[[nodiscard]] base::Result<void> loadOperatorLibraries(const std::vector<protocol::OperatorLibrary>& libraries,
                                                       const std::vector<std::string>& consent);

}  // namespace modulelens::engine
