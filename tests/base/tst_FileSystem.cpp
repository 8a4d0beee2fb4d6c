// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/FileSystem.h"
#include "tests/support/FaultyFileSystem.h"
#include "tests/support/TestMain.h"

#include <QTemporaryDir>
#include <QTest>

#include <sys/stat.h>
#include <cerrno>
#include <fstream>

using namespace modulelens;
using base::ErrorCode;

namespace {

std::span<const std::byte> bytesOf(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

class FileSystemTest : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_temporary;
    std::filesystem::path m_folder;
    base::FileSystem& m_files = base::realFileSystem();

    base::Result<void> write(base::FileSystem& files, const std::filesystem::path& path, std::string_view text) {
        auto file = files.create(path);
        if (!file) {
            return file.error();
        }
        if (auto result = (*file)->append(bytesOf(text)); !result) {
            return result;
        }
        if (auto result = (*file)->sync(); !result) {
            return result;
        }
        return (*file)->close();
    }

private slots:
    void init() {
        m_temporary = std::make_unique<QTemporaryDir>();
        m_folder = m_temporary->path().toStdString();
    }

    void writtenFile_isReadAndMapped() {
        QVERIFY(write(m_files, m_folder / "a", "hello"));
        QCOMPARE(m_files.read(m_folder / "a", 5).value(), std::string("hello"));
        QCOMPARE(textOf((*m_files.map(m_folder / "a"))->bytes()), std::string("hello"));
        QCOMPARE(m_files.sizeBytes(m_folder / "a").value(), std::uint64_t{5});
    }

    void emptyFile_mapsToNoBytes() {
        QVERIFY(write(m_files, m_folder / "a", ""));
        QVERIFY((*m_files.map(m_folder / "a"))->bytes().empty());
    }

    void mappedFile_outlivesItsName() {
        QVERIFY(write(m_files, m_folder / "a", "hello"));
        const auto mapped = m_files.map(m_folder / "a");
        QVERIFY(m_files.remove(m_folder / "a"));
        QCOMPARE(textOf((*mapped)->bytes()), std::string("hello"));
    }

    void existingFile_isNotReplaced() {
        QVERIFY(write(m_files, m_folder / "a", "hello"));
        QVERIFY(m_files.create(m_folder / "a").error().code == ErrorCode::AlreadyExists);
        QCOMPARE(m_files.read(m_folder / "a", 9).value(), std::string("hello"));
    }

    void readBeyondTheLimit_isRefused() {
        QVERIFY(write(m_files, m_folder / "a", "hello"));
        QVERIFY(m_files.read(m_folder / "a", 4).error().code == ErrorCode::InvalidArgument);
    }

    void missingFiles_areNotFoundWithTheirPath() {
        for (const base::Error& error :
             {m_files.read(m_folder / "x", 1).error(), m_files.map(m_folder / "x").error(),
              m_files.rename(m_folder / "x", m_folder / "y").error(), m_files.sizeBytes(m_folder / "x").error(),
              m_files.listFiles(m_folder / "x").error(), m_files.create(m_folder / "x" / "y").error()}) {
            QVERIFY2(error.code == ErrorCode::NotFound, error.text().c_str());
            QVERIFY2(error.message.find("/x") != std::string::npos, error.message.c_str());
        }
        QVERIFY(m_files.remove(m_folder / "x"));
    }

    void foldersAndPipes_areNoFiles() {
        QVERIFY(m_files.read(m_folder, 1).error().code == ErrorCode::InvalidArgument);
        QVERIFY(m_files.map(m_folder).error().code == ErrorCode::InvalidArgument);
        QVERIFY(m_files.sizeBytes(m_folder).error().code == ErrorCode::InvalidArgument);
        QCOMPARE(::mkfifo((m_folder / "pipe").c_str(), 0600), 0);
        QVERIFY(m_files.map(m_folder / "pipe").error().code == ErrorCode::InvalidArgument);
        QVERIFY(m_files.listFiles(m_folder).error().code == ErrorCode::InvalidArgument);
    }

    void list_isSortedAndRelative() {
        QVERIFY(m_files.createDirectories(m_folder / "b" / "c"));
        QVERIFY(m_files.createDirectories(m_folder / "b" / "c"));
        QVERIFY(write(m_files, m_folder / "b" / "c" / "z", ""));
        QVERIFY(write(m_files, m_folder / "a", ""));
        QCOMPARE(m_files.listFiles(m_folder).value(), (std::vector<std::string>{"a", "b/c/z"}));
        QVERIFY(m_files.syncDirectory(m_folder / "b"));
        QVERIFY(m_files.remove(m_folder / "b"));
        QCOMPARE(m_files.listFiles(m_folder).value(), std::vector<std::string>{"a"});
    }

    void symbolicLink_isRefusedInAList() {
        std::filesystem::create_symlink("/etc/passwd", m_folder / "link");
        const auto names = m_files.listFiles(m_folder);
        QVERIFY(!names);
        QVERIFY(names.error().code == ErrorCode::InvalidArgument);
        QVERIFY(names.error().message.find("'link'") != std::string::npos);
        std::filesystem::remove(m_folder / "link");
        std::filesystem::create_directory_symlink("/etc", m_folder / "folder");
        QVERIFY(!m_files.listFiles(m_folder));
    }

    void folderInPlaceOfAFile_isRefused() {
        QVERIFY(write(m_files, m_folder / "a", ""));
        QVERIFY(!m_files.createDirectories(m_folder / "a"));
        QVERIFY(!m_files.createDirectories(m_folder / "a" / "b"));
    }

    void errno_isMappedToWhatACallerCanDo() {
        QVERIFY(base::errorFromErrno(ENOSPC, "write", "/x").code == ErrorCode::StorageFull);
        QVERIFY(base::errorFromErrno(EDQUOT, "write", "/x").code == ErrorCode::StorageFull);
        QVERIFY(base::errorFromErrno(EROFS, "write", "/x").code == ErrorCode::PermissionDenied);
        QVERIFY(base::errorFromErrno(EACCES, "write", "/x").code == ErrorCode::PermissionDenied);
        QVERIFY(base::errorFromErrno(ENOTDIR, "open", "/x").code == ErrorCode::NotFound);
        QVERIFY(base::errorFromErrno(ENOMEM, "map", "/x").code == ErrorCode::OutOfMemory);
        QVERIFY(base::errorFromErrno(EIO, "read", "/x").code == ErrorCode::Internal);
        const base::Error error = base::errorFromErrno(ENOSPC, "write", "/x");
        QVERIFY(error.message.find("could not write '/x'") == 0);
        QVERIFY(!error.fix.empty());
    }

    void slice_keepsToItsRange() {
        QVERIFY(write(m_files, m_folder / "a", "hello world"));
        const auto file = m_files.map(m_folder / "a").value();
        QCOMPARE(textOf((*base::sliceOf(file, 6, 5))->bytes()), std::string("world"));
        QVERIFY((*base::sliceOf(file, 11, 0))->bytes().empty());
        for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{6, 6}, {12, 0}, {~0ULL, 2}, {2, ~0ULL}}) {
            QVERIFY(base::sliceOf(file, offset, size).error().code == ErrorCode::Corrupt);
        }
    }

    void faultyFileSystem_failsWhereItIsTold() {
        test::FaultyFileSystem files;
        files.failFrom(test::FileOperation::Append, 0, EIO);
        QVERIFY(write(files, m_folder / "a", "x").error().code == ErrorCode::Internal);
        files.heal();
        QVERIFY(write(files, m_folder / "b", "x"));
        QCOMPARE(files.changes(), 4);
        files.limitCapacity(3);
        QVERIFY(write(files, m_folder / "c", "hello").error().code == ErrorCode::StorageFull);
        QCOMPARE(files.read(m_folder / "c", 9).value(), std::string("hel"));
    }

    void faultyFileSystem_forgetsWhatWasNotSynced() {
        test::FaultyFileSystem files;
        QVERIFY(write(files, m_folder / "kept", "hello"));
        files.loseSyncs();
        QVERIFY(write(files, m_folder / "lost", "hello"));
        QVERIFY(files.rename(m_folder / "lost", m_folder / "moved"));
        files.loseUnsyncedBytes();
        QCOMPARE(files.read(m_folder / "kept", 9).value(), std::string("hello"));
        QCOMPARE(files.read(m_folder / "moved", 9).value(), std::string());
    }
};

ML_TEST_MAIN(FileSystemTest)
#include "tst_FileSystem.moc"
