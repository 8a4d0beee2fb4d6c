// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/registry/RegistryFixture.h"

#include "backend/base/Digest.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <QDir>
#include <QFileInfo>

#include <cstdio>
#include <cstdlib>

namespace modulelens::test {

namespace {

void dumpTable(SQLite::Database& database, const std::string& table, QStringList& lines) {
    SQLite::Statement row(database, "SELECT * FROM \"" + table + "\"");
    QStringList rows;
    while (row.executeStep()) {
        QStringList cells;
        for (int i = 0; i < row.getColumnCount(); ++i) {
            if (std::string(row.getColumnName(i)) == "imported") {
                continue;
            }
            const SQLite::Column column = row.getColumn(i);
            cells << (column.isBlob() ? QString::fromLatin1(
                                            QByteArray(static_cast<const char*>(column.getBlob()), column.getBytes()).toHex())
                                      : QString::fromStdString(column.getString()));
        }
        rows << QString::fromStdString(table) + QStringLiteral(": ") + cells.join(QLatin1Char('|'));
    }
    rows.sort();
    lines << rows;
}

/// Memory where there is some to put files in: every commit waits for the disk otherwise.
QString temporaryTemplate() {
    const QFileInfo memory(QStringLiteral("/dev/shm"));
    const QString folder = memory.isDir() && memory.isWritable() ? memory.filePath() : QDir::tempPath();
    return folder + QStringLiteral("/modulelens-registry-XXXXXX");
}

}  // namespace

RegistryFixture::RegistryFixture(const std::string& name) : m_temporary(temporaryTemplate()) {
    m_folder = std::filesystem::path(m_temporary.path().toStdString()) / name;
    std::filesystem::create_directories(store());
    reopen();
}

std::filesystem::path RegistryFixture::store() const {
    return std::filesystem::path(m_temporary.path().toStdString()) / "store";
}

void RegistryFixture::reopen() {
    m_registry.reset();
    auto opened = registry::LocalRegistry::open(base::realFileSystem(), m_folder, registry::LocalRegistry::Mode::ReadWrite);
    if (!opened) {
        std::fprintf(stderr, "RegistryFixture: %s\n", opened.error().text().c_str());
        std::abort();
    }
    m_registry = std::move(*opened);
}

registry::ImportReport RegistryFixture::importBundle(const BundleBuilder& builder) {
    auto report = m_registry->import(builder.write(store()), {}, {});
    if (!report) {
        std::fprintf(stderr, "RegistryFixture: %s\n", report.error().text().c_str());
        std::abort();
    }
    return std::move(*report);
}

QStringList RegistryFixture::dumpOf(const std::filesystem::path& folder) {
    QStringList lines;
    {
        SQLite::Database database((folder / "registry.sqlite").string(), SQLite::OPEN_READWRITE, 5000);
        SQLite::Statement tables(database, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
        while (tables.executeStep()) {
            dumpTable(database, tables.getColumn(0).getString(), lines);
        }
    }
    const auto names = base::realFileSystem().listFiles(folder);
    for (const std::string& name : *names) {
        if (name.starts_with("registry.sqlite") || name.starts_with("locks/")) {
            continue;
        }
        const auto file = base::realFileSystem().map(folder / name).value();
        lines << QString::fromStdString("file: " + name + " " + base::sha256Hex(file->bytes()));
    }
    return lines;
}

QStringList RegistryFixture::problems() const {
    const auto report = m_registry->check({}, {});
    if (!report) {
        return {QString::fromStdString(report.error().text())};
    }
    QStringList problems;
    for (const std::string& problem : report->problems) {
        problems << QString::fromStdString(problem);
    }
    return problems;
}

int RegistryFixture::count(const std::string& what) const {
    SQLite::Database database((m_folder / "registry.sqlite").string(), SQLite::OPEN_READONLY, 5000);
    return database.execAndGet("SELECT count(*) FROM " + what).getInt();
}

void RegistryFixture::execute(const std::string& sql) const {
    SQLite::Database database((m_folder / "registry.sqlite").string(), SQLite::OPEN_READWRITE, 5000);
    database.exec(sql);
}

}  // namespace modulelens::test
