// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/operations/GoldenRegistry.h"

#include "backend/base/FileSystem.h"
#include "tests/support/TestPaths.h"

namespace modulelens::test {

GoldenRegistry::GoldenRegistry() {
    const std::filesystem::path path = std::filesystem::path(folder.path().toStdString()) / "registry";
    auto opened = registry::LocalRegistry::open(base::realFileSystem(), path, registry::LocalRegistry::Mode::ReadWrite);
    if (!opened) {
        error = opened.error().message;
        return;
    }
    const auto report = (*opened)->import(dataPath("capture/v1"), {}, {});
    if (!report) {
        error = report.error().message;
        return;
    }
    registry = *std::move(opened);
}

} // namespace modulelens::test
