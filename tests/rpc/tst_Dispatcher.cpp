// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/rpc/Dispatcher.h"

#include "backend/rpc/Framing.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using modulelens::base::Error;
using modulelens::base::ErrorCode;
using modulelens::base::Result;
using nlohmann::json;
using namespace modulelens::rpc;

namespace {

constexpr int kCancelledCode = -1;

Response::ErrorObject encode(const Error& error) {
    return {error.code == ErrorCode::Cancelled ? kCancelledCode : -2, error.message, nullptr};
}

/// A dispatcher whose output is kept.
struct Served {
    std::mutex mutex;
    std::condition_variable arrived;
    std::vector<Response> responses;
    std::vector<Notification> notifications;
    FrameReader frames;
    Dispatcher dispatcher{[this](std::string_view framed) { take(framed); }, encode};

    void take(std::string_view framed) {
        const std::lock_guard lock(mutex);
        frames.append(framed);
        const auto body = frames.next();
        const auto message = parseMessage(**body);
        if (const auto* response = std::get_if<Response>(&*message)) {
            responses.push_back(*response);
        } else {
            notifications.push_back(std::get<Notification>(*message));
        }
        arrived.notify_all();
    }

    void send(const Message& message) { QVERIFY(dispatcher.receive(frameMessage(serializeMessage(message))).hasValue()); }

    void waitForResponses(std::size_t count) {
        std::unique_lock lock(mutex);
        arrived.wait(lock, [&] { return responses.size() >= count; });
    }
};

} // namespace

class DispatcherTest : public QObject {
    Q_OBJECT

private slots:
    void request_isAnsweredByItsHandler() {
        Served served;
        served.dispatcher.addMethod("add", [](const json& params, const RequestInfo&) -> Result<json> {
            return json(params["a"].get<int>() + params["b"].get<int>());
        });
        served.send(Request{5, "add", {{"a", 2}, {"b", 3}}});
        QVERIFY(served.responses.empty());
        QVERIFY(served.dispatcher.runNext());
        QCOMPARE(served.responses.size(), 1U);
        QCOMPARE(served.responses[0].id, std::optional<std::int64_t>(5));
        QVERIFY(*served.responses[0].result == json(5));
    }

    void failingAndThrowingHandlers_answerWithAnError() {
        Served served;
        served.dispatcher.addMethod("fail", [](const json&, const RequestInfo&) -> Result<json> {
            return Error{ErrorCode::NotFound, "no such thing", {}};
        });
        served.dispatcher.addMethod("throw",
                                    [](const json&, const RequestInfo&) -> Result<json> { throw std::runtime_error("boom"); });
        served.send(Request{1, "fail", json::object()});
        served.send(Request{2, "throw", json::object()});
        QVERIFY(served.dispatcher.runNext());
        QVERIFY(served.dispatcher.runNext());
        QCOMPARE(served.responses.size(), 2U);
        QCOMPARE(served.responses[0].error->message, std::string("no such thing"));
        QVERIFY(served.responses[1].error->message.find("boom") != std::string::npos);
    }

    void unknownMethod_isAnsweredAtOnce() {
        Served served;
        served.send(Request{1, "nonsense", json::object()});
        QCOMPARE(served.responses.size(), 1U);
        QCOMPARE(served.responses[0].error->code, -32601);
        QVERIFY(served.responses[0].error->message.find("nonsense") != std::string::npos);
    }

    void unreadableMessage_isAnsweredAndTheConnectionGoesOn() {
        Served served;
        served.dispatcher.addMethod("x", [](const json&, const RequestInfo&) -> Result<json> { return json(1); });
        QVERIFY(served.dispatcher.receive(frameMessage("{")).hasValue());
        QCOMPARE(served.responses.size(), 1U);
        QVERIFY(!served.responses[0].id);
        served.send(Request{1, "x", json::object()});
        QVERIFY(served.dispatcher.runNext());
        QCOMPARE(served.responses.size(), 2U);
    }

    void brokenFraming_isCorrupt() {
        Served served;
        const auto received = served.dispatcher.receive("garbage\n");
        QVERIFY(!received.hasValue());
        QCOMPARE(received.error().code, ErrorCode::Corrupt);
    }

