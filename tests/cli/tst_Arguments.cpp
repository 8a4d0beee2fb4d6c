// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Arguments.h"

#include <QTest>

#include "app/cli/Output.h"
#include "tests/support/TestMain.h"

using modulelens::base::ErrorCode;
using namespace modulelens::cli;

class ArgumentsTest : public QObject {
    Q_OBJECT

private slots:
    void words_areOptionsAndPositionals() {
        const auto arguments =
            Arguments::parse({"search", "class:Linear", "tag:a b", "--limit", "3", "--cursor=x=y", "--json"});
        QVERIFY(arguments.hasValue());
        QCOMPARE(std::string(arguments->verb()->name), std::string("search"));
        QCOMPARE(arguments->positionals(), (std::vector<std::string>{"class:Linear", "tag:a b"}));
        QCOMPARE(**arguments->integer("limit", 1), 3);
        QCOMPARE(arguments->text("cursor"), std::string("x=y"));
        QVERIFY(arguments->has("json"));
        QVERIFY(!arguments->has("sort"));
    }

    void commonOptions_mayStandBeforeTheVerb() {
        const auto arguments = Arguments::parse({"--json", "--registry", "/r", "show", "m::"});
        QVERIFY(arguments.hasValue());
        QCOMPARE(std::string(arguments->verb()->name), std::string("show"));
        QCOMPARE(arguments->text("registry"), std::string("/r"));
        QCOMPARE(arguments->positionals(), std::vector<std::string>{"m::"});
    }

    void queriesAndNames_mayBeginWithAMinus() {
        QCOMPARE(Arguments::parse({"search", "-tag:old"})->positionals(), std::vector<std::string>{"-tag:old"});
        QCOMPARE(Arguments::parse({"show", "--", "--model::x"})->positionals(), std::vector<std::string>{"--model::x"});
    }

    void remove_isDelete() { QCOMPARE(std::string(Arguments::parse({"remove", "m::"})->verb()->name), std::string("delete")); }

    void mistakes_areNamed_data() {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<QString>("message");
        QTest::addColumn<QString>("fix");
        QTest::newRow("verb") << QStringList{"serach"} << "serach" << "'search'";
        QTest::newRow("verb far off") << QStringList{"quux"} << "quux" << "--help";
        QTest::newRow("option") << QStringList{"search", "--limt", "3"} << "--limt" << "'--limit'";
        QTest::newRow("option of another verb") << QStringList{"search", "--device", "cpu"} << "--device" << "";
        QTest::newRow("prefix") << QStringList{"validate", "--reg", "x"} << "--reg" << "'--registry'";
        QTest::newRow("short option") << QStringList{"show", "-x", "m::"} << "-x" << "";
        QTest::newRow("value missing") << QStringList{"search", "--limit"} << "--limit" << "--limit N";
        QTest::newRow("value for a flag") << QStringList{"search", "--json=1"} << "--json" << "";
        QTest::newRow("too few") << QStringList{"show"} << "show" << "";
        QTest::newRow("too many") << QStringList{"show", "a::", "b::"} << "show" << "";
    }
    void mistakes_areNamed() {
        QFETCH(const QStringList, words);
        QFETCH(const QString, message);
        QFETCH(const QString, fix);
        std::vector<std::string> converted;
        for (const QString& word : words) {
            converted.push_back(word.toStdString());
        }
        const auto arguments = Arguments::parse(converted);
        QVERIFY(!arguments.hasValue());
        QCOMPARE(arguments.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(QString::fromStdString(arguments.error().message).contains(message), arguments.error().message.c_str());
        QVERIFY2(QString::fromStdString(arguments.error().fix).contains(fix), arguments.error().fix.c_str());
    }

    void numbers_areChecked() {
        for (const char* text : {"0", "-1", "1001", "3.5", "x", "", "99999999999999999999"}) {
            const auto arguments = Arguments::parse({"search", std::string("--limit=") + text});
            QVERIFY2(!arguments->integer("limit", 1, 1000).hasValue(), text);
        }
        QVERIFY(!Arguments::parse({"search"})->integer("limit", 1)->has_value());
    }

    void timeLimit_isInSeconds() {
        QCOMPARE((*Arguments::parse({"search", "--timeout", "1.5"})->timeout())->count(), 1500);
        QCOMPARE((*Arguments::parse({"search", "--timeout", "0.0001"})->timeout())->count(), 1);
        for (const char* text : {"0", "-1", "nan", "inf", "1e10", "5s", ""}) {
            QVERIFY2(!Arguments::parse({"search", std::string("--timeout=") + text})->timeout().hasValue(), text);
        }
    }

    void help_listsVerbsAndExitCodes() {
        const std::string all = helpText(nullptr);
        for (const VerbSpec& verb : verbs()) {
            QVERIFY(all.find(std::string(verb.name)) != std::string::npos);
            QVERIFY(helpText(&verb).find("--registry ") != std::string::npos);
        }
        QVERIFY(all.find("130 cancelled") != std::string::npos);
    }

    void table_alignsByCharacters() {
        QCOMPARE(formatTable({{"A", "N"}, {"\u00fcn\u00ef", "5"}, {"x", "10"}}, {1}),
                 std::string("A     N\n\u00fcn\u00ef   5\nx    10\n"));
    }
};

ML_TEST_MAIN(ArgumentsTest)
#include "tst_Arguments.moc"
