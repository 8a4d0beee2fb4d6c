// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/GraphQl.h"
#include "tests/support/LoopbackServer.h"
#include "tests/support/TestMain.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace modulelens;
using base::ErrorCode;

Q_DECLARE_METATYPE(modulelens::base::ErrorCode)

class GraphQlTest : public QObject {
    Q_OBJECT

private slots:
    void requestHasTheSdksForm_andAnswersData() {
        test::LoopbackServer server(
            [](const test::ServedRequest&) { return test::ServedAnswer{200, {}, R"({"data":{"viewer":null}})"}; });
        const wandb::SignIn signIn{server.url(), std::string(40, 'k'), "", "p", "service"};
        http::Client client(wandb::clientSettings(signIn, {}));
        const wandb::GraphQl graphQl(client, signIn);
        const auto data = graphQl.run("Viewer", "query Viewer { viewer { id } }", {{"a", 1}}, {});
        QVERIFY(data.hasValue());
        QVERIFY(data->at("viewer").is_null());
        const test::ServedRequest seen = server.requests().front();
        QCOMPARE(seen.target, std::string("/graphql"));
        QCOMPARE(seen.headers.at("content-type"), std::string("application/json"));
        QCOMPARE(seen.headers.at("x-wandb-username"), std::string("service"));
        QVERIFY(seen.headers.at("authorization").starts_with("Basic "));
        const auto body = nlohmann::json::parse(seen.body);
        QCOMPARE(body.at("operationName").get<std::string>(), std::string("Viewer"));
        QCOMPARE(body.at("variables").at("a").get<int>(), 1);
    }

    void answers_areJudgedByTheirBody_data() {
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("body");
        QTest::addColumn<bool>("isError");
        QTest::addColumn<ErrorCode>("code");
        QTest::addColumn<QString>("says");
        const auto add = [](const char* name, int status, const char* body, std::optional<ErrorCode> code, const char* says) {
            QTest::newRow(name) << status << QString::fromUtf8(body) << code.has_value() << code.value_or(ErrorCode::Internal)
                                << QString(says);
        };
        add("data", 200, R"({"data":{}})", {}, "");
        add("data and no errors", 200, R"({"data":{},"errors":[]})", {}, "");
        add("errors with 200", 200, R"({"data":{"x":null},"errors":[{"message":"bad thing"}]})", ErrorCode::InvalidArgument,
            "bad thing");
        add("errors with 400", 400, R"({"errors":[{"message":"run not found","path":["x"]}],"data":{"x":null}})",
            ErrorCode::NotFound, "run not found");
        add("no permission", 400, R"({"errors":[{"message":"permission denied"}]})", ErrorCode::Unavailable,
            "permission denied");
        add("wrong key", 401, R"({"errors":[{"message":"user is not logged in"}]})", ErrorCode::Unavailable, "not logged in");
        add("forbidden", 403, R"({"error":"forbidden"})", ErrorCode::Unavailable, "forbidden");
        add("error object", 404, R"({"error":{"message":"gone"}})", ErrorCode::NotFound, "gone");
        add("conflict", 409, R"({"error":"there already"})", ErrorCode::AlreadyExists, "there already");
        add("rate limit", 429, R"({"error":"slow down"})", ErrorCode::Unavailable, "slow down");
        add("page of a proxy", 502, "<html><body>Bad gateway</body></html>", ErrorCode::Unavailable, "answered 502");
        add("page with 200", 200, "<html>log in</html>", ErrorCode::Unavailable, "not in JSON");
        add("nothing", 500, "", ErrorCode::Unavailable, "nothing else");
        add("a list", 200, "[]", ErrorCode::Unavailable, "not in JSON");
        add("status alone", 400, R"({"data":null})", ErrorCode::InvalidArgument, "answered 400");
        add("message of another kind", 400, R"({"errors":[{"message":{"a":1}}]})", ErrorCode::InvalidArgument, "{\"a\":1}");
        add("errors of another kind", 400, R"({"errors":["text"]})", ErrorCode::InvalidArgument, "text");
    }
    void answers_areJudgedByTheirBody() {
        QFETCH(int, status);
        QFETCH(QString, body);
        QFETCH(bool, isError);
        QFETCH(ErrorCode, code);
        QFETCH(QString, says);
        const auto error = wandb::answerError({status, {}, body.toStdString()}, "Test");
        QCOMPARE(error.has_value(), isError);
        if (error) {
            QVERIFY2(error->code == code, error->text().c_str());
            QVERIFY2(QString::fromStdString(error->message).contains(says), error->message.c_str());
        }
    }

    void deepAnswer_isRefused() {
        QVERIFY(wandb::answerError({200, {}, std::string(100'000, '[')}, "Test").has_value());
        QVERIFY(wandb::answerError({200, {}, "{\"a\":\"\xff\xfe\"}"}, "Test").has_value());
    }
};

ML_TEST_MAIN(GraphQlTest)
#include "tst_GraphQl.moc"
