// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Netrc.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;

class NetrcTest : public QObject {
    Q_OBJECT

private slots:
    void machine_isMatchedWithItsPort() {
        const std::string text = "machine host login user password plain\nmachine host:8080\n\tlogin user\n\tpassword ported\n";
        QCOMPARE(wandb::netrcPassword(text, "host").value(), std::string("plain"));
        QCOMPARE(wandb::netrcPassword(text, "host:8080").value(), std::string("ported"));
        QVERIFY(!wandb::netrcPassword(text, "host:80"));
        QVERIFY(!wandb::netrcPassword(text, "hos"));
    }

    void quotesCommentsAndMacros_areUnderstood() {
        const std::string text =
            "# machine host password no\nmacdef init\nmachine host password macro\n\nmachine \"host\" login \"a b\" password "
            "\"q\\\"x\" # end\n";
        QCOMPARE(wandb::netrcPassword(text, "host").value(), std::string("q\"x"));
    }

    void default_isTheLastResort() {
        const std::string text = "default login x password fallback\nmachine host password own\n";
        QCOMPARE(wandb::netrcPassword(text, "host").value(), std::string("own"));
        QCOMPARE(wandb::netrcPassword(text, "other").value(), std::string("fallback"));
    }

    void brokenFiles_giveNothing() {
        for (const char* text :
             {"", "machine", "machine host", "machine host password", "machine host password \"open", "password lost", "\\"}) {
            QVERIFY2(!wandb::netrcPassword(text, "host"), text);
        }
    }
};

ML_TEST_MAIN(NetrcTest)
#include "tst_Netrc.moc"
