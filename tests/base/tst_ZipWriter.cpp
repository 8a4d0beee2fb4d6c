// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ZipWriter.h"

#include <QTest>

#include "backend/base/ZipReader.h"
#include "tests/support/MemoryFile.h"
#include "tests/support/TestMain.h"

using namespace modulelens;
using namespace modulelens::base;

class ZipWriterTest : public QObject {
    Q_OBJECT

private slots:
    void members_areReadBackAligned() {
        const std::string large(1000, 'x');
        const std::vector<ZipContent> members = {
            {"program/a", bytesOf("123456789")}, {"program/folder/b", bytesOf(large)}, {"program/empty", {}}};
        const Result<std::string> zip = makeZip(members);
        QVERIFY(zip.hasValue());
        const auto reader = ZipReader::open(std::make_shared<test::MemoryFile>(*zip), "x.zip");
        QVERIFY2(reader.hasValue(), reader.hasValue() ? "" : reader.error().message.c_str());
        QVERIFY(reader->checkEveryByteIsExplained().hasValue());
        QCOMPARE(reader->members().size(), members.size());
        for (const ZipContent& member : members) {
            const auto bytes = reader->bytes(member.name);
            QVERIFY(std::equal(bytes->begin(), bytes->end(), member.bytes.begin(), member.bytes.end()));
            QCOMPARE(reader->members().at(member.name).offset % 64, 0U);
        }
        // The check value of this CRC for "123456789" is cbf43926.
        QVERIFY(zip->find("\x26\x39\xf4\xcb") != std::string::npos);
        QCOMPARE(*makeZip(members), *zip);
    }

    void changedByte_breaksTheSum() {
        const std::string large(1001, 'y');
        std::string zip = *makeZip({{"a", bytesOf("123456789")}, {"b", bytesOf(large)}});
        QVERIFY(ZipReader::checkSums(bytesOf(zip), "x.zip").hasValue());
        for (const std::size_t place : {zip.find("123"), zip.find("yyy"), zip.find("yyy") + 1000}) {
            zip[place] ^= 1;
            QVERIFY(!ZipReader::checkSums(bytesOf(zip), "x.zip").hasValue());
            zip[place] ^= 1;
        }
    }

    void names_areToldForCompressedMembersToo() {
        std::string zip = *makeZip({{"a", bytesOf("one")}, {"b/c", bytesOf("two")}});
        const std::size_t central = zip.find("PK\x01\x02");
        zip[central + 10] = 8; // Deflated, says the directory.
        const auto names = ZipReader::memberNames(bytesOf(zip), "x.zip");
        QVERIFY(names.hasValue());
        QCOMPARE(*names, (std::vector<std::string>{"a", "b/c"}));
        QVERIFY(!ZipReader::memberNames(bytesOf(zip.substr(0, zip.size() / 2)), "x.zip").hasValue());
        QVERIFY(!ZipReader::memberNames({}, "x.zip").hasValue());
    }
};

ML_TEST_MAIN(ZipWriterTest)
#include "tst_ZipWriter.moc"
