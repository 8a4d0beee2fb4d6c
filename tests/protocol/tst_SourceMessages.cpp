// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/SourceMessages.h"

#include "tests/support/TestMain.h"

#include <QTest>

using nlohmann::json;
using namespace modulelens::protocol;

namespace {

/// As the documentation shows them, all keys present.
constexpr const char* kCode =
    R"({"source":{"root":"r","module":"a.b","nodes":{"r":{}},"values":[{"args":[]}],"sources":{"s":"class A"},
        "captured_device":"cuda:0","rungs":["init"],"edited":{"file":"/f","sha256":"d","class":"A"}}})";
constexpr const char* kCodeResult = R"({"sha256":"d","names":["p.m:A"],"packages":["p"],"sentence":"p.m:A"})";
constexpr const char* kLoadResult =
    R"({"handle":3,"load_ns":4,"operator_count":0,"warnings":["w"],"how":"structure","reasons":["structure: r"],
        "differences":[{"class":"p.m:A","difference":"-a\n+b"}]})";

}  // namespace

class SourceMessages : public QObject {
    Q_OBJECT

private slots:
    void documentedForms_roundTrip() {
        const auto code = parseCodeParams(json::parse(kCode));
        QVERIFY(code);
        QCOMPARE(toJson(*code).dump(), json::parse(kCode).dump());
        const auto result = parseCodeResult(json::parse(kCodeResult));
        QVERIFY(result);
        QCOMPARE(toJson(*result).dump(), json::parse(kCodeResult).dump());
        const auto load = parseSourceLoadResult(json::parse(kLoadResult));
        QVERIFY(load);
        QCOMPARE(toJson(*load).dump(), json::parse(kLoadResult).dump());
    }

    void codeThatNeedsNoConsent_hasNoDigest() {
        const auto result = parseCodeResult({{"sha256", nullptr}, {"names", json::array()}, {"packages", json::array()}});
        QVERIFY(result && result->sha256.empty());
    }

    void load_namesAProgramOnlyWhenThereIsOne() {
        SourceLoadParams params;
        params.source = parseCodeParams(json::parse(kCode))->source;
        json written = toJson(params);
        QVERIFY(!written.contains("program"));
        QCOMPARE(written["source"].dump(), json::parse(kCode)["source"].dump());
        params.load.program = {"d", "/program.pt2", 64, 128};
        written = toJson(params);
        QCOMPARE(written["program"]["offset"].get<int>(), 64);
    }

    void mistypedKey_isNamed() {
        const json document = json::parse(kLoadResult);
        for (const auto& [key, value] : document.items()) {
            json damaged = document;
            damaged[key] = value.is_string() ? json(1) : json("wrong");
            const auto read = parseSourceLoadResult(damaged);
            QVERIFY(!read);
            QVERIFY2(read.error().message.find("'" + key + "'") != std::string::npos, read.error().message.c_str());
        }
    }
};

ML_TEST_MAIN(SourceMessages)
#include "tst_SourceMessages.moc"
