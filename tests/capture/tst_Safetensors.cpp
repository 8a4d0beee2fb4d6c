// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/Safetensors.h"
#include "tests/support/FaultyFileSystem.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <random>

using namespace modulelens;
using base::ErrorCode;

namespace {

std::string fileOf(const std::string& header, const std::string& data) {
    std::string file;
    for (int i = 0; i < 8; ++i) {
        file.push_back(static_cast<char>((header.size() >> (8 * i)) & 0xffU));
    }
    return file + header + data;
}

base::Result<capture::SafetensorsHeader> read(const std::string& file) {
    // A copy of exactly this size, so that the address sanitizer sees any read past the end.
    const std::vector<char> exact(file.begin(), file.end());
    return capture::readSafetensorsHeader(std::as_bytes(std::span(exact)), "t.safetensors");
}

std::span<const std::byte> bytesOf(const std::string& text) {
    return std::as_bytes(std::span(text));
}

const std::string kGood =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";

} // namespace

class SafetensorsTest : public QObject {
    Q_OBJECT

    void refuses(const std::string& file, const char* part, ErrorCode code = ErrorCode::Corrupt) {
        const auto header = read(file);
        QVERIFY2(!header, part);
        QVERIFY2(header.error().code == code, header.error().text().c_str());
        QVERIFY2(header.error().message.find(part) != std::string::npos, header.error().text().c_str());
    }

private slots:
    void header_givesPlacesInTheFile() {
        const auto header = read(fileOf(kGood, "12345678abc"));
        QVERIFY2(header, header ? "" : header.error().text().c_str());
        QCOMPARE(header->entries.size(), std::size_t{2});
        QCOMPARE(header->entries.at("b").offset, 8 + kGood.size() + 8);
        QCOMPARE(header->entries.at("b").sizeBytes, std::uint64_t{3});
    }

