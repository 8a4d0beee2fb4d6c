// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/PercentEncoding.h"
#include "tests/support/TestMain.h"

#include <QTest>

using modulelens::base::percentEncoded;

class PercentEncodingTest : public QObject {
    Q_OBJECT

private slots:
    void everythingReserved_isEncoded() {
        QCOMPARE(percentEncoded("QXJ0:1=/a b\xc3\xa9-._~"), std::string("QXJ0%3A1%3D%2Fa%20b%C3%A9-._~"));
    }
    void plainCharacters_stay() { QCOMPARE(percentEncoded("/a/b c?", "/"), std::string("/a/b%20c%3F")); }
};

ML_TEST_MAIN(PercentEncodingTest)
#include "tst_PercentEncoding.moc"
