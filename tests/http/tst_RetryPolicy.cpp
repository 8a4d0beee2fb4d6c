// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/http/RetryPolicy.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;
using std::chrono::milliseconds;

class RetryPolicyTest : public QObject {
    Q_OBJECT

private slots:
    void statuses_thatAnotherAttemptCannotBetter_areFinal() {
        for (const int status : {200, 206, 302, 400, 401, 403, 404, 409, 410, 413, 422, 501}) {
            QVERIFY2(!http::isWorthRetrying(status), qPrintable(QString::number(status)));
        }
        for (const int status : {408, 418, 425, 429, 500, 502, 503, 504}) {
            QVERIFY2(http::isWorthRetrying(status), qPrintable(QString::number(status)));
        }
    }

    void askedDelay_readsSecondsAndDates() {
        QCOMPARE(http::askedDelay(503, {{"retry-after", "7"}}, 0).value(), milliseconds(7000));
        // RFC 9110's own example date is 784111777 seconds after 1970.
        QCOMPARE(http::askedDelay(503, {{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}, 784111767).value(),
                 milliseconds(10'000));
        QCOMPARE(http::askedDelay(503, {{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}, 784111999).value(), milliseconds(0));
        QCOMPARE(http::askedDelay(429, {{"ratelimit-reset", "3"}}, 0).value(), milliseconds(3000));
        QCOMPARE(http::askedDelay(429, {{"ratelimit-reset", "3"}, {"retry-after", "1"}}, 0).value(), milliseconds(1000));
    }

    void askedDelay_ignoresWhatCannotBeRead() {
        QVERIFY(!http::askedDelay(503, {{"ratelimit-reset", "3"}}, 0));
        QVERIFY(!http::askedDelay(429, {}, 0));
        for (const char* text : {"", "-1", "soon", "1e9", "99999999999999999999999", "7 s"}) {
            QVERIFY2(!http::askedDelay(503, {{"retry-after", text}}, 0), text);
        }
        QCOMPARE(http::askedDelay(503, {{"retry-after", "9223372036854775807"}}, 0).value(), milliseconds(86'400'000));
    }

    void delay_doublesWithAQuarterMoreAtMost() {
        const http::RetryPolicy policy;
        QCOMPARE(http::retryDelay(policy, 2, {}, 0.0), milliseconds(2000));
        QCOMPARE(http::retryDelay(policy, 3, {}, 0.0), milliseconds(4000));
        QCOMPARE(http::retryDelay(policy, 3, {}, 0.5), milliseconds(4500));
        QCOMPARE(http::retryDelay(policy, 30, {}, 0.9), milliseconds(60'000));
        QCOMPARE(http::retryDelay(policy, 2, milliseconds(0), 0.9), milliseconds(0));
        QCOMPARE(http::retryDelay(policy, 2, milliseconds(600'000), 0.9), milliseconds(60'000));
    }
};

ML_TEST_MAIN(RetryPolicyTest)
#include "tst_RetryPolicy.moc"
