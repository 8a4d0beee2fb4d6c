// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/Safetensors.h"
#include "backend/profile/ProfileFile.h"
#include "tests/support/FoldedProfile.h"
#include "tests/support/TestMain.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace modulelens;
using namespace modulelens::profile;

namespace {

std::string readAll(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

void writeAll(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::shared_ptr<const Profile> sample() {
    ProfileBuilder builder = test::foldedBuilder("Model;layers;0:Block;aten::bmm 5/9\nModel;head 23/1\n");
    builder.markUnknownWhereUnset("flops", Direction::Forward);
    builder.addSelf(3, "flops", Direction::Forward, 1000);
    builder.setSamples("latency", Direction::Forward, {28, 29, 27});
    builder.setCoverage({{"aten::bmm"}, {"aten::view"}, {"custom::op"}});
    builder.setFact("device", "cpu");
    builder.setFact("unknown.activation", "the run kept nothing for backward");
    return builder.build().value();
}

} // namespace

class TestProfileFile : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::filesystem::path path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)).toStdString(); }

private slots:
    void written_isReadBackEqual() {
        const auto written = sample();
        QVERIFY(writeProfile(base::realFileSystem(), path("a.safetensors"), *written).hasValue());
        const auto result = readProfile(base::realFileSystem(), path("a.safetensors"));
        QVERIFY2(result.hasValue(), result.hasValue() ? "" : result.error().message.c_str());
        const Profile& read = *result.value();
        QCOMPARE(read.scopeCount(), written->scopeCount());
        for (ScopeId scope = 0; scope < read.scopeCount(); ++scope) {
            QCOMPARE(read.parent(scope), written->parent(scope));
            QCOMPARE(read.kind(scope), written->kind(scope));
            QCOMPARE(read.name(scope), written->name(scope));
            QCOMPARE(read.path(scope), written->path(scope));
            QCOMPARE(read.className(scope), written->className(scope));
        }
        QCOMPARE(read.columns().size(), written->columns().size());
        for (const Column& column : written->columns()) {
            const Column* again = read.column(column.metric, column.direction);
            QVERIFY(again != nullptr);
            QCOMPARE(again->self, column.self);
            QCOMPARE(again->total, column.total);
            QCOMPARE(again->samples, column.samples);
        }
        QCOMPARE(read.facts(), written->facts());
        QCOMPARE(read.coverage().unknown, written->coverage().unknown);
    }

    void oneScopeWithoutColumns_roundTrips() {
        ProfileBuilder builder;
        [[maybe_unused]] const int root = builder.addScope(-1, ScopeKind::Module, "", "", "", 0);
        QVERIFY(writeProfile(base::realFileSystem(), path("one.safetensors"), *builder.build().value()).hasValue());
        const auto read = readProfile(base::realFileSystem(), path("one.safetensors"));
        QVERIFY(read.hasValue());
        QCOMPARE(read.value()->scopeCount(), 1);
    }

    void existingFile_isNotReplaced() {
        writeAll(path("there.safetensors"), "x");
        const auto written = writeProfile(base::realFileSystem(), path("there.safetensors"), *sample());
        QVERIFY(!written.hasValue());
        QCOMPARE(written.error().code, base::ErrorCode::AlreadyExists);
        QCOMPARE(readAll(path("there.safetensors")), std::string("x"));
    }

    void missingFile_isNotFound() {
        QCOMPARE(readProfile(base::realFileSystem(), path("absent")).error().code, base::ErrorCode::NotFound);
    }

    void newerSchema_isUnsupported() {
        QVERIFY(writeProfile(base::realFileSystem(), path("new.safetensors"), *sample()).hasValue());
        std::string content = readAll(path("new.safetensors"));
        const std::string key = "\"schema_version\":\"1\"";
        const std::size_t at = content.find(key);
        QVERIFY(at != std::string::npos);
        content[at + key.size() - 2] = '2';
        writeAll(path("new.safetensors"), content);
        QCOMPARE(readProfile(base::realFileSystem(), path("new.safetensors")).error().code, base::ErrorCode::Unsupported);
    }

    void otherSafetensorsFile_isCorrupt() {
        const std::vector<std::int32_t> values = {1, 2};
        QVERIFY(capture::writeSafetensors(base::realFileSystem(), path("other.safetensors"),
                                          {{"x", "I32", {2}, std::as_bytes(std::span(values))}}, {})
                    .hasValue());
        QCOMPARE(readProfile(base::realFileSystem(), path("other.safetensors")).error().code, base::ErrorCode::Corrupt);
    }

    void cutAtEveryLength_isCorrupt() {
        QVERIFY(writeProfile(base::realFileSystem(), path("cut.safetensors"), *sample()).hasValue());
        const std::string content = readAll(path("cut.safetensors"));
        for (std::size_t length = 0; length < content.size(); length += 13) {
            writeAll(path("cut.safetensors"), content.substr(0, length));
            const auto read = readProfile(base::realFileSystem(), path("cut.safetensors"));
            QVERIFY(!read.hasValue());
            QCOMPARE(read.error().code, base::ErrorCode::Corrupt);
        }
    }

    void anyEditedByte_neverCrashes() {
        QVERIFY(writeProfile(base::realFileSystem(), path("edit.safetensors"), *sample()).hasValue());
        const std::string content = readAll(path("edit.safetensors"));
        for (std::size_t at = 0; at < content.size(); at += 3) {
            std::string edited = content;
            edited[at] = static_cast<char>(edited[at] ^ 0x81);
            writeAll(path("edit.safetensors"), edited);
            const auto read = readProfile(base::realFileSystem(), path("edit.safetensors"));
            QVERIFY(read.hasValue() || read.error().code == base::ErrorCode::Corrupt ||
                    read.error().code == base::ErrorCode::Unsupported);
        }
    }
};

ML_TEST_MAIN(TestProfileFile)
#include "tst_ProfileFile.moc"
