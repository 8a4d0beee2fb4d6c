// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ScalarType.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens::base;

class ScalarTypeTest : public QObject {
    Q_OBJECT

private slots:
    void names_leadBackToTheirType() {
        for (int i = 0; i <= static_cast<int>(ScalarType::Int7); ++i) {
            const auto type = static_cast<ScalarType>(i);
            QVERIFY(scalarTypeFromName(scalarTypeName(type)) == type);
        }
        QVERIFY(!scalarTypeFromName("float31"));
        QVERIFY(!scalarTypeFromName(""));
    }

    void sizes_arePyTorchs() {
        // torch.empty(1, dtype=...).element_size()
        QCOMPARE(elementSizeBytes(ScalarType::BFloat16), 2U);
        QCOMPARE(elementSizeBytes(ScalarType::Complex128), 16U);
        QCOMPARE(elementSizeBytes(ScalarType::Bool), 1U);
        QCOMPARE(elementSizeBytes(ScalarType::Float8E5M2), 1U);
        QCOMPARE(elementSizeBytes(ScalarType::Int64), 8U);
        QCOMPARE(elementSizeBytes(*scalarTypeFromName("uint4")), 1U);
        QCOMPARE(elementSizeBytes(*scalarTypeFromName("float4_e2m1fn_x2")), 1U);
    }
};

ML_TEST_MAIN(ScalarTypeTest)
#include "tst_ScalarType.moc"