    void metadataAndPadding_areNoTensors() {
        const auto header =
            read(fileOf(R"({"__metadata__":{"k":"v"},".pad.0":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "1234"));
        QVERIFY(header);
        QVERIFY(header->entries.empty());
        QCOMPARE(header->metadata.at("k"), std::string("v"));
    }

    void headerLongerThanTheFile_isCorrupt() {
        std::string file = fileOf("{}", "");
        file[7] = 0x10; // 2^60 bytes.
        refuses(file, "1152921504606846978");
        file = fileOf("{}", "");
        file[0] = 3;
        refuses(file, "more than there can be");
        refuses("", "no header");
        refuses("1234567", "no header");
    }

    void rangesThatDoNotTile_areCorrupt() {
        refuses(
            fileOf(
                R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                "123456"),
            "overlap");
        refuses(
            fileOf(
                R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
                "123456"),
            "gap");
        refuses(fileOf(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "123456"), "belongs to no tensor");
        refuses(fileOf(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "123456"), "outside");
        refuses(fileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,1]}})", "123456"), "outside");
        refuses(fileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}})", "123456"), "outside");
        refuses(fileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", "1"), "outside");
    }

    void sizeThatDoesNotFit_isCorrupt() {
        refuses(fileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,6]}})", "123456"), "another size");
        refuses(fileOf(R"({"a":{"dtype":"U8","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", ""), "overflows");
        refuses(fileOf(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "1"), "negative");
    }

    void malformedHeaders_areCorrupt() {
        refuses(fileOf("{", ""), "no valid JSON");
        refuses(fileOf("[]", ""), "no object");
        refuses(fileOf(R"({"a":{"dtype":"U8","shape":[0]}})", ""), "data_offsets");
        refuses(
            fileOf(
                R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                ""),
            "twice");
        refuses(fileOf(R"({"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", ""), "twice");
        refuses(fileOf(R"({"a":{"dtype":"F4","shape":[0],"data_offsets":[0,0]}})", ""), "element type", ErrorCode::Unsupported);
        refuses(fileOf(std::string(100'000, '['), ""), "deeper");
    }

    void cutFile_isCorruptAtEveryLength() {
        const std::string whole = fileOf(kGood, "12345678abc");
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const auto header = read(whole.substr(0, size));
            QVERIFY(!header && header.error().code == ErrorCode::Corrupt);
        }
    }

    void damagedFile_neverCrashes() {
        const std::string whole = fileOf(kGood, "12345678abc");
        std::mt19937 random(3);
        for (int round = 0; round < 20000; ++round) {
            std::string damaged = whole;
            for (unsigned i = 0; i <= random() % 3; ++i) {
                damaged[random() % damaged.size()] = static_cast<char>(random());
            }
            const auto header = read(damaged);
            QVERIFY(header || header.error().code != ErrorCode::Internal);
        }
    }

    void writtenFile_isReadBackAligned() {
        const QTemporaryDir temporary;
        const std::filesystem::path path = (temporary.path() + "/t.safetensors").toStdString();
        const std::string first(10, 'a');
        const std::string second(16, 'b');
        const std::vector<capture::SafetensorsInput> inputs{
            {"one", "U8", {10}, bytesOf(first)}, {"two", "F32", {2, 2}, bytesOf(second)}, {"none", "F32", {0}, {}}};
        const auto places = capture::writeSafetensors(base::realFileSystem(), path, inputs, {{"k", "\"v\""}});
        QVERIFY2(places, places ? "" : places.error().text().c_str());
        const std::string file = *base::realFileSystem().read(path, 1 << 20);
        const auto header = read(file);
        QVERIFY2(header, header ? "" : header.error().text().c_str());
        QCOMPARE(header->metadata.at("k"), std::string("\"v\""));
        for (const auto& [key, entry] : header->entries) {
            QCOMPARE(entry.offset, places->at(key).offset);
            QCOMPARE(entry.offset % 64, std::uint64_t{0});
        }
        QCOMPARE(file.substr(places->at("two").offset, 16), second);
        QVERIFY(capture::writeSafetensors(base::realFileSystem(), path, inputs, {}).error().code == ErrorCode::AlreadyExists);
    }

    void writtenFile_isReadByTheSafetensorsPackage() {
        const std::filesystem::path python = test::pythonPath();
        if (python.empty()) {
            QSKIP("no Python in this build, or not started by ctest");
        }
        const QTemporaryDir temporary;
        const QString path = temporary.path() + QStringLiteral("/t.safetensors");
        const std::string data("\0\0\x80?\0\0\0@", 8);
        QVERIFY(capture::writeSafetensors(base::realFileSystem(), path.toStdString(),
                                          {{"x", "F32", {2}, bytesOf(data)}, {"y", "U8", {3}, bytesOf("abc")}}, {{"k", "v"}}));
        QProcess process;
        process.start(QString::fromStdString(python.string()),
                      {QStringLiteral("-c"),
                       QStringLiteral("import sys, safetensors.numpy as s; t = s.load_file(sys.argv[1]); "
                                      "print(t['x'].tolist(), bytes(t['y']))"),
                       path});
        QVERIFY(process.waitForFinished(60000));
        QCOMPARE(process.readAllStandardOutput().trimmed(), QByteArray("[1.0, 2.0] b'abc'"));
    }

    void wrongInputs_areRefusedBeforeAnythingIsWritten() {
        const QTemporaryDir temporary;
        const std::filesystem::path path = (temporary.path() + "/t.safetensors").toStdString();
        const std::string data(8, 'x');
        for (const capture::SafetensorsInput& input : {capture::SafetensorsInput{"a", "F31", {2}, bytesOf(data)},
                                                       capture::SafetensorsInput{"a", "F32", {3}, bytesOf(data)},
                                                       capture::SafetensorsInput{".pad.0", "F32", {2}, bytesOf(data)},
                                                       capture::SafetensorsInput{"a", "F32", {-2}, bytesOf(data)}}) {
            const auto result = capture::writeSafetensors(base::realFileSystem(), path, {input}, {});
            QVERIFY(!result && result.error().code == ErrorCode::InvalidArgument);
            QVERIFY(!std::filesystem::exists(path));
        }
    }

    void fullDisk_isAnErrorAtEveryStep() {
        const std::string data(100, 'x');
        for (int step = 0;; ++step) {
            const QTemporaryDir temporary;
            test::FaultyFileSystem files;
            files.failChangesFrom(step, ENOSPC);
            const auto result = capture::writeSafetensors(files, (temporary.path() + "/t").toStdString(),
                                                          {{"a", "U8", {100}, bytesOf(data)}}, {});
            if (result) {
                QVERIFY(step > 3);
                break;
            }
            QVERIFY(result.error().code == ErrorCode::StorageFull);
        }
    }

    void dtypeNames_followSafetensors() {
        QCOMPARE(capture::safetensorsDtype("bfloat16"), std::string("BF16"));
        QCOMPARE(capture::safetensorsDtype("float8_e4m3fn"), std::string("F8_E4M3"));
        QCOMPARE(capture::safetensorsDtype("complex64"), std::string("U8"));
    }
};

ML_TEST_MAIN(SafetensorsTest)
#include "tst_Safetensors.moc"
