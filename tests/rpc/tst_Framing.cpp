// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/rpc/Framing.h"

#include "tests/support/TestMain.h"

#include <QTest>

using modulelens::base::ErrorCode;
using modulelens::rpc::frameMessage;
using modulelens::rpc::FrameReader;

class Framing : public QObject {
    Q_OBJECT

private slots:
    void frame_hasLengthInBytes() {
        QCOMPARE(frameMessage("{}"), std::string("Content-Length: 2\r\n\r\n{}"));
        QCOMPARE(frameMessage("\xc3\xa9"), std::string("Content-Length: 2\r\n\r\n\xc3\xa9"));
    }

    void cutAtEveryByte_givesTheSameBodies() {
        const std::string stream = frameMessage("{\"a\":1}") + frameMessage("") + frameMessage("{\"text\":\"\\r\\n\\r\\n\"}");
        for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
            FrameReader reader;
            std::vector<std::string> bodies;
            for (const std::string& part : {stream.substr(0, cut), stream.substr(cut)}) {
                reader.append(part);
                drain(reader, bodies);
            }
            QCOMPARE(bodies, (std::vector<std::string>{"{\"a\":1}", "", "{\"text\":\"\\r\\n\\r\\n\"}"}));
            QVERIFY(!reader.isMidMessage());
        }
    }

    void byteByByte_givesTheBodies() {
        FrameReader reader;
        std::vector<std::string> bodies;
        for (const char c : frameMessage("one") + frameMessage("two")) {
            reader.append(std::string_view(&c, 1));
            drain(reader, bodies);
        }
        QCOMPARE(bodies, (std::vector<std::string>{"one", "two"}));
    }

    void endInsideAMessage_isSeen() {
        const std::string stream = frameMessage("{}");
        for (std::size_t cut = 1; cut < stream.size(); ++cut) {
            FrameReader reader;
            reader.append(stream.substr(0, cut));
            const auto body = reader.next();
            QVERIFY(body.hasValue());
            QVERIFY(!body->has_value());
            QVERIFY(reader.isMidMessage());
        }
    }

    void otherHeadersInAnyOrder_areSkipped_data() {
        QTest::addColumn<QByteArray>("header");
        QTest::newRow("before") << QByteArray("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2");
        QTest::newRow("after") << QByteArray("Content-Length: 2\r\nX-Anything: 7");
        QTest::newRow("lower case") << QByteArray("content-length:2");
        QTest::newRow("spaces") << QByteArray("Content-Length:   2  ");
    }
    void otherHeadersInAnyOrder_areSkipped() {
        QFETCH(const QByteArray, header);
        FrameReader reader;
        reader.append(header.toStdString() + "\r\n\r\nok");
        const auto body = reader.next();
        QVERIFY(body.hasValue());
        QCOMPARE(body->value_or("nothing"), std::string("ok"));
    }

    void damagedStream_isCorruptAndStaysSo_data() {
        QTest::addColumn<QByteArray>("stream");
        QTest::newRow("text") << QByteArray("Segmentation fault\r\n\r\n");
        QTest::newRow("text without end") << QByteArray("Segmentation fault\n");
        QTest::newRow("json without header") << QByteArray("{\"jsonrpc\":\"2.0\"}");
        QTest::newRow("no length") << QByteArray("Content-Type: x\r\n\r\n{}");
        QTest::newRow("negative length") << QByteArray("Content-Length: -2\r\n\r\n{}");
        QTest::newRow("length not a number") << QByteArray("Content-Length: 2x\r\n\r\n{}");
        QTest::newRow("empty length") << QByteArray("Content-Length:\r\n\r\n{}");
        QTest::newRow("length beyond 64 bits") << QByteArray("Content-Length: 99999999999999999999999\r\n\r\n");
        QTest::newRow("length over the limit") << QByteArray("Content-Length: 268435457\r\n\r\n");
        QTest::newRow("two lengths") << QByteArray("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}");
        QTest::newRow("binary") << QByteArray("\x00\x01\x02", 3);
        QTest::newRow("endless header") << QByteArray("A: ") + QByteArray(9000, 'x');
    }
    void damagedStream_isCorruptAndStaysSo() {
        QFETCH(const QByteArray, stream);
        FrameReader reader;
        reader.append(stream.toStdString());
        const auto body = reader.next();
        QVERIFY(!body.hasValue());
        QCOMPARE(body.error().code, ErrorCode::Corrupt);
        QVERIFY(!body.error().message.empty());
        reader.append(frameMessage("{}"));
        QVERIFY(!reader.next().hasValue());
        QVERIFY(!reader.isMidMessage());
    }

private:
    static void drain(FrameReader& reader, std::vector<std::string>& bodies) {
        while (true) {
            auto body = reader.next();
            QVERIFY(body.hasValue());
            if (!*body) {
                return;
            }
            bodies.push_back(**body);
        }
    }
};

ML_TEST_MAIN(Framing)
#include "tst_Framing.moc"
