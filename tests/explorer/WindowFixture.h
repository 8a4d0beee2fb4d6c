// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/explorer/MainWindow.h"
#include "app/explorer/Session.h"
#include "app/explorer/Settings.h"
#include "widgets/ThemeController.h"

#include <QTemporaryDir>

#include <filesystem>
#include <string>
#include <vector>

namespace modulelens::test {

/// A real window on a registry in a temporary folder.
struct WindowFixture {
    explicit WindowFixture(std::vector<std::string> workerCommand = {}, const explorer::Settings& settings = {});

    /// Imports the golden bundle ("golden::", "golden::linear", "golden::activation") and opens the registry; waits until
    /// it is shown.
    [[nodiscard]] bool openGolden();
    /// Opens an empty registry and waits until it is shown.
    [[nodiscard]] bool openEmpty();
    /// Opens the page of "golden::MODULE@v0" and waits for its hierarchy.
    [[nodiscard]] explorer::VersionPage* openVersion(const QString& module);
    [[nodiscard]] std::filesystem::path registryFolder() const;
    /// Error sentence in the banner of the window, or empty.
    [[nodiscard]] QString bannerText() const;

    QTemporaryDir folder;
    widgets::ThemeController theme;
    explorer::Session session;
    explorer::MainWindow window;

private:
    [[nodiscard]] bool showAndWait();
};

/// Process ids of the children of this process.
[[nodiscard]] std::vector<int> childProcesses();

} // namespace modulelens::test
