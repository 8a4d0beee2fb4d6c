// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/rpc/Message.h"

#include "tests/support/TestMain.h"

#include <QTest>

#include <cmath>

using modulelens::base::ErrorCode;
using namespace modulelens::rpc;

class MessageTest : public QObject {
    Q_OBJECT

private slots:
    void request_roundTrips() {
        const auto message = parseMessage(serializeMessage(Request{7, "load", {{"name", "a"}}}));
        QVERIFY(message.hasValue());
        const auto& request = std::get<Request>(*message);
        QCOMPARE(request.id, 7);
        QCOMPARE(request.method, std::string("load"));
        QVERIFY(request.params == nlohmann::json({{"name", "a"}}));
    }

    void notification_roundTrips() {
        const auto message = parseMessage(serializeMessage(Notification{"$/progress", {{"done", 1}}}));
        QVERIFY(message.hasValue());
        QCOMPARE(std::get<Notification>(*message).method, std::string("$/progress"));
    }

    void absentParams_areAnEmptyObject() {
        const auto message = parseMessage(R"({"jsonrpc":"2.0","id":1,"method":"shutdown"})");
        QVERIFY(message.hasValue());
        QVERIFY(std::get<Request>(*message).params == nlohmann::json::object());
    }

    void result_roundTrips() {
        Response response;
        response.id = 3;
        response.result = nlohmann::json();
        const auto message = parseMessage(serializeMessage(response));
        QVERIFY(message.hasValue());
        QVERIFY(std::get<Response>(*message).result->is_null());
        QVERIFY(!std::get<Response>(*message).error);
    }

    void errorWithoutId_roundTrips() {
        Response response;
        response.error = Response::ErrorObject{-32700, "a message is not JSON", {{"fix", "x"}}};
        const auto message = parseMessage(serializeMessage(response));
        QVERIFY(message.hasValue());
        const auto& read = std::get<Response>(*message);
        QVERIFY(!read.id);
        QCOMPARE(read.error->code, -32700);
        QVERIFY(read.error->data == nlohmann::json({{"fix", "x"}}));
    }

    void nonFiniteAndInvalidText_areStillJson() {
        const std::string text = serializeMessage(
            Notification{"x", {{"inf", std::numeric_limits<double>::infinity()}, {"nan", std::nan("")}, {"text", "\xff"}}});
        const nlohmann::json json = nlohmann::json::parse(text);
        QVERIFY(json["params"]["inf"].is_null());
        QVERIFY(json["params"]["nan"].is_null());
        QCOMPARE(json["params"]["text"].get<std::string>(), std::string("\xef\xbf\xbd"));
    }

    void depthUpToTheLimit_isRead() {
        QVERIFY(parseMessage(nested(198)).hasValue());
        QCOMPARE(parseMessage(nested(200)).error().code, ErrorCode::Corrupt);
        QCOMPARE(parseMessage(nested(5'000'000)).error().code, ErrorCode::Corrupt);
    }

    void bracketsInStrings_doNotNest() {
        const std::string many(1000, '[');
        QVERIFY(parseMessage(R"({"jsonrpc":"2.0","method":"x","params":{"t":"\")" + many + "\"}}").hasValue());
    }

    void damagedMessage_isCorrupt_data() {
        QTest::addColumn<QByteArray>("body");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("cut") << QByteArray(R"({"jsonrpc":"2.0","id":1,"method":"x")");
        QTest::newRow("list") << QByteArray("[]");
        QTest::newRow("number") << QByteArray("1");
        QTest::newRow("no version") << QByteArray(R"({"id":1,"method":"x"})");
        QTest::newRow("other version") << QByteArray(R"({"jsonrpc":"1.0","id":1,"method":"x"})");
        QTest::newRow("method not a string") << QByteArray(R"({"jsonrpc":"2.0","id":1,"method":2})");
        QTest::newRow("params a number") << QByteArray(R"({"jsonrpc":"2.0","id":1,"method":"x","params":1})");
        QTest::newRow("id a float") << QByteArray(R"({"jsonrpc":"2.0","id":1.5,"method":"x"})");
        QTest::newRow("id too large") << QByteArray(R"({"jsonrpc":"2.0","id":9223372036854775808,"method":"x"})");
        QTest::newRow("neither") << QByteArray(R"({"jsonrpc":"2.0","id":1})");
        QTest::newRow("both") << QByteArray(R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}})");
        QTest::newRow("result without id") << QByteArray(R"({"jsonrpc":"2.0","id":null,"result":1})");
        QTest::newRow("error without code") << QByteArray(R"({"jsonrpc":"2.0","id":1,"error":{"message":""}})");
        QTest::newRow("error a string") << QByteArray(R"({"jsonrpc":"2.0","id":1,"error":"x"})");
    }
    void damagedMessage_isCorrupt() {
        QFETCH(const QByteArray, body);
        const auto message = parseMessage(body.toStdString());
        QVERIFY(!message.hasValue());
        QCOMPARE(message.error().code, ErrorCode::Corrupt);
    }

private:
    /// A notification whose params add `depth` levels below the two of the message itself.
    static std::string nested(int depth) {
        const auto count = static_cast<std::size_t>(depth);
        return R"({"jsonrpc":"2.0","method":"x","params":[)" + std::string(count, '[') + std::string(count, ']') + "]}";
    }
};

ML_TEST_MAIN(MessageTest)
#include "tst_Message.moc"
