// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/UntakenInputs.h"

#include "tests/support/TestMain.h"

#include <QTest>

#include <nlohmann/json.hpp>

using namespace modulelens;
using nlohmann::json;

namespace {

std::string found(const char* call, const std::vector<std::string>& pointers) {
    return engine::untakenInput(json::parse(call), pointers).value_or("");
}

}  // namespace

class UntakenInputsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyValueTaken_isFine() {
        QCOMPARE(found(R"({"args": [{"$t": "tensor"}, 3], "kwargs": {"a": {"$t": "float", "v": "nan"}, "b": null}})",
                       {"/args/0", "/args/1", "/kwargs/a", "/kwargs/b"}),
                 std::string());
        // Nothing to take is nothing untaken.
        QCOMPARE(found(R"({"args": [[], {}, {"$t": "tuple", "v": []}], "kwargs": {"options": {}}})", {}), std::string());
        QCOMPARE(found("{}", {}), std::string());
    }

    void misspeltKeyword_isNamedWithThoseThereAre() {
        QCOMPARE(found(R"({"args": [], "kwargs": {"sclae": 2.0, "shift": 1}})", {"/kwargs/scale", "/kwargs/shift"}),
                 std::string("the call has the keyword 'sclae', which the program does not take; it takes 'scale', 'shift'"));
        QCOMPARE(found(R"({"args": [], "kwargs": {"x": {"$t": "tensor"}}})", {"/args/0"}),
                 std::string("the call has the keyword 'x', which the program does not take; it takes none"));
    }

    void valueInsideAContainer_isNamedByItsPlace_data() {
        QTest::addColumn<QByteArray>("value");
        QTest::addColumn<QString>("place");
        QTest::newRow("list") << QByteArray(R"([1, 2])") << "/args/0/1";
        QTest::newRow("object") << QByteArray(R"({"0": 1, "a/b": 2})") << "/args/0/a~1b";
        QTest::newRow("tuple") << QByteArray(R"({"$t": "tuple", "v": [1, null]})") << "/args/0/v/1";
        QTest::newRow("dictionary") << QByteArray(R"({"$t": "dict", "v": [[7, 1], [8, "x"]]})") << "/args/0/v/1/1";
        QTest::newRow("data class") << QByteArray(R"({"$t": "dataclass", "cls": "m:C", "v": {"0": 1, "b": true}})")
                                    << "/args/0/v/b";
        QTest::newRow("named tuple") << QByteArray(R"({"$t": "namedtuple", "cls": "m:C", "v": [1, 2]})") << "/args/0/v/1";
    }
    void valueInsideAContainer_isNamedByItsPlace() {
        QFETCH(QByteArray, value);
        QFETCH(QString, place);
        const std::vector<std::string> taken{"/args/0/0", "/args/0/v/0", "/args/0/v/0/1"};
        QCOMPARE(found(R"({"args": [)" + value + R"(], "kwargs": {}})", taken),
                 "the call has an input at " + place.toStdString() + ", which the program does not take");
    }

    void objectsOfPython_areTakenAsTheyAre() {
        // A class that is a constant of the program has no input.
        for (const char* object :
             {R"({"$t": "dataclass", "cls": "m:C", "v": {"a": 1}})", R"({"$t": "pytree", "cls": "m:C", "v": [1]})",
              R"({"$t": "object", "cls": "m:C", "v": {"a": 1}})", R"({"$t": "gap", "type": "m.C", "reason": "r", "repr": "C"})",
              R"({"$t": 3, "v": 1})", R"({"$t": "dict", "v": [1, [2]]})", R"({"$t": "dict", "v": 4})"}) {
            QCOMPARE(found((R"({"args": [)" + std::string(object) + R"(], "kwargs": {}})").c_str(), {}), std::string());
        }
    }

private:
    static std::string found(const QByteArray& call, const std::vector<std::string>& pointers) {
        return ::found(call.constData(), pointers);
    }
    static std::string found(const char* call, const std::vector<std::string>& pointers) { return ::found(call, pointers); }
};

ML_TEST_MAIN(UntakenInputsTest)
#include "tst_UntakenInputs.moc"
