// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/explorer/WindowFixture.h"

#include "app/explorer/DocumentArea.h"
#include "backend/base/FileSystem.h"
#include "backend/registry/Registry.h"
#include "tests/support/TestPaths.h"
#include "widgets/Banner.h"

#include <QSignalSpy>
#include <QTest>

#include <unistd.h>
#include <fstream>

namespace modulelens::test {

WindowFixture::WindowFixture(std::vector<std::string> workerCommand, const explorer::Settings& settings)
    : session(std::move(workerCommand), 2), window(session, theme, settings) {}

std::filesystem::path WindowFixture::registryFolder() const {
    return folder.filePath(QStringLiteral("registry")).toStdString();
}

bool WindowFixture::showAndWait() {
    window.show();
    session.openFolder(registryFolder());
    return QTest::qWaitFor([this] { return session.search().hasAnswer() && session.pool().isIdle(); }, 30000);
}

bool WindowFixture::openEmpty() {
    return showAndWait();
}

bool WindowFixture::openGolden() {
    {
        auto opened =
            registry::LocalRegistry::open(base::realFileSystem(), registryFolder(), registry::LocalRegistry::Mode::ReadWrite);
        if (!opened || !(*opened)->import(dataPath("capture/v1"), {}, {})) {
            return false;
        }
    }
    return showAndWait();
}

explorer::VersionPage* WindowFixture::openVersion(const QString& module) {
    window.openAddress(QStringLiteral("golden::") + module + QStringLiteral("@v0"), {});
    const auto page = [this] { return window.documents()->current(); };
    const bool opened = QTest::qWaitFor(
        [&] { return page() != nullptr && page()->version().module == module && session.pool().isIdle(); }, 30000);
    return opened ? page() : nullptr;
}

QString WindowFixture::bannerText() const {
    return window.banner()->isVisible() ? window.banner()->sentence() + window.banner()->detail() : QString();
}

std::vector<int> childProcesses() {
    std::vector<int> children;
    const std::string own = std::to_string(::getpid());
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + own + "/task")) {
        std::ifstream file(task.path() / "children");
        for (int child = 0; file >> child;) {
            children.push_back(child);
        }
    }
    return children;
}

} // namespace modulelens::test
