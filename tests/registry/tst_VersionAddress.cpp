// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/NameFolding.h"
#include "backend/registry/Timestamp.h"
#include "backend/registry/VersionAddress.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;
using namespace modulelens::registry;

class VersionAddressTest : public QObject {
    Q_OBJECT

private slots:
    void parse_data();
    void parse();
    void malformed_pointsAtTheCharacter_data();
    void malformed_pointsAtTheCharacter();
    void format_roundTrips_data();
    void format_roundTrips();
    void deepLink_escapesTheAddress();
    void ids_andReservedAliases();
    void foldCase_coversLettersOutsideAscii();
    void sortKey_countsNumbers();
    void nearest_findsMisspellings();
    void times_coverWhatIsWritten_data();
    void times_coverWhatIsWritten();
};

void VersionAddressTest::parse_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("module");
    QTest::addColumn<int>("number");
    QTest::addColumn<QString>("alias");
    QTest::newRow("plain") << "bert::encoder.0" << "bert" << "encoder.0" << -1 << "latest";
    QTest::newRow("top module") << "bert::" << "bert" << "" << -1 << "latest";
    QTest::newRow("number") << "bert::a@v12" << "bert" << "a" << 12 << "";
    QTest::newRow("v0 of the top module") << "bert::@v0" << "bert" << "" << 0 << "";
    QTest::newRow("alias") << "bert::a@best" << "bert" << "a" << -1 << "best";
    QTest::newRow("latest") << "bert::a@latest" << "bert" << "a" << -1 << "latest";
    QTest::newRow("an alias that begins with v") << "bert::a@v1.2" << "bert" << "a" << -1 << "v1.2";
    QTest::newRow("encoded") << "a%3A%3Ab%25%40::c%40v1%3a@v2" << "a::b%@" << "c@v1:" << 2 << "";
    QTest::newRow("single colon") << "a:b::c:d" << "a:b" << "c:d" << -1 << "latest";
    QTest::newRow("spaces and Unicode") << "mein Modell ä::Schicht 1" << "mein Modell ä" << "Schicht 1" << -1 << "latest";
}

void VersionAddressTest::parse() {
    QFETCH(QString, text);
    QFETCH(QString, model);
    QFETCH(QString, module);
    QFETCH(int, number);
    QFETCH(QString, alias);
    const auto address = parseVersionAddress(text.toStdString());
    QVERIFY2(address, address ? "" : address.error().text().c_str());
    QCOMPARE(QString::fromStdString(address->model), model);
    QCOMPARE(QString::fromStdString(address->module), module);
    QCOMPARE(address->number.value_or(-1), number);
    QCOMPARE(QString::fromStdString(address->alias), alias);
}

void VersionAddressTest::malformed_pointsAtTheCharacter_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("character");
    QTest::newRow("empty") << QByteArray("") << 1;
    QTest::newRow("no colons") << QByteArray("bert") << 5;
    QTest::newRow("one colon") << QByteArray("bert:a") << 7;
    QTest::newRow("two separators") << QByteArray("a::b::c") << 5;
    QTest::newRow("three colons") << QByteArray("a:::b") << 3;
    QTest::newRow("no model") << QByteArray("::a") << 1;
    QTest::newRow("two at signs") << QByteArray("a::b@c@d") << 7;
    QTest::newRow("at sign in the model") << QByteArray("a@b::c") << 2;
    QTest::newRow("nothing after the at sign") << QByteArray("a::b@") << 6;
    QTest::newRow("cut percent") << QByteArray("ä%2::b") << 2;
    QTest::newRow("percent without hex") << QByteArray("a::b%zz") << 5;
    QTest::newRow("NUL") << QByteArray("a::b\0c", 6) << 5;
    QTest::newRow("encoded NUL") << QByteArray("a::b%00") << 5;
    QTest::newRow("number too large") << QByteArray("a::b@v99999999999") << 6;
}

void VersionAddressTest::malformed_pointsAtTheCharacter() {
    QFETCH(QByteArray, text);
    QFETCH(int, character);
    const auto address = parseVersionAddress(text.toStdString());
    QVERIFY(!address);
    QCOMPARE(address.error().code, base::ErrorCode::InvalidArgument);
    const std::string expected = "at character " + std::to_string(character) + ":";
    QVERIFY2(address.error().message.find(expected) != std::string::npos, address.error().message.c_str());
}

void VersionAddressTest::format_roundTrips_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("module");
    QTest::newRow("plain") << "bert" << "encoder.layer.0";
    QTest::newRow("top") << "bert" << "";
    QTest::newRow("separators") << "a::b@c%d" << "x%3A::@v1";
    QTest::newRow("Unicode") << "模型 ü" << "слой.1";
}

void VersionAddressTest::format_roundTrips() {
    QFETCH(QString, model);
    QFETCH(QString, module);
    const std::string text = formatVersionAddress(model.toStdString(), module.toStdString(), 42);
    const auto address = parseVersionAddress(text);
    QVERIFY2(address, text.c_str());
    QCOMPARE(QString::fromStdString(address->model), model);
    QCOMPARE(QString::fromStdString(address->module), module);
    QCOMPARE(address->number.value(), 42);
}

void VersionAddressTest::deepLink_escapesTheAddress() {
    QCOMPARE(formatVersionAddress("a\nb", "\x1b\x7f\u00e9", 0), std::string("a%0Ab::%1B%7F\u00e9@v0"));
    QCOMPARE(formatDeepLink("a b::c&d@v1", "flame"), std::string("modulelens:open?version=a%20b%3A%3Ac%26d%40v1&view=flame"));
    QCOMPARE(formatDeepLink("a::b@v1", ""), std::string("modulelens:open?version=a%3A%3Ab%40v1"));
}

