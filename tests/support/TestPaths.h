// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string_view>

namespace modulelens::test {

/// The root of the source tree.
std::filesystem::path sourceFolder();

/// A file or folder below tests/data/ of the source tree. Not checked for existence.
std::filesystem::path dataPath(std::string_view relative);

/// A program that this build made, such as `modulelens-worker`. Not checked for existence.
std::filesystem::path programPath(std::string_view name);

/// The Python interpreter of the environment that the build uses; empty when there is none.
std::filesystem::path pythonPath();

}  // namespace modulelens::test
