// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/VersionDocument.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace modulelens;
using nlohmann::json;

namespace {

json tensor(char digest) {
    return {{"$t", "tensor"}, {"dtype", "float32"}, {"shape", {1}}, {"ref", std::string(64, digest)}};
}

json call(const json& args) {
    return {{"training", false},
            {"args", args},
            {"kwargs", {{"b/c", tensor('b')}, {"a~", tensor('c')}}},
            {"output", nullptr},
            {"exception", {{"type", "builtins:ValueError"}, {"message", "no"}}}};
}

base::Result<capture::VersionDocument> parse(const json& oneCall) {
    const json version = {{"schema", "modulelens.version"},
                          {"schema_version", 1},
                          {"model", "m"},
                          {"module", ""},
                          {"aliases", json::array()},
                          {"class", "p:C"},
                          {"collection", capture::collectionId("m", "")},
                          {"calls", {oneCall}},
                          {"state",
                           {{"node", std::string(64, 'd')},
                            {"parameter_bytes", 0},
                            {"parameter_count", 0},
                            {"programs", json::array()},
                            {"no_program", {{"reason", "data-dependent"}, {"source", "model.py:3"}}},
                            {"tensors",
                             {{"w", {{"$t", "gap"}, {"reason", "a nested tensor"}, {"type", "t"}, {"repr", ""}}},
                              {"q",
                               {{"$t", "quantized"},
                                {"dtype", "qint8"},
                                {"ints", {{"dtype", "int8"}, {"shape", {1}}, {"ref", std::string(64, 'e')}}}}}}}}}};
    return capture::parseVersionDocument(version.dump(), std::string(64, '0'));
}

} // namespace

class VersionDocumentTest : public QObject {
    Q_OBJECT

private slots:
    void tensorsOfACall_areFoundByPointer() {
        const auto version = parse(call({tensor('a'), {{"$t", "tuple"}, {"v", {1, tensor('f')}}}}));
        QVERIFY2(version, version ? "" : version.error().text().c_str());
        std::vector<std::string> pointers;
        for (const capture::LocatedTensor& located : version->calls[0].inputs) {
            pointers.push_back(located.pointer);
            // Every pointer leads to its tensor in the call's own JSON.
            QCOMPARE((*version->calls[0].json)[json::json_pointer(located.pointer)]["ref"].get<std::string>(),
                     located.tensor.digest);
        }
        QCOMPARE(pointers, (std::vector<std::string>{"/args/0", "/args/1/v/1", "/kwargs/a~0", "/kwargs/b~1c"}));
        QCOMPARE(version->calls[0].exceptionType, std::string("builtins:ValueError"));
    }

    void everyReference_isListedOnce() {
        const auto version =
            parse(call({tensor('a'),
                        tensor('a'),
                        {{"$t", "numpy"}, {"v", {{"dtype", "int64"}, {"shape", {1}}, {"ref", std::string(64, '9')}}}}}));
        QVERIFY(version);
        QCOMPARE(version->tensorDigests(),
                 (std::vector<std::string>{std::string(64, '9'), std::string(64, 'a'), std::string(64, 'b'),
                                           std::string(64, 'c'), std::string(64, 'e')}));
    }

    void argumentsAfterACall_keepTheirTensors() {
        json grown = call(json::array({json::array({tensor('a')})}));
        grown["inputs_after"] = {{"/args/0", json::array({tensor('a'), tensor('7')})}};
        const auto version = parse(grown);
        QVERIFY2(version, version ? "" : version.error().text().c_str());
        const std::vector<std::string> digests = version->tensorDigests();
        QCOMPARE(std::count(digests.begin(), digests.end(), std::string(64, '7')), 1);
        QCOMPARE(version->calls[0].inputs.size(), 3U);
    }

    void stateThatIsNoPlainTensor_isAGapWithItsKind() {
        const auto version = parse(call(json::array()));
        QVERIFY(version);
        QCOMPARE(version->stateTensors.at("w").tensor.gap, std::string("a nested tensor"));
        QCOMPARE(version->stateTensors.at("q").tensor.gap, std::string("quantized tensor"));
        QCOMPARE(version->noProgramReason, std::string("data-dependent"));
        QCOMPARE(version->noProgramSource, std::string("model.py:3"));
    }

    void autocast_isReadByDevice() {
        json one = call(json::array());
        one["autocast"] = {{{"device", "cuda"}, {"dtype", "float16"}, {"cache", false}}};
        const auto version = parse(one);
        QVERIFY(version);
        QCOMPARE(version->calls[0].autocast.size(), std::size_t{1});
        QVERIFY(version->calls[0].autocast[0].dtype == capture::ScalarType::Float16);
        one["autocast"] = {{{"device", "cuda"}, {"dtype", "x"}}};
        QVERIFY(!parse(one));
    }

    void plainDictLikeATensor_isNoTensor() {
        const auto version = parse(call({{{"dtype", "float32"}, {"shape", {1}}, {"ref", "anything"}}}));
        QVERIFY(version);
        QCOMPARE(version->calls[0].inputs.size(), std::size_t{2});
    }

    void collections_followTheFormat() {
        // hashlib.md5(b"model\0layer.0").hexdigest()
        QCOMPARE(capture::collectionId("model", "layer.0"), std::string("9608dc2836897b9c4af316879aec010b"));
        QCOMPARE(capture::runCollectionId("plain-1.0_x"), std::string("registered_model_plain-1.0_x"));
        // "registered_model_" + re.sub(...)[:...] + "-" + sha256("org/model")[:8]
        QCOMPARE(capture::runCollectionId("org/model"), std::string("registered_model_org-model-c87c0c64"));
        QCOMPARE(capture::runCollectionId("gr\xc3\xb6\xc3\x9f"
                                          "e")
                     .substr(0, 23),
                 std::string("registered_model_gr--e-"));
        QCOMPARE(capture::runCollectionId(std::string(200, 'x')).size(), std::size_t{128});
    }
};

ML_TEST_MAIN(VersionDocumentTest)
#include "tst_VersionDocument.moc"
