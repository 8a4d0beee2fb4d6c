// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ZipReader.h"
#include "tests/support/MemoryFile.h"
#include "tests/support/TestMain.h"
#include "tests/support/ZipWriter.h"

#include <QTest>

#include <random>

using namespace modulelens;
using base::ErrorCode;
using test::makeZip;
using test::ZipEntry;

namespace {

base::Result<base::ZipReader> open(std::string_view file) {
    return base::ZipReader::open(test::memoryFile(file), "a.zip");
}

const std::vector<ZipEntry> kEntries{
    {"a.txt", "alpha"}, {"folder/", ""}, {"folder/b.bin", std::string("\0\1", 2)}, {"empty", ""}};

} // namespace

class ZipReaderTest : public QObject {
    Q_OBJECT

    void refuses(const std::string& file, ErrorCode code, const char* part) {
        const auto zip = open(file);
        QVERIFY2(!zip, part);
        QVERIFY2(zip.error().code == code, zip.error().text().c_str());
        QVERIFY2(zip.error().message.find(part) != std::string::npos, zip.error().text().c_str());
    }

private slots:
    void members_lieWhereTheReaderSays_data() {
        QTest::addColumn<bool>("zip64");
        QTest::newRow("32-bit") << false;
        QTest::newRow("64-bit") << true;
    }
    void members_lieWhereTheReaderSays() {
        QFETCH(bool, zip64);
        const std::string file = makeZip(kEntries, zip64);
        const auto zip = open(file);
        QVERIFY2(zip, zip ? "" : zip.error().text().c_str());
        QCOMPARE(zip->members().size(), std::size_t{3});
        for (const ZipEntry& entry : kEntries) {
            if (!entry.name.ends_with('/')) {
                const base::ZipMember member = zip->members().at(entry.name);
                QCOMPARE(file.substr(member.offset, member.sizeBytes), entry.data);
                QCOMPARE(zip->bytes(entry.name)->size(), entry.data.size());
            }
        }
        QVERIFY(zip->bytes("nothing").error().code == ErrorCode::NotFound);
    }

    void emptyArchive_hasNoMembers() { QVERIFY(open(makeZip({}))->members().empty()); }

    void archiveComment_isSkipped() {
        std::string file = makeZip(kEntries);
        file[file.size() - 2] = 5;
        QVERIFY(open(file + "hello"));
    }

    void hostileNames_areCorrupt() {
        for (const std::string& name :
             {std::string("../x"), std::string("a/../../x"), std::string("/etc/passwd"), std::string("a//b"),
              std::string("a\\b"), std::string("a\0b", 3), std::string("./a"), std::string(2000, 'x'), std::string("a\nb")}) {
            refuses(makeZip({{name, "x"}}), ErrorCode::Corrupt, "names the file");
        }
        refuses(makeZip({{"", "x"}}), ErrorCode::Corrupt, "names the file");
        refuses(makeZip({{"../", ""}}), ErrorCode::Corrupt, "names the file");
    }

    void nameThatStandsTwice_isCorrupt() { refuses(makeZip({{"a", "1"}, {"a", "2"}}), ErrorCode::Corrupt, "twice"); }

    void compressedOrEncryptedMember_isUnsupported() {
        refuses(makeZip({{"a", "1", 8}}), ErrorCode::Unsupported, "compressed or encrypted");
        refuses(makeZip({{"a", "1", 0, 1}}), ErrorCode::Unsupported, "compressed or encrypted");
    }

    void localHeaderOfAnotherName_isCorrupt() {
        refuses(makeZip({{"a", "1", 0, 0, "b"}}), ErrorCode::Corrupt, "two different ways");
    }

    void folderWithContent_isCorrupt() { refuses(makeZip({{"a/", "1"}}), ErrorCode::Corrupt, "outside itself"); }

