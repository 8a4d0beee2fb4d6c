// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/http/HttpClient.h"
#include "tests/support/LoopbackServer.h"
#include "tests/support/TestMain.h"

#include <QTest>
#include <future>
#include <optional>

using namespace modulelens;
using std::chrono::milliseconds;
using test::LoopbackServer;
using test::ServedAnswer;
using test::ServedRequest;

namespace {

/// "api:key" in base64.
const std::string kBasic = "Basic YXBpOmtleQ==";

http::ClientSettings quickSettings() {
    http::ClientSettings settings;
    settings.retry.shortest = milliseconds(1);
    settings.retry.longest = milliseconds(20);
    return settings;
}

http::ClientSettings signedIn(const std::string& baseUrl) {
    http::ClientSettings settings = quickSettings();
    settings.credentials = {baseUrl, "api", "key"};
    return settings;
}

std::span<const std::byte> bytesOf(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

http::Request getOf(const std::string& url) {
    http::Request request;
    request.url = url;
    return request;
}

}  // namespace

class HttpClientTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        // Loopback only: a proxy of the machine must not see these requests.
        qputenv("no_proxy", "127.0.0.1");
    }

    void post_sendsBodyAndHeaders_andGivesTheAnswer() {
        LoopbackServer server(
            [](const ServedRequest& request) { return ServedAnswer{201, {{"X-Kind", "test"}}, "got " + request.body}; });
        http::Client client(quickSettings());
        const std::string body(100'000, 'b');
        http::Request request = getOf(server.url() + "/graphql?q=1");
        request.method = http::Method::Post;
        request.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
        request.body = bytesOf(body);
        const auto response = client.send(request, {});
        QVERIFY(response.hasValue());
        QCOMPARE(response->status, 201);
        QCOMPARE(response->body, "got " + body);
        QCOMPARE(http::findHeader(response->headers, "x-kind").value(), std::string_view("test"));
        const auto seen = server.requests();
        QCOMPARE(seen.size(), std::size_t{1});
        QCOMPARE(seen[0].method, std::string("POST"));
        QCOMPARE(seen[0].target, std::string("/graphql?q=1"));
        QCOMPARE(seen[0].headers.at("content-type"), std::string("application/json"));
        QVERIFY(seen[0].headers.contains("x-empty"));
        QVERIFY(!seen[0].headers.contains("expect"));
        QVERIFY(!seen[0].headers.contains("authorization"));
    }

    void put_sendsItsLength_alsoWhenEmpty() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{}; });
        http::Client client(quickSettings());
        for (const std::string& body : {std::string(), std::string("abc")}) {
            http::Request request = getOf(server.url() + "/storage");
            request.method = http::Method::Put;
            request.body = bytesOf(body);
            QVERIFY(client.send(request, {}).hasValue());
            const ServedRequest seen = server.requests().back();
            QCOMPARE(seen.method, std::string("PUT"));
            QCOMPARE(seen.headers.at("content-length"), std::to_string(body.size()));
            QCOMPARE(seen.body, body);
            QVERIFY(!seen.headers.contains("transfer-encoding"));
        }
    }

    void pieces_areSentOneAfterTheOther() {
        int count = 0;
        LoopbackServer server([&](const ServedRequest&) {
            return ++count == 1 ? ServedAnswer{503, {{"Retry-After", "0"}}, ""} : ServedAnswer{};
        });
        http::Client client(quickSettings());
        const std::vector<std::string> parts{"one ", "", std::string(200'000, 'x'), " end"};
        http::Request request = getOf(server.url());
        request.method = http::Method::Put;
        request.body = bytesOf(parts[0]);
        for (std::size_t i = 1; i < parts.size(); ++i) {
            request.bodyPieces.push_back(bytesOf(parts[i]));
        }
        QCOMPARE(client.send(request, {})->status, 200);
        QCOMPARE(server.requests().size(), std::size_t{2});
        QCOMPARE(server.requests().back().body, parts[0] + parts[2] + parts[3]);
    }

    void credentials_goBelowTheBaseUrlAlone() {
        LoopbackServer other([](const ServedRequest&) { return ServedAnswer{}; });
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{}; });
        http::Client client(signedIn(server.url() + "/base"));
        for (const std::string& url :
             {server.url() + "/base/graphql", server.url() + "/storage", other.url() + "/base/graphql"}) {
            http::Request request = getOf(url);
            request.withCredentials = true;
            QVERIFY(client.send(request, {}).hasValue());
        }
        QVERIFY(client.send(getOf(server.url() + "/base/graphql"), {}).hasValue());
        QCOMPARE(server.requests()[0].headers.at("authorization"), kBasic);
        QVERIFY(!server.requests()[1].headers.contains("authorization"));
        QVERIFY(!server.requests()[2].headers.contains("authorization"));
        QVERIFY(!other.requests()[0].headers.contains("authorization"));
    }

    void redirects_loseTheCredentials() {
        LoopbackServer storage([](const ServedRequest&) { return ServedAnswer{200, {}, "bytes"}; });
        LoopbackServer server([&](const ServedRequest& request) {
            if (request.target == "/api/first") {
                return ServedAnswer{302, {{"Location", "/api/second"}}, ""};
            }
            return ServedAnswer{307, {{"Location", storage.url() + "/object?sig=secret"}}, ""};
        });
        http::Client client(signedIn(server.url() + "/api"));
        http::Request request = getOf(server.url() + "/api/first");
        request.withCredentials = true;
        const auto response = client.send(request, {});
        QVERIFY(response.hasValue());
        QCOMPARE(response->body, std::string("bytes"));
        QCOMPARE(server.requests()[0].headers.at("authorization"), kBasic);
        QVERIFY(!server.requests()[1].headers.contains("authorization"));
        QVERIFY(!storage.requests()[0].headers.contains("authorization"));
    }

    void redirects_thatAreUnfit_areRefused() {
        std::string location;
        LoopbackServer server([&](const ServedRequest&) { return ServedAnswer{302, {{"Location", location}}, ""}; });
        http::Client client(quickSettings());
        for (const char* unfit : {"file:///etc/passwd", "ftp://127.0.0.1/", "/round/and/round"}) {
            location = unfit;
            const auto response = client.send(getOf(server.url() + "/start"), {});
            QVERIFY2(!response.hasValue(), unfit);
        }
        http::Request post = getOf(server.url() + "/start");
        post.method = http::Method::Post;
        const auto response = client.send(post, {});
        QVERIFY(!response.hasValue());
        QCOMPARE(response.error().code, base::ErrorCode::Corrupt);
    }

    void failingServer_isAskedAgain_untilItAnswers() {
        int count = 0;
        LoopbackServer server(
            [&](const ServedRequest&) { return ++count < 3 ? ServedAnswer{503, {{"Retry-After", "0"}}, ""} : ServedAnswer{}; });
        std::vector<std::string> reasons;
        http::ClientSettings settings = quickSettings();
        settings.onRetry = [&](const std::string& reason, milliseconds) { reasons.push_back(reason); };
        http::Client client(settings);
        QCOMPARE(client.send(getOf(server.url()), {})->status, 200);
        QCOMPARE(count, 3);
    }

    void attempts_end() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{502, {}, "<html>bad gateway</html>"}; });
        std::vector<std::string> reasons;
        http::ClientSettings settings = quickSettings();
        settings.onRetry = [&](const std::string& reason, milliseconds) { reasons.push_back(reason); };
        http::Client client(settings);
        const auto response = client.send(getOf(server.url()), {});
        QCOMPARE(response->status, 502);
        QCOMPARE(response->body, std::string("<html>bad gateway</html>"));
        QCOMPARE(server.requests().size(), std::size_t{5});
        QCOMPARE(reasons.size(), std::size_t{4});
        QCOMPARE(reasons[0], std::string("the server answered 502"));
    }

    void finalStatuses_areNotAskedAgain() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{404, {}, "no"}; });
        http::Client client(quickSettings());
        QCOMPARE(client.send(getOf(server.url()), {})->status, 404);
        QCOMPARE(server.requests().size(), std::size_t{1});
    }

    void usedUpRateLimit_delaysTheNextRequest() {
        LoopbackServer server([](const ServedRequest&) {
            return ServedAnswer{200, {{"RateLimit-Remaining", "0"}, {"RateLimit-Reset", "9"}}, ""};
        });
        std::vector<std::string> reasons;
        http::ClientSettings settings = quickSettings();
        settings.onRetry = [&](const std::string& reason, milliseconds) { reasons.push_back(reason); };
        http::Client client(settings);
        QVERIFY(client.send(getOf(server.url()), {}).hasValue());
        QVERIFY(reasons.empty());
        QVERIFY(client.send(getOf(server.url()), {}).hasValue());
        QCOMPARE(reasons, std::vector<std::string>{"the server's rate limit"});
    }

    void brokenConnection_isTriedAgain_onlyWhenNothingWasHandedOn() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{200, {}, "0123456789", 4}; });
        http::Client client(quickSettings());
        const auto kept = client.send(getOf(server.url()), {});
        QVERIFY(!kept.hasValue());
        QCOMPARE(kept.error().code, base::ErrorCode::Unavailable);
        QCOMPARE(server.requests().size(), std::size_t{5});
        std::string taken;
        http::Request request = getOf(server.url());
        request.onBody = [&](std::span<const std::byte> bytes) {
            taken.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            return base::Result<void>();
        };
        QVERIFY(!client.send(request, {}).hasValue());
        QCOMPARE(taken, std::string("0123"));
        QCOMPARE(server.requests().size(), std::size_t{6});
    }

    void nobodyListening_isUnavailable() {
        std::optional<LoopbackServer> server([](const ServedRequest&) { return ServedAnswer{}; });
        const std::string url = server->url();
        server.reset();
        http::Client client(quickSettings());
        const auto response = client.send(getOf(url + "/x?sig=secret"), {});
        QVERIFY(!response.hasValue());
        QCOMPARE(response.error().code, base::ErrorCode::Unavailable);
        QVERIFY(response.error().text().find("secret") == std::string::npos);
    }

    void stop_endsAHangingRequest() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{200, {}, "", std::string::npos, true}; });
        http::Client client(quickSettings());
        std::stop_source source;
        auto waiting = std::async(std::launch::async, [&] { return client.send(getOf(server.url()), source.get_token()); });
        server.awaitRequests(1);
        source.request_stop();
        const auto response = waiting.get();
        QVERIFY(!response.hasValue());
        QCOMPARE(response.error().code, base::ErrorCode::Cancelled);
    }

    void stop_endsTheWaitBetweenAttempts() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{503, {{"Retry-After", "3600"}}, ""}; });
        std::stop_source source;
        http::ClientSettings settings;
        settings.retry.longest = std::chrono::hours(1);
        settings.onRetry = [&](const std::string&, milliseconds) { source.request_stop(); };
        http::Client client(settings);
        QCOMPARE(client.send(getOf(server.url()), source.get_token()).error().code, base::ErrorCode::Cancelled);
    }

    void body_isHandedOnInPieces_afterTheHead_andCounted() {
        const std::string content(3'000'000, 'x');
        LoopbackServer server(
            [&](const ServedRequest&) { return ServedAnswer{206, {{"Content-Range", "bytes 5-"}}, content}; });
        http::Client client(quickSettings());
        std::uint64_t taken = 0;
        std::uint64_t done = 0;
        std::string range;
        http::Request request = getOf(server.url());
        request.onHead = [&](const http::ResponseHead& head) {
            range = http::findHeader(head.headers, "content-range").value_or("");
            return base::Result<void>();
        };
        request.onBody = [&](std::span<const std::byte> bytes) {
            taken += bytes.size();
            return base::Result<void>();
        };
        request.progress = [&](std::uint64_t now, std::uint64_t) { done = now; };
        QCOMPARE(client.send(request, {})->status, 206);
        QCOMPARE(taken, std::uint64_t{3'000'000});
        QCOMPARE(done, std::uint64_t{3'000'000});
        QCOMPARE(range, std::string("bytes 5-"));
    }

    void errorOfTheReceiver_endsTheRequestAsItIs() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{200, {}, "bytes"}; });
        http::Client client(quickSettings());
        http::Request request = getOf(server.url());
        request.onBody = [](std::span<const std::byte>) {
            return base::Result<void>(base::Error{base::ErrorCode::StorageFull, "full", ""});
        };
        QCOMPARE(client.send(request, {}).error().code, base::ErrorCode::StorageFull);
        request.onBody = [](std::span<const std::byte>) -> base::Result<void> { throw std::bad_alloc(); };
        QCOMPARE(client.send(request, {}).error().code, base::ErrorCode::OutOfMemory);
        QCOMPARE(server.requests().size(), std::size_t{2});
    }

    void errorBody_isKept_alsoWithAReceiver() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{403, {}, "<Error>expired</Error>"}; });
        http::Client client(quickSettings());
        http::Request request = getOf(server.url());
        bool called = false;
        request.onBody = [&](std::span<const std::byte>) {
            called = true;
            return base::Result<void>();
        };
        QCOMPARE(client.send(request, {})->body, std::string("<Error>expired</Error>"));
        QVERIFY(!called);
    }

    void keptBody_hasALimit() {
        LoopbackServer server([](const ServedRequest&) { return ServedAnswer{200, {}, std::string(1001, 'x')}; });
        http::Client client(quickSettings());
        http::Request request = getOf(server.url());
        request.bodyLimitBytes = 1001;
        QVERIFY(client.send(request, {}).hasValue());
        request.bodyLimitBytes = 1000;
        QCOMPARE(client.send(request, {}).error().code, base::ErrorCode::Corrupt);
    }

    void headerWithALineBreak_isRefused() {
        http::Client client(quickSettings());
        http::Request request = getOf("http://127.0.0.1:1/");
        request.headers = {{"X-Name", "a\r\nAuthorization: b"}};
        QCOMPARE(client.send(request, {}).error().code, base::ErrorCode::Corrupt);
    }
};

ML_TEST_MAIN(HttpClientTest)
#include "tst_HttpClient.moc"
