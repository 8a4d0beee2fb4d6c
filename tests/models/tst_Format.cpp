// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/Format.h"

#include "backend/profile/Profile.h"
#include "tests/support/TestMain.h"

#include <QTest>

namespace modulelens::models {

/// No-break spaces are written as plain ones in the tables below.
static QString plain(QString text) {
    return text.replace(QChar(0x00A0), u' ').replace(QChar(0x202F), u' ');
}

class FormatTest : public QObject {
    Q_OBJECT

private slots:
    void nanoseconds_data() {
        QTest::addColumn<qint64>("value");
        QTest::addColumn<QString>("text");
        QTest::newRow("zero") << qint64{0} << "0 ns";
        QTest::newRow("ns") << qint64{950} << "950 ns";
        QTest::newRow("µs") << qint64{12'400} << "12.4 µs";
        QTest::newRow("rounds up into ms") << qint64{999'999} << "1.00 ms";
        QTest::newRow("ms") << qint64{3'452'000} << "3.45 ms";
        QTest::newRow("three digits") << qint64{123'456'000} << "123 ms";
        QTest::newRow("s") << qint64{1'200'000'000} << "1.20 s";
        QTest::newRow("negative") << qint64{-1'500} << QStringLiteral("−1.50 µs");
    }
    void nanoseconds() {
        QFETCH(qint64, value);
        QFETCH(QString, text);
        QCOMPARE(plain(formatNanoseconds(value)), text);
    }

    void bytesAndFlops_haveOneUnitPerValue() {
        QCOMPARE(plain(formatBytes(312)), QStringLiteral("312 B"));
        QCOMPARE(plain(formatBytes(745'000'000)), QStringLiteral("745 MB"));
        QCOMPARE(plain(formatBytes(2'350'000'000)), QStringLiteral("2.35 GB"));
        QCOMPARE(plain(formatFlops(940)), QStringLiteral("940"));
        QCOMPARE(plain(formatFlops(65'700'000'000)), QStringLiteral("65.7 G"));
        QCOMPARE(plain(formatFlops(4'610'000'000'000)), QStringLiteral("4.61 T"));
    }

    void unknownMetric_isADashAndNeverZero() {
        QCOMPARE(formatMetric("ns", profile::kUnknown), QStringLiteral("—"));
        QCOMPARE(plain(formatMetric("ns", 0)), QStringLiteral("0 ns"));
    }

    void count_isGroupedByThree() {
        QCOMPARE(plain(formatCount(1284)), QStringLiteral("1 284"));
        QCOMPARE(plain(formatCount(-1284567)), QStringLiteral("-1 284 567"));
        QCOMPARE(plain(formatCount(-284)), QStringLiteral("-284"));
        QCOMPARE(plain(formatCount(7)), QStringLiteral("7"));
    }

    void share_saysSmallInsteadOfZero() {
        QCOMPARE(plain(formatShare(0.117)), QStringLiteral("11.7 %"));
        QCOMPARE(plain(formatShare(0.0001)), QStringLiteral("< 0.1 %"));
        QCOMPARE(plain(formatShare(1)), QStringLiteral("100 %"));
        QCOMPARE(plain(formatShare(0)), QStringLiteral("0.0 %"));
    }

    void real_hasShortExponents() {
        QCOMPARE(formatReal(7.9e-4), QStringLiteral("7.9e−4"));
        QCOMPARE(formatReal(-6.031), QStringLiteral("−6.0310"));
        QCOMPARE(formatReal(0), QStringLiteral("0"));
        QCOMPARE(formatReal(57344), QStringLiteral("57344"));
        QCOMPARE(formatReal(3e10), QStringLiteral("3.0e10"));
        QCOMPARE(formatReal(-std::numeric_limits<double>::infinity()), QStringLiteral("−Inf"));
    }

    void age_growsFromMinutesToMonths() {
        QCOMPARE(formatAge("2026-11-30T16:00:00Z", "2026-11-30T16:00:10Z"), QStringLiteral("now"));
        QCOMPARE(plain(formatAge("2026-11-30T16:00:00Z", "2026-11-30T16:40:00Z")), QStringLiteral("40 min"));
        QCOMPARE(plain(formatAge("2026-11-30T16:00:00Z", "2026-11-30T18:10:00Z")), QStringLiteral("2 h"));
        QCOMPARE(plain(formatAge("2026-11-24T16:00:00Z", "2026-11-30T16:00:00Z")), QStringLiteral("6 d"));
        QCOMPARE(formatAge("garbage", "2026-11-30T16:00:00Z"), QString());
    }

    void shapeAndClass() {
        QCOMPARE(formatShape({32, 128, 1024}), QStringLiteral("[32, 128, 1024]"));
        QCOMPARE(formatShape({}), QStringLiteral("[]"));
        QCOMPARE(bareClassName("transformers.models.bert.modeling_bert:BertLayer"), QStringLiteral("BertLayer"));
        QCOMPARE(bareClassName("pkg:Outer.Inner"), QStringLiteral("Inner"));
        QCOMPARE(bareClassName("Linear"), QStringLiteral("Linear"));
    }
};

} // namespace modulelens::models

using modulelens::models::FormatTest;
ML_TEST_MAIN(FormatTest)

#include "tst_Format.moc"