    void noArchive_isCorrupt() {
        refuses("", ErrorCode::Corrupt, "no end record");
        refuses("hello", ErrorCode::Corrupt, "no end record");
        refuses(std::string(100'000, 'x'), ErrorCode::Corrupt, "no end record");
    }

    void wrongDirectory_isCorrupt() {
        const std::string good = makeZip({{"a", "1"}});
        const std::size_t end = good.size() - 22;
        const auto changed = [&](std::size_t offset, char value) {
            std::string file = good;
            file[end + offset] = value;
            return file;
        };
        refuses(changed(16, 1), ErrorCode::Corrupt, "outside the file");     // Offset of the directory.
        refuses(changed(12, 0), ErrorCode::Corrupt, "outside the file");     // Its size.
        refuses(changed(4, 1), ErrorCode::Corrupt, "several");               // Disk number.
        refuses(changed(10, 2), ErrorCode::Corrupt, "several");              // Number of members in all.
        std::string two = changed(10, 2);
        two[end + 8] = 2;
        refuses(two, ErrorCode::Corrupt, "outside the file");
        two[end + 10] = two[end + 8] = 0;
        refuses(two, ErrorCode::Corrupt, "differ");
    }

    void overlappingMembers_areCorrupt() {
        std::string file = makeZip({{"a", "1"}, {"a", "2"}});
        // The second record of the directory gets the offset of the first member: same name, same data.
        const std::size_t second = file.rfind(std::string("PK\1\2", 4));
        file.replace(second + 42, 4, std::string(4, '\0'));
        file[second + 46] = 'a';
        refuses(file, ErrorCode::Corrupt, "twice");
        std::string nested = makeZip({{"a", makeZip({{"b", "1"}})}, {"b", "1"}});
        const std::size_t last = nested.rfind(std::string("PK\1\2", 4));
        nested.replace(last + 42, 4, std::string("\x1f\0\0\0", 4)); // The header inside the data of "a".
        refuses(nested, ErrorCode::Corrupt, "overlap");
    }

    void hugeNumbers_areCorrupt() {
        std::string file = makeZip({{"a", "1"}}, true);
        const std::size_t record = file.find(std::string("PK\1\2", 4));
        for (const std::size_t field : {std::size_t{51}, std::size_t{59}, std::size_t{67}}) {
            std::string changed = file;
            changed.replace(record + field, 8, std::string(8, '\xff'));
            refuses(changed, ErrorCode::Corrupt, "outside itself");
        }
    }

    void cutArchive_isCorruptAtEveryLength() {
        for (const bool zip64 : {false, true}) {
            const std::string whole = makeZip(kEntries, zip64);
            for (std::size_t size = 0; size < whole.size(); ++size) {
                const auto zip = open(std::string_view(whole).substr(0, size));
                QVERIFY(!zip && zip.error().code == ErrorCode::Corrupt);
            }
        }
    }

    void damagedArchive_neverCrashes() {
        std::mt19937 random(1);
        for (int round = 0; round < 20000; ++round) {
            std::string damaged = makeZip(kEntries, round % 2 == 0);
            for (unsigned i = 0; i <= random() % 4; ++i) {
                damaged[random() % damaged.size()] = static_cast<char>(random());
            }
            const auto zip = open(damaged);
            if (zip) {
                (void)zip->checkEveryByteIsExplained();
                for (const auto& [name, member] : zip->members()) {
                    QVERIFY(member.offset + member.sizeBytes <= damaged.size());
                }
            } else {
                QVERIFY(zip.error().code != ErrorCode::Internal);
            }
        }
    }

    void bytesThatNothingExplains_areFound() {
        const std::vector<ZipEntry> plain{{"a", "1"}, {"b", "2"}};
        QVERIFY(open(makeZip(plain))->checkEveryByteIsExplained());
        std::string attributes = makeZip(plain);
        attributes[attributes.find(std::string("PK\1\2", 4)) + 38] = 1;
        const auto zip = open(attributes);
        QVERIFY(zip);
        QVERIFY(!zip->checkEveryByteIsExplained());
    }
};

ML_TEST_MAIN(ZipReaderTest)
#include "tst_ZipReader.moc"
