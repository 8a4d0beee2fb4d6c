// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/TreeSpec.h"

#include <QTest>
#include <nlohmann/json.hpp>

#include "tests/support/TestMain.h"

using namespace modulelens::graph;
using modulelens::base::ErrorCode;
using nlohmann::json;

namespace {

const json kLeaf = {{"type", nullptr}, {"context", nullptr}, {"children_spec", json::array()}};

json node(const char* type, const json& context, const json& children) {
    return {{"type", type}, {"context", context.dump()}, {"children_spec", children}};
}

std::string spec(const json& tree) {
    return json::array({1, tree}).dump();
}

} // namespace

class TreeSpecTest : public QObject {
    Q_OBJECT

private slots:
    void arguments_haveTheirPlacesInTheCall() {
        const json positional =
            node("builtins.tuple", nullptr, json::array({kLeaf, node("builtins.list", nullptr, json::array({kLeaf, kLeaf}))}));
        const json named = node("builtins.dict", json::array({"mask", "a/b"}),
                                json::array({kLeaf, node("builtins.tuple", nullptr, json::array({kLeaf}))}));
        json call;
        const auto pointers = readArgumentTree(spec(node("builtins.tuple", nullptr, json::array({positional, named}))), call);
        QVERIFY(pointers.hasValue());
        QCOMPARE(*pointers, (LeafPointers{"/args/0", "/args/1/0", "/args/1/1", "/kwargs/mask", "/kwargs/a~1b/v/0"}));
        for (const std::string& pointer : *pointers) {
            QVERIFY(call.at(json::json_pointer(pointer)).is_null());
        }
    }

    void dictionaries_areObjectsOnlyWhenTheirKeysAreText() {
        json output;
        const auto plain = readOutputTree(spec(node("builtins.dict", json::array({"x"}), json::array({kLeaf}))), output);
        QCOMPARE(*plain, (LeafPointers{"/output/x"}));
        const auto numbered =
            readOutputTree(spec(node("builtins.dict", json::array({1, 2}), json::array({kLeaf, kLeaf}))), output);
        QCOMPARE(*numbered, (LeafPointers{"/output/v/0/1", "/output/v/1/1"}));
        QCOMPARE(output["$t"].get<std::string>(), std::string("dict"));
        const auto other =
            readOutputTree(spec(node("transformers.ModelOutput", json::array({"logits"}), json::array({kLeaf}))), output);
        QCOMPARE(*other, (LeafPointers{"/output/v/0"}));
        QCOMPARE(output["$t"].get<std::string>(), std::string("pytree"));
        const auto single = readOutputTree(spec(kLeaf), output);
        QCOMPARE(*single, (LeafPointers{"/output"}));
    }

    void malformedSpecs_areRefused() {
        const json tooFewKeys = node("builtins.dict", json::array({"x"}), json::array({kLeaf, kLeaf}));
        json deep = kLeaf;
        for (int i = 0; i < 150; ++i) {
            deep = node("builtins.list", nullptr, json::array({deep}));
        }
        for (const std::string& text :
             {std::string("["), std::string("[]"), std::string("{}"), spec(tooFewKeys), spec(1), spec(deep)}) {
            json value;
            const auto read = readOutputTree(text, value);
            QVERIFY2(!read.hasValue() && read.error().code == ErrorCode::Corrupt, text.substr(0, 60).c_str());
            QVERIFY(!readArgumentTree(text, value).hasValue());
        }
        json value;
        QVERIFY(readOutputTree("[2, null]", value).error().code == ErrorCode::Unsupported);
        QVERIFY(readArgumentTree(spec(kLeaf), value).error().code == ErrorCode::Corrupt);
    }
};

ML_TEST_MAIN(TreeSpecTest)
#include "tst_TreeSpec.moc"
