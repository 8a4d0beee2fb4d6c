// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/SizeExpression.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <random>

using namespace modulelens::graph;

class SizeExpressionTest : public QObject {
    Q_OBJECT

    const std::map<std::string, std::int64_t> m_symbols{{"s77", 6}, {"s0", 5}, {"u1", -3}};

private slots:
    void expression_hasTheValueOfSympy_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<qlonglong>("value");
        QTest::newRow("symbol") << QByteArray("s77") << 6LL;
        QTest::newRow("number") << QByteArray("42") << 42LL;
        QTest::newRow("constructor") << QByteArray("Mul(Integer(2), Symbol('s77', positive=True, integer=True))") << 12LL;
        QTest::newRow("nested") << QByteArray("Add(Integer(-1), FloorDiv(Symbol('s77', positive=True), Integer(4)))") << 0LL;
        QTest::newRow("precedence") << QByteArray("1 + 2*s77 - 3") << 10LL;
        QTest::newRow("power first") << QByteArray("-2**2") << -4LL;
        QTest::newRow("power to the right") << QByteArray("2**3**2") << 512LL;
        QTest::newRow("floor of a negative") << QByteArray("u1//2") << -2LL;
        QTest::newRow("Python remainder") << QByteArray("u1 % 5") << 2LL;
        QTest::newRow("Mod") << QByteArray("Mod(s77, 4)") << 2LL;
        QTest::newRow("Max") << QByteArray("Max(1, s0, s77)") << 6LL;
        QTest::newRow("Min") << QByteArray("Min(s0, s77)") << 5LL;
        QTest::newRow("parentheses") << QByteArray("(s0 + 1)*(s77 - 1)") << 30LL;
        QTest::newRow("half and back") << QByteArray("s0/2*2") << 5LL;
        QTest::newRow("floor") << QByteArray("floor(s0/2)") << 2LL;
        QTest::newRow("ceiling") << QByteArray("ceiling(s0/2)") << 3LL;
        QTest::newRow("ceiling in place") << QByteArray("CeilToInt(IntTrueDiv(s0, 2))") << 3LL;
        QTest::newRow("Rational") << QByteArray("Mul(Rational(1, 2), Symbol('s77', integer=True))") << 3LL;
        QTest::newRow("inverse power") << QByteArray("Mul(Pow(Integer(2), Integer(-1)), Symbol('s77'))") << 3LL;
        QTest::newRow("modular indexing") << QByteArray("ModularIndexing(s77, 2, 2)") << 1LL;
        QTest::newRow("truncation") << QByteArray("TruncToInt(u1/2)") << -1LL;
    }
    void expression_hasTheValueOfSympy() {
        QFETCH(QByteArray, text);
        QFETCH(qlonglong, value);
        const auto result = evaluateSize(text.toStdString(), m_symbols);
        QVERIFY(result.has_value());
        QCOMPARE(*result, value);
    }

    void whatCannotBeKnown_hasNoValue() {
        for (const char* text : {"",
                                 "s99",
                                 "s0/2",
                                 "1/0",
                                 "s0//0",
                                 "Mod(1, 0)",
                                 "2**63",
                                 "9223372036854775807 + 1",
                                 "Unknown(1)",
                                 "1 +",
                                 "(1",
                                 "1)",
                                 "Max()",
                                 "Symbol(s0)",
                                 "1.5",
                                 "s0 s77",
                                 "Integer(1, 2, 3)",
                                 "99999999999999999999",
                                 "Pow(2, s0/2)",
                                 "2**-1",
                                 "Symbol('",
                                 "Symbol('s0'",
                                 "-9223372036854775807 - 1"}) {
            QVERIFY2(!evaluateSize(text, m_symbols).has_value(), text);
        }
    }

    void deepNesting_hasNoValueAndDoesNotOverflowTheStack() {
        std::string deep(30000, '(');
        deep.push_back('1');
        deep.append(30000, ')');
        QVERIFY(!evaluateSize(deep, {}).has_value());
        std::string signs(60000, '-');
        signs.push_back('1');
        QVERIFY(!evaluateSize(signs, {}).has_value());
        QVERIFY(!evaluateSize(std::string(1 << 20, '1'), {}).has_value());
    }

    void soleSymbol_isFoundInBothForms() {
        QCOMPARE(soleSymbol("Symbol('s77', positive=True, integer=True)").value(), std::string("s77"));
        QCOMPARE(soleSymbol("s0").value(), std::string("s0"));
        QVERIFY(!soleSymbol("2*s0"));
        QVERIFY(!soleSymbol("Mul(Integer(2), Symbol('s77'))"));
        QVERIFY(!soleSymbol(""));
    }

    void mention_needsTheWholeWord() {
        QVERIFY(mentionsSymbol("Mul(Integer(2), Symbol('s7'))", "s7"));
        QVERIFY(!mentionsSymbol("Symbol('s77')", "s7"));
        QVERIFY(mentionsSymbol("s77 + s7", "s7"));
    }

    void anyText_neverCrashes() {
        std::mt19937 random(7);
        const std::string alphabet = "()s07+-*/%,'SymbolMaxFloorDiv 19";
        for (int round = 0; round < 20000; ++round) {
            std::string text;
            const std::size_t size = random() % 40;
            for (std::size_t i = 0; i < size; ++i) {
                text.push_back(alphabet[random() % alphabet.size()]);
            }
            (void)evaluateSize(text, m_symbols);
            (void)soleSymbol(text);
        }
    }
};

ML_TEST_MAIN(SizeExpressionTest)
#include "tst_SizeExpression.moc"