    void idInUse_isRefused() {
        Served served;
        served.dispatcher.addMethod("x", [](const json&, const RequestInfo&) -> Result<json> { return json(1); });
        served.send(Request{1, "x", json::object()});
        served.send(Request{1, "x", json::object()});
        QCOMPARE(served.responses.size(), 1U);
        QVERIFY(served.responses[0].error.has_value());
        QVERIFY(served.dispatcher.runNext());
        QVERIFY(served.responses[1].result.has_value());
    }

    void queuedRequest_isCancelledWithoutRunning() {
        Served served;
        bool ran = false;
        served.dispatcher.addMethod("x", [&](const json&, const RequestInfo&) -> Result<json> {
            ran = true;
            return json(1);
        });
        served.send(Request{1, "x", json::object()});
        served.send(Notification{kCancelMethod, {{"id", 1}}});
        served.send(Notification{kCancelMethod, {{"id", 1}}});
        served.send(Notification{kCancelMethod, {{"id", "x"}}});
        served.send(Notification{kCancelMethod, json::array()});
        QCOMPARE(served.responses.size(), 1U);
        QCOMPARE(served.responses[0].error->code, kCancelledCode);
        served.dispatcher.close();
        QVERIFY(!served.dispatcher.runNext());
        QVERIFY(!ran);
    }

    void runningRequest_seesItsCancellation() {
        Served served;
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::mutex startMutex;
        std::condition_variable startedSignal;
        bool started = false;
        served.dispatcher.addMethod("wait", [&](const json&, const RequestInfo& request) -> Result<json> {
            {
                const std::lock_guard lock(startMutex);
                started = true;
            }
            startedSignal.notify_all();
            std::unique_lock lock(mutex);
            stopped.wait(lock, request.stop, [] { return false; });
            return Error{ErrorCode::Cancelled, "stopped", {}};
        });
        std::jthread executor([&] {
            while (served.dispatcher.runNext()) {
            }
        });
        served.send(Request{1, "wait", json::object()});
        {
            std::unique_lock lock(startMutex);
            startedSignal.wait(lock, [&] { return started; });
        }
        served.send(Request{2, "wait", json::object()});
        served.send(Notification{kCancelMethod, {{"id", 1}}});
        served.waitForResponses(1);
        QCOMPARE(served.responses[0].id, std::optional<std::int64_t>(1));
        QCOMPARE(served.responses[0].error->code, kCancelledCode);
        served.dispatcher.close();
        executor.join();
        QCOMPARE(served.responses.size(), 2U);
        QCOMPARE(served.responses[1].error->code, kCancelledCode);
    }

    void manyRequestsAndCancellations_areEachAnsweredOnce() {
        constexpr int kRequests = 300;
        Served served;
        served.dispatcher.addMethod("x", [](const json&, const RequestInfo& request) -> Result<json> {
            if (request.stop.stop_requested()) {
                return Error{ErrorCode::Cancelled, "stopped", {}};
            }
            return json(1);
        });
        std::jthread executor([&] {
            while (served.dispatcher.runNext()) {
            }
        });
        for (int id = 0; id < kRequests; ++id) {
            served.send(Request{id, "x", json::object()});
            if (id % 2 == 1) {
                served.send(Notification{kCancelMethod, {{"id", id - 1}}});
            }
        }
        served.waitForResponses(kRequests);
        served.dispatcher.close();
        executor.join();
        std::map<std::int64_t, int> answers;
        for (const Response& response : served.responses) {
            ++answers[*response.id];
        }
        QCOMPARE(answers.size(), static_cast<std::size_t>(kRequests));
        QCOMPARE(served.responses.size(), static_cast<std::size_t>(kRequests));
    }

    void requestAfterClose_isCancelled() {
        Served served;
        served.dispatcher.addMethod("x", [](const json&, const RequestInfo&) -> Result<json> { return json(1); });
        served.dispatcher.close();
        served.send(Request{1, "x", json::object()});
        QCOMPARE(served.responses.size(), 1U);
        QCOMPARE(served.responses[0].error->code, kCancelledCode);
    }

    void notification_isFramed() {
        Served served;
        served.dispatcher.notify("$/progress", {{"done", 1}});
        QCOMPARE(served.notifications.size(), 1U);
        QCOMPARE(served.notifications[0].method, std::string("$/progress"));
    }
};

ML_TEST_MAIN(DispatcherTest)
#include "tst_Dispatcher.moc"
