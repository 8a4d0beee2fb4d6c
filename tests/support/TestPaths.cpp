// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/TestPaths.h"

#include <QCoreApplication>

#include <cstdlib>

namespace modulelens::test {

namespace {

std::filesystem::path fromEnvironment(const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

}  // namespace

std::filesystem::path sourceFolder() {
    // ctest sets the variable; a test started by hand finds the tree above its own build folder.
    std::filesystem::path folder = fromEnvironment("MODULELENS_SOURCE_DIR");
    if (!folder.empty()) {
        return folder;
    }
    folder = QCoreApplication::applicationDirPath().toStdString();
    while (folder.has_relative_path() && !std::filesystem::exists(folder / "CMakePresets.json")) {
        folder = folder.parent_path();
    }
    return folder;
}

std::filesystem::path dataPath(std::string_view relative) {
    return sourceFolder() / "tests" / "data" / relative;
}

std::filesystem::path programPath(std::string_view name) {
    std::filesystem::path folder = fromEnvironment("MODULELENS_BIN_DIR");
    if (folder.empty()) {
        folder = QCoreApplication::applicationDirPath().toStdString();
    }
    return folder / name;
}

std::filesystem::path pythonPath() {
    return fromEnvironment("MODULELENS_PYTHON");
}

}  // namespace modulelens::test
