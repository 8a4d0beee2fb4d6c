// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/registry/Registry.h"
#include "tests/support/BundleBuilder.h"

#include <QStringList>
#include <QTemporaryDir>

#include <filesystem>
#include <memory>
#include <string>

namespace modulelens::test {

/// A registry in a temporary folder, and a folder beside it for bundles. Aborts the test program when it cannot be opened.
class RegistryFixture {
public:
    explicit RegistryFixture(const std::string& name = "registry");

    [[nodiscard]] registry::LocalRegistry& registry() const { return *m_registry; }
    [[nodiscard]] const std::filesystem::path& folder() const { return m_folder; }
    [[nodiscard]] std::filesystem::path store() const;

    void close() { m_registry.reset(); }
    void reopen();

    /// Writes the bundle and imports it.
    registry::ImportReport importBundle(const BundleBuilder& builder);

    /// Everything that the registry holds, as text: all rows of all tables and all files, except SQLite's own and the locks.
    /// Times of import are left out.
    [[nodiscard]] QStringList dump() const { return dumpOf(m_folder); }
    [[nodiscard]] static QStringList dumpOf(const std::filesystem::path& folder);

    /// What the registry's self-check finds.
    [[nodiscard]] QStringList problems() const;

    /// Rows of "SELECT count(*) FROM <what>".
    [[nodiscard]] int count(const std::string& what) const;
    void execute(const std::string& sql) const;

    template <class T>
    [[nodiscard]] const char* message(const base::Result<T>& result) const {
        m_message = result ? std::string() : result.error().text();
        return m_message.c_str();
    }

private:
    QTemporaryDir m_temporary;
    std::filesystem::path m_folder;
    std::unique_ptr<registry::LocalRegistry> m_registry;
    mutable std::string m_message;
};

}  // namespace modulelens::test
