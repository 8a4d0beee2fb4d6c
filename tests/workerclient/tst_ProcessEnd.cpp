// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/workerclient/ProcessEnd.h"

#include "tests/support/TestMain.h"

#include <QTest>

#include <csignal>

using modulelens::base::ErrorCode;
using namespace modulelens::workerclient;

class ProcessEndTest : public QObject {
    Q_OBJECT

private slots:
    void signals_haveTheirNames() {
        QCOMPARE(signalName(9), std::string("SIGKILL"));
        QCOMPARE(signalName(11), std::string("SIGSEGV"));
        QCOMPARE(signalName(77), std::string("signal 77"));
    }

    void tail_splitsLinesAcrossPieces() {
        OutputTail tail;
        QCOMPARE(tail.append("on"), std::vector<std::string>());
        QCOMPARE(tail.append("e\r\n\ntwo\nthr"), (std::vector<std::string>{"one", "two"}));
        QCOMPARE(tail.last(2), std::string("two / thr"));
        QCOMPARE(tail.last(9), std::string("one / two / thr"));
        tail.clear();
        QCOMPARE(tail.last(9), std::string());
    }

    void tail_isBounded() {
        OutputTail tail;
        static_cast<void>(tail.append(std::string(100'000, 'x')));
        QCOMPARE(tail.last(1).size(), 1000U);
        for (int i = 0; i < 1000; ++i) {
            static_cast<void>(tail.append("line\n"));
        }
        QCOMPARE(tail.last(1000).size(), 50 * std::string("line").size() + 49 * std::string(" / ").size());
    }

    void exitBeforeReady_isMissingEnvironmentOnlyFor126And127() {
        const OutputTail none;
        QCOMPARE(errorFromProcessEnd({false, 127}, false, "p", "initialize", none).code, ErrorCode::EnvironmentMissing);
        QCOMPARE(errorFromProcessEnd({false, 126}, false, "p", "initialize", none).code, ErrorCode::EnvironmentMissing);
        QCOMPARE(errorFromProcessEnd({false, 127}, true, "p", "run", none).code, ErrorCode::WorkerCrashed);
        QCOMPARE(errorFromProcessEnd({false, 1}, false, "p", "initialize", none).code, ErrorCode::WorkerCrashed);
        const std::string fix = errorFromProcessEnd({false, 1}, false, "/bin/p", "initialize", none).fix;
        QVERIFY2(fix.find("/bin/p") != std::string::npos, fix.c_str());
        OutputTail output;
        output.append("/bin/p: No module named modulelens\n");
        const auto without = errorFromProcessEnd({false, 1}, false, "/bin/p", "initialize", output);
        QCOMPARE(without.code, ErrorCode::EnvironmentMissing);
        QVERIFY2(without.fix.find("--python") != std::string::npos, without.fix.c_str());
        QCOMPARE(errorFromProcessEnd({true, SIGSEGV}, true, "p", "run", none).message,
                 std::string("the worker was killed by SIGSEGV during 'run'"));
    }
};

ML_TEST_MAIN(ProcessEndTest)
#include "tst_ProcessEnd.moc"
