// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/ErrorTable.h"

#include "backend/protocol/ErrorObject.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <set>

using modulelens::base::Error;
using modulelens::base::ErrorCode;
using namespace modulelens::protocol;

class ErrorTable : public QObject {
    Q_OBJECT

private slots:
    void everyCode_standsOnceInTheTable() {
        std::set<ErrorCode> codes;
        std::set<int> wire;
        std::set<std::string> names;
        for (const ErrorRow& row : errorTable()) {
            codes.insert(row.code);
            wire.insert(row.jsonRpcCode);
            names.insert(std::string(modulelens::base::errorCodeName(row.code)));
        }
        const auto count = static_cast<std::size_t>(ErrorCode::Internal) + 1;
        QCOMPARE(errorTable().size(), count);
        QCOMPARE(codes.size(), count);
        QCOMPARE(wire.size(), count);
        QCOMPARE(names.size(), count);
    }

    void everyCode_survivesTheWire() {
        for (const ErrorRow& row : errorTable()) {
            const Error sent{row.code, "what failed", "what to do"};
            const Error received = fromErrorObject(toErrorObject(sent));
            QCOMPARE(received.code, sent.code);
            QCOMPARE(received.message, sent.message);
            QCOMPARE(received.fix, sent.fix);
            QCOMPARE(errorCodeFromJsonRpc(jsonRpcCode(row.code)), row.code);
        }
    }

    void unknownWireCode_isInternalWithItsMessage() {
        const Error error = fromErrorObject({-1, "odd", "not an object"});
        QCOMPARE(error.code, ErrorCode::Internal);
        QCOMPARE(error.message, std::string("odd"));
        QVERIFY(error.fix.empty());
    }

    void reservedWireCodes_areUnderstood() {
        QCOMPARE(errorCodeFromJsonRpc(-32700), ErrorCode::Corrupt);
        QCOMPARE(errorCodeFromJsonRpc(-32600), ErrorCode::Corrupt);
        QCOMPARE(errorCodeFromJsonRpc(-32601), ErrorCode::Unsupported);
        QCOMPARE(errorCodeFromJsonRpc(-32602), ErrorCode::InvalidArgument);
        QCOMPARE(errorCodeFromJsonRpc(-32603), ErrorCode::Internal);
    }

    void exitCodes_areFrozen_data() {
        QTest::addColumn<ErrorCode>("code");
        QTest::addColumn<int>("exit");
        QTest::newRow("cancelled") << ErrorCode::Cancelled << 130;
        QTest::newRow("invalid argument") << ErrorCode::InvalidArgument << 2;
        QTest::newRow("not found") << ErrorCode::NotFound << 3;
        QTest::newRow("already exists") << ErrorCode::AlreadyExists << 2;
        QTest::newRow("permission denied") << ErrorCode::PermissionDenied << 10;
        QTest::newRow("corrupt") << ErrorCode::Corrupt << 9;
        QTest::newRow("unsupported") << ErrorCode::Unsupported << 9;
        QTest::newRow("unavailable") << ErrorCode::Unavailable << 13;
        QTest::newRow("timeout") << ErrorCode::Timeout << 8;
        QTest::newRow("worker crashed") << ErrorCode::WorkerCrashed << 11;
        QTest::newRow("out of memory") << ErrorCode::OutOfMemory << 11;
        QTest::newRow("storage full") << ErrorCode::StorageFull << 10;
        QTest::newRow("consent needed") << ErrorCode::ConsentNeeded << 12;
        QTest::newRow("environment missing") << ErrorCode::EnvironmentMissing << 7;
        QTest::newRow("internal") << ErrorCode::Internal << 1;
    }
    void exitCodes_areFrozen() {
        QFETCH(const ErrorCode, code);
        QFETCH(const int, exit);
        QCOMPARE(exitCode(code), exit);
    }
};

ML_TEST_MAIN(ErrorTable)
#include "tst_ErrorTable.moc"