void VersionAddressTest::ids_andReservedAliases() {
    QVERIFY(isVersionId("mv0123456789abcdef"));
    QVERIFY(isVersionId("QXJ0aWZhY3Q6MQ=="));
    QVERIFY(!isVersionId(""));
    QVERIFY(!isVersionId("a b"));
    QVERIFY(!isVersionId("a::b"));
    QVERIFY(!isVersionId(std::string(129, 'a')));
    for (const char* reserved : {"latest", "v0", "v12"}) {
        QVERIFY2(isReservedAlias(reserved), reserved);
    }
    for (const char* free : {"v", "vx", "v1a", "V1", "Latest", "prod"}) {
        QVERIFY2(!isReservedAlias(free), free);
    }
}

void VersionAddressTest::foldCase_coversLettersOutsideAscii() {
    QCOMPARE(foldCase("ABCxyz0_"), std::string("abcxyz0_"));
    QCOMPARE(foldCase("ÄÖÜ ÉÑ Şİ"), std::string("äöü éñ şİ"));
    QCOMPARE(foldCase("ΑΒΓ ЯЖЁ"), std::string("αβγ яжё"));
    QCOMPARE(foldCase("模型×÷"), std::string("模型×÷"));
    QCOMPARE(foldCase("A\xFF\xC3"), std::string("a\xFF\xC3"));
    // Every letter up to U+017F folds as Qt folds it, but for the few whose lower case is outside this range.
    for (char16_t c = 0x20; c < 0x180; ++c) {
        if (c == 0x130 || c == 0x178) {
            continue;
        }
        const QString letter(QChar{c});
        QCOMPARE(QString::fromStdString(foldCase(letter.toStdString())), letter.toLower());
    }
}

void VersionAddressTest::sortKey_countsNumbers() {
    const std::vector<std::string> sorted{"", "a", "Layer.2", "layer.10", "layer.10.x", "layer.100", "layers"};
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        QVERIFY2(naturalSortKey(sorted[i - 1]) < naturalSortKey(sorted[i]), sorted[i].c_str());
    }
    QCOMPARE(naturalSortKey("x007"), naturalSortKey("X7"));
    QVERIFY(naturalSortKey(std::string(500, '9')).size() > 500);
}

void VersionAddressTest::nearest_findsMisspellings() {
    const std::vector<std::string> names{"encoder.layer.0", "pooler", "minilm-l6"};
    QCOMPARE(nearestName("encoder.layr.0", names).value_or(""), std::string("encoder.layer.0"));
    QCOMPARE(nearestName("POOLER", names).value_or(""), std::string("pooler"));
    QCOMPARE(nearestName("minilm", names).value_or(""), std::string("minilm-l6"));
    QVERIFY(!nearestName("decoder.head", names).has_value());
    QVERIFY(!nearestName("", names).has_value());
    QVERIFY(!nearestName("x", {}).has_value());
}

void VersionAddressTest::times_coverWhatIsWritten_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("from");
    QTest::addColumn<QString>("until");
    QTest::newRow("year") << "2024" << "2024-01-01T00:00:00.000000Z" << "2025-01-01T00:00:00.000000Z";
    QTest::newRow("month") << "2024-12" << "2024-12-01T00:00:00.000000Z" << "2025-01-01T00:00:00.000000Z";
    QTest::newRow("leap day") << "2024-02-29" << "2024-02-29T00:00:00.000000Z" << "2024-03-01T00:00:00.000000Z";
    QTest::newRow("minute") << "2026-11-30T16:01" << "2026-11-30T16:01:00.000000Z" << "2026-11-30T16:02:00.000000Z";
    QTest::newRow("second") << "2026-11-30T16:01:59Z" << "2026-11-30T16:01:59.000000Z" << "2026-11-30T16:02:00.000000Z";
    QTest::newRow("microsecond") << "2026-11-30T16:01:45.123456Z" << "2026-11-30T16:01:45.123456Z"
                                 << "2026-11-30T16:01:45.123457Z";
    QTest::newRow("nanoseconds are cut") << "2026-11-30T16:01:45.123456789Z" << "2026-11-30T16:01:45.123456Z"
                                         << "2026-11-30T16:01:45.123457Z";
    for (const char* bad : {"", "20", "2024-13", "2024-00", "2023-02-29", "2024-1-1", "2024-01-01T25:00", "2024-01-01T10",
                            "2024-01-01x", "yesterday", "2024-01-01T10:00:00.", "2024-01-01T10:61"}) {
        QTest::newRow(qPrintable(QStringLiteral("bad: ") + QLatin1String(bad))) << bad << "" << "";
    }
}

void VersionAddressTest::times_coverWhatIsWritten() {
    QFETCH(QString, text);
    QFETCH(QString, from);
    QFETCH(QString, until);
    const auto span = parseTimeSpan(text.toStdString());
    QCOMPARE(span.has_value(), !from.isEmpty());
    if (span) {
        QCOMPARE(QString::fromStdString(formatUtc(span->from)), from);
        QCOMPARE(QString::fromStdString(formatUtc(span->until)), until);
    }
}

ML_TEST_MAIN(VersionAddressTest)
#include "tst_VersionAddress.moc"
