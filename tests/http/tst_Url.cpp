// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/http/Url.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;

class UrlTest : public QObject {
    Q_OBJECT

private slots:
    void parts_areAsWritten() {
        const auto url = http::parseUrl("https://API.wandb.ai:8443/base/graphql?x=1");
        QVERIFY(url.hasValue());
        QCOMPARE(url->scheme, std::string("https"));
        QCOMPARE(url->host, std::string("api.wandb.ai"));
        QCOMPARE(url->port, 8443);
        QCOMPARE(url->path, std::string("/base/graphql"));
        QCOMPARE(url->hostAndPort(), std::string("api.wandb.ai:8443"));
        QCOMPARE(http::parseUrl("https://api.wandb.ai")->hostAndPort(), std::string("api.wandb.ai"));
        QCOMPARE(http::parseUrl("http://[::1]:80/")->host, std::string("::1"));
    }

    void unfitUrls_areRefused_data() {
        QTest::addColumn<QString>("text");
        for (const char* text : {"", "api.wandb.ai", "ftp://host/", "file:///etc/passwd", "https://", "http://host:99999/",
                                 "https://user:key@host/", "http://a b/"}) {
            QTest::newRow(*text != '\0' ? text : "empty") << text;
        }
    }
    void unfitUrls_areRefused() {
        QFETCH(QString, text);
        const auto url = http::parseUrl(text.toStdString());
        QVERIFY(!url.hasValue());
        QCOMPARE(url.error().code, base::ErrorCode::InvalidArgument);
        QVERIFY(url.error().text().find("key@") == std::string::npos);
    }

    void below_needsTheSamePlaceAndPath() {
        const http::Url base = *http::parseUrl("https://host/wandb");
        for (const char* inside : {"https://host/wandb/graphql", "https://host/wandb", "https://HOST:443/wandb/"}) {
            QVERIFY2(http::isBelow(*http::parseUrl(inside), base), inside);
        }
        for (const char* outside : {"http://host/wandb/x", "https://host:444/wandb/x", "https://host.evil/wandb/x",
                                    "https://host/wandbx", "https://host/"}) {
            QVERIFY2(!http::isBelow(*http::parseUrl(outside), base), outside);
        }
    }

    void references_areResolved() {
        QCOMPARE(*http::resolveUrl("https://host/a/b?x", "../c"), std::string("https://host/c"));
        QCOMPARE(*http::resolveUrl("https://host/a", "https://other/d?e=1"), std::string("https://other/d?e=1"));
        QVERIFY(!http::resolveUrl("https://host/a", "file:///etc/passwd").hasValue());
    }
};

ML_TEST_MAIN(UrlTest)
#include "tst_Url.moc"
