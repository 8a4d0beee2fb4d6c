// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <filesystem>
#include <string>

namespace modulelens::registry {
class Registry;
}

/// The file in which a person edits the class of a captured module.
namespace modulelens::operations {

struct WorkingCopy {
    std::filesystem::path file;
    std::string className;       ///< In the file, for the module itself.
    bool isNew = false;          ///< It was written now; else it stood there already, edited or not.
    bool isFrame = false;        ///< When new: the capture holds no source, so it is a class derived from the one installed.
};

/// "modulelens/edited" in the user's data folder (XDG_DATA_HOME, else ~/.local/share); empty when neither is set.
[[nodiscard]] std::filesystem::path workingCopyFolder();

/// Writes the captured source of the version's class, ready to run, to a file of its own below `folder`. A file that is there
/// already is left as it is, whatever it holds. Unsupported: there is nothing to start from. NotFound: no such version, or
/// `folder` is empty. PermissionDenied, StorageFull. Blocks on disk.
[[nodiscard]] base::Result<WorkingCopy> prepareWorkingCopy(registry::Registry& registry, const std::string& addressOrId,
                                                           const std::filesystem::path& folder);

/// Puts the file aside, beside itself under a name that is not taken, so that the next working copy is new. Returns that
/// name. NotFound: there is no such file.
[[nodiscard]] base::Result<std::filesystem::path> putAside(const std::filesystem::path& file);

} // namespace modulelens::operations
