// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/WorkingCopy.h"

#include "backend/operations/SavedFiles.h"
#include "tests/operations/GoldenRegistry.h"
#include "tests/support/TestMain.h"

#include <QTest>
#include <fstream>
#include <future>
#include <iterator>

using namespace modulelens;
using namespace modulelens::operations;

namespace {

std::string textOf(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file) << text;
}

} // namespace

class WorkingCopyTest : public QObject {
    Q_OBJECT

private slots:
    void classOfAPackage_isItsSourceAlone() {
        const test::GoldenRegistry golden;
        const auto copy = prepareWorkingCopy(*golden.registry, "golden::linear", folderOf(golden));
        QVERIFY2(copy.hasValue(), copy.hasValue() ? "" : copy.error().message.c_str());
        QVERIFY(copy->isNew && !copy->isFrame);
        QCOMPARE(copy->className, std::string("Linear"));
        QCOMPARE(copy->file.filename().string(), std::string("Linear.py"));
        const std::string text = textOf(copy->file);
        QVERIFY(text.starts_with("# Linear of golden::linear@v0, as captured."));
        QVERIFY(text.find("\n\n\nclass Linear(Module):\n") != std::string::npos);
        QVERIFY(text.find("\nimport ") == std::string::npos);
        QVERIFY(text.ends_with("bias={self.bias is not None}\"\n"));
    }

    void classOfTheTrainingScript_getsTheImportsThatItUses() {
        const test::GoldenRegistry golden;
        const auto copy = prepareWorkingCopy(*golden.registry, "golden::", folderOf(golden));
        QVERIFY(copy.hasValue());
        const std::string text = textOf(copy->file);
        QVERIFY2(text.find("\nimport torch\nfrom torch import nn\n\n\nclass Golden(nn.Module):") != std::string::npos,
                 text.c_str());
    }

    void fileThatIsThere_isNeverTouched() {
        const test::GoldenRegistry golden;
        const auto first = prepareWorkingCopy(*golden.registry, "golden::linear", folderOf(golden));
        for (const char* text : {"edited", ""}) {
            write(first->file, text);
            const auto again = prepareWorkingCopy(*golden.registry, "golden::linear@v0", folderOf(golden));
            QCOMPARE(again->file, first->file);
            QVERIFY(!again->isNew);
            QCOMPARE(textOf(again->file), std::string(text));
        }
        // Nothing else is left beside it.
        QCOMPARE(std::distance(std::filesystem::directory_iterator(first->file.parent_path()), {}), std::ptrdiff_t{1});
    }

    void startingOver_keepsEveryEdit() {
        const test::GoldenRegistry golden;
        const auto first = prepareWorkingCopy(*golden.registry, "golden::linear", folderOf(golden));
        const std::string captured = textOf(first->file);
        for (const char* edit : {"one", "two"}) {
            write(first->file, edit);
            const auto aside = putAside(first->file);
            QVERIFY(aside.hasValue());
            QCOMPARE(textOf(*aside), std::string(edit));
            QVERIFY(prepareWorkingCopy(*golden.registry, "golden::linear", folderOf(golden))->isNew);
            QCOMPARE(textOf(first->file), captured);
        }
        QVERIFY(!putAside(first->file.string() + "-gone").hasValue());
    }

    void noFolderOrNoSuchVersion_isSaid() {
        const test::GoldenRegistry golden;
        QCOMPARE(prepareWorkingCopy(*golden.registry, "golden::linear", {}).error().code, base::ErrorCode::NotFound);
        QCOMPARE(prepareWorkingCopy(*golden.registry, "golden::nothing", folderOf(golden)).error().code,
                 base::ErrorCode::NotFound);
        const std::filesystem::path file = folderOf(golden).string() + "-file";
        write(file, "in the way");
        const auto blocked = prepareWorkingCopy(*golden.registry, "golden::linear", file);
        QVERIFY(!blocked.hasValue());
        QVERIFY2(blocked.error().message.find("the file for edited source") != std::string::npos,
                 blocked.error().message.c_str());
    }

    void save_isSeenHoweverItIsMade() {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath(QStringLiteral("a.py")).toStdString();
        write(file, "one");
        const WatchedFiles watched{file, {}};
        QCOMPARE(savedState(watched).files.size(), 1U);
        for (const bool renames : {false, true}) {
            const SavedState seen = savedState(watched);
            QVERIFY(savedState(watched) == seen);
            std::stop_source stop;
            auto saved = std::async(std::launch::async, [&] { return waitForSave(watched, seen, stop.get_token()); });
            if (renames) {
                write(file.string() + "~", "three");
                std::filesystem::rename(file.string() + "~", file);
            } else {
                write(file, "longer than before");
            }
            QVERIFY(saved.get());
            QVERIFY(!(savedState(watched) == seen));
        }
    }

    void removedFile_isWaitedForThenSaid() {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath(QStringLiteral("a.py")).toStdString();
        write(file, "one");
        const WatchedFiles watched{file, {}};
        const SavedState seen = savedState(watched);
        std::filesystem::remove(file);
        const std::stop_source stop;
        QVERIFY(waitForSave(watched, seen, stop.get_token()));
        QVERIFY(savedState(watched).files.empty());
    }

    void stopRequest_endsTheWait() {
        const QTemporaryDir folder;
        const WatchedFiles watched{{}, {folder.path().toStdString(), "/no/such/folder"}};
        std::stop_source stop;
        auto saved =
            std::async(std::launch::async, [&] { return waitForSave(watched, savedState(watched), stop.get_token()); });
        stop.request_stop();
        QVERIFY(!saved.get());
    }

private:
    static std::filesystem::path folderOf(const test::GoldenRegistry& golden) {
        return golden.folder.filePath(QStringLiteral("edited")).toStdString();
    }
};

ML_TEST_MAIN(WorkingCopyTest)
#include "tst_WorkingCopy.moc"
