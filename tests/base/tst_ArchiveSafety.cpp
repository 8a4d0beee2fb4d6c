// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ArchiveSafety.h"
#include "tests/support/MemoryFile.h"
#include "tests/support/TestMain.h"
#include "tests/support/ZipWriter.h"

#include <QTest>

using namespace modulelens;

namespace {

base::Result<void> check(const std::string& name, const std::string& content) {
    const auto zip = base::ZipReader::open(test::memoryFile(test::makeZip({{name, content}})), "p.pt2");
    return zip ? base::checkArchiveHoldsNoPickle(*zip, "p.pt2") : base::Result<void>(zip.error());
}

} // namespace

class ArchiveSafetyTest : public QObject {
    Q_OBJECT

private slots:
    void harmlessMembers_pass() {
        QVERIFY(check("p/data/sample_inputs/model.pt", ""));
        QVERIFY(check("p/data/weights/weight_0", "\x80\x02"));
        QVERIFY(check("p/data/weights/model_weights_config.json",
                      R"({"a": {"use_pickle" : false}, "use_pickle.weight": {"x": true}})"));
        QVERIFY(check("p/models/model.json", R"({"text": "\"use_pickle\": true"})"));
    }

    void pickles_areUnsupported() {
        QVERIFY(check("p/data/sample_inputs/model.pt", "x").error().code == base::ErrorCode::Unsupported);
        QVERIFY(check("p/x.pkl", "x").error().code == base::ErrorCode::Unsupported);
        for (const char* text :
             {R"({"use_pickle": true})", R"({"use_pickle":1})", R"({"use_pickle": null})", R"({"use_pickl\u0065": true})",
              "{\"use_pickle\"\n:\t\"false\"}", R"({"use_pickle":)", R"({"a": "\\", "use_pickle": true})"}) {
            QVERIFY2(!check("p/data/weights/config.json", text), text);
        }
    }

    void depth_countsOnlyOutsideStrings() {
        QVERIFY(base::checkJsonDepth("[[[]]]", 3, "x"));
        QVERIFY(!base::checkJsonDepth("[[[[]]]]", 3, "x"));
        QVERIFY(base::checkJsonDepth("[\"[[[[\", \"\\\"[[[[\"]", 1, "x"));
        QVERIFY(base::checkJsonDepth("\"\\", 1, "x"));
        QVERIFY(base::checkJsonDepth("]]]]", 1, "x"));
    }

    void names_stayInsideTheirFolder() {
        QVERIFY(base::checkRelativeName("a/b c/ü.json", "x"));
        QVERIFY(base::checkRelativeName("..a/b..", "x"));
        for (const char* name : {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "a/./b", "a\\b", "a\tb"}) {
            QVERIFY2(!base::checkRelativeName(name, "x"), name);
        }
    }
};

ML_TEST_MAIN(ArchiveSafetyTest)
#include "tst_ArchiveSafety.moc"
