// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/JsonTree.h"

#include "tests/support/TestMain.h"

#include <QTest>

#include <nlohmann/json.hpp>

#include <random>

using namespace modulelens;
using graph::JsonNode;
using graph::JsonTree;
using nlohmann::json;

namespace {

constexpr int kDepth = 20;

base::Result<JsonTree> parse(const std::string& text) {
    return JsonTree::parse(text, kDepth, "test.json");
}

/// The tree as the other library has it. Numbers are read by that library too.
json converted(const JsonNode& node) {
    if (node.isText()) {
        return node.text();
    }
    if (node.isArray()) {
        json list = json::array();
        for (const JsonNode& element : node) {
            list.push_back(converted(element));
        }
        return list;
    }
    if (!node.isObject()) {
        return json::parse(node.source());
    }
    json object = json::object();
    for (JsonNode::Iterator at = node.begin(); at != node.end(); ++at) {
        const std::string key = at->text();
        ++at;
        object[key] = converted(*at);
    }
    return object;
}

const char* const kDocument =
    "{\"a\": [1, -2.5e3, true, false, null, {}, []], \"b\\n\\\"\": "
    "\"x\\\\y\\u00e9\\ud83d\\ude00\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\","
    " \"c\": {\"d\": {\"e\": [[0]]}}, \"\": -0}";

}  // namespace

class JsonTreeTest : public QObject {
    Q_OBJECT

private slots:
    void document_isTheSameAsAnotherLibraryReadsIt() {
        const std::string text = kDocument;
        const auto tree = parse(text);
        QVERIFY(tree.hasValue());
        QVERIFY(converted(tree.value().root()) == json::parse(text));
    }

    void find_answersTheLastOfEqualKeys() {
        const std::string text = "{\"a\": 1, \"b\": {\"a\": 2}, \"a\": 3}";
        const auto tree = parse(text);
        QVERIFY(tree.hasValue());
        const JsonNode& root = tree.value().root();
        QCOMPARE(root.size(), std::size_t{3});
        QCOMPARE(root.find("a")->text(), std::string("3"));
        QCOMPARE(root.find("b")->find("a")->text(), std::string("2"));
        QVERIFY(root.find("c") == nullptr);
        QVERIFY(root.find("a")->find("a") == nullptr);
    }

    void keyWithEscapes_isFound() {
        const std::string text = "{\"\\u0061b\": 1}";
        const auto tree = parse(text);
        QVERIFY(tree.hasValue());
        QVERIFY(tree.value().root().find("ab") != nullptr);
    }

    void invalidText_isCorrupt_data() {
        QTest::addColumn<QByteArray>("text");
        for (const char* text : {"",
                                 " ",
                                 "{",
                                 "[1,]",
                                 "{\"a\":1,}",
                                 "{1:2}",
                                 "[1 2]",
                                 "nul",
                                 "truex",
                                 "01",
                                 "1.",
                                 ".5",
                                 "-",
                                 "1e",
                                 "+1",
                                 "\"",
                                 "\"\\x\"",
                                 "\"\\u12g4\"",
                                 "\"\\ud800\"",
                                 "\"\\udc00\"",
                                 "\"\\ud800\\u0041\"",
                                 "\"\n\"",
                                 "\"\x80\"",
                                 "\"\xc0\xaf\"",
                                 "\"\xed\xa0\x80\"",
                                 "\"\xf4\x90\x80\x80\"",
                                 "\"\xe2\x82\"",
                                 "1 1",
                                 "[]]"}) {
            QTest::newRow(text) << QByteArray(text);
        }
    }
    void invalidText_isCorrupt() {
        QFETCH(QByteArray, text);
        const auto tree = parse(text.toStdString());
        QVERIFY(!tree);
        QCOMPARE(tree.error().code, base::ErrorCode::Corrupt);
        QVERIFY2(tree.error().message.find("no valid JSON at byte") != std::string::npos, tree.error().message.c_str());
    }

    void depth_isLimited() {
        const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
        QVERIFY(parse(nested(kDepth)).hasValue());
        const auto tooDeep = parse(nested(kDepth + 1));
        QVERIFY(!tooDeep);
        QVERIFY(tooDeep.error().message.find("deeper than 20") != std::string::npos);
    }

    void damagedText_isJudgedAsAnotherLibraryDoes() {
        const std::string text = kDocument;
        const std::string pieces = "{}[]\",:\\u0123456789abcdefE+-.\x80\xe2\x82\xac\ntrulsn ";
        std::mt19937 random(7);
        for (int round = 0; round < 20'000; ++round) {
            std::string damaged = text;
            for (unsigned i = 0; i <= random() % 3; ++i) {
                damaged[random() % damaged.size()] = pieces[random() % pieces.size()];
            }
            const auto tree = parse(damaged);
            // A number too large for a double is valid JSON; the other library refuses it.
            const bool isValid = json::accept(damaged);
            if (tree.hasValue() != isValid && !(tree.hasValue() && damaged.find("5e") != std::string::npos)) {
                QFAIL(damaged.c_str());
            }
            if (isValid) {
                QVERIFY(converted(tree.value().root()) == json::parse(damaged));
            }
        }
    }
};

ML_TEST_MAIN(JsonTreeTest)
#include "tst_JsonTree.moc"
