// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/workerclient/WorkerClient.h"

#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QDir>
#include <QTemporaryDir>
#include <QTest>

#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

using modulelens::base::ErrorCode;
using nlohmann::json;
using namespace modulelens;
using namespace modulelens::workerclient;

namespace {

const json kRunResult = {{"file", "/none"}, {"outputs", json::array()}, {"host_ns", 7}};

LaunchCommand scripted(const json& script, const QTemporaryDir& scratch) {
    return {{test::programPath("scripted-worker").string(), script.dump()}, scratch.path().toStdString(), std::nullopt};
}

protocol::CallParams anyCall() {
    protocol::CallParams params;
    params.handle = 1;
    params.call = json::object();
    return params;
}

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

} // namespace

class WorkerClientTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_scratch = std::make_unique<QTemporaryDir>(); }
    void cleanup() {
        // Whatever happened, the client left nothing of its own behind.
        QCOMPARE(QDir(m_scratch->path()).entryList({QStringLiteral("modulelens-worker-*")}, QDir::AllEntries), QStringList());
        m_scratch.reset();
    }

    void firstRequest_startsTheWorker() {
        WorkerClient client(scripted(json::object(), *m_scratch));
        QCOMPARE(client.generation(), 0);
        QCOMPARE(client.processId(), 0);
        const auto facts = client.initialize({});
        QVERIFY2(facts.hasValue(), facts.hasValue() ? "" : facts.error().message.c_str());
        QCOMPARE(facts->worker, std::string("scripted-worker"));
        QCOMPARE(facts->devices.size(), 1U);
        QCOMPARE(client.generation(), 1);
        QVERIFY(client.processId() > 0);
        QCOMPARE(::kill(static_cast<pid_t>(client.processId()), 0), 0);
    }

    void destructor_endsTheWorker() {
        pid_t worker = 0;
        {
            WorkerClient client(scripted(json::object(), *m_scratch));
            QVERIFY(client.initialize({}).hasValue());
            worker = static_cast<pid_t>(client.processId());
        }
        QCOMPARE(::kill(worker, 0), -1);
        QCOMPARE(errno, ESRCH);
    }

    void unusedClient_endsWithoutAWorker() {
        const WorkerClient client(scripted(json::object(), *m_scratch));
        QCOMPARE(client.generation(), 0);
    }

    void preparedClient_startsOnce() {
        WorkerClient client(scripted(json::object(), *m_scratch));
        client.prepare();
        client.prepare();
        QVERIFY(client.initialize({}).hasValue());
        QCOMPARE(client.generation(), 1);
    }

    void results_areTyped() {
        WorkerClient client(scripted({{"load", {{{{"reply", {{"handle", 3}, {"load_ns", 5}, {"operator_count", 2}}}}}}},
                                      {"run", {{{{"reply", kRunResult}}}}}},
                                     *m_scratch));
        const auto loaded = client.load(protocol::LoadParams{}, {});
        QVERIFY(loaded.hasValue());
        QCOMPARE(loaded->handle, 3);
        const auto ran = client.run(anyCall(), {});
        QVERIFY(ran.hasValue());
        QCOMPARE(ran->hostNs, 7);
        QVERIFY(client.unload(3, {}).hasValue());
    }

    void workersError_keepsItsCodeAndMessage() {
        WorkerClient client(scripted({{"run", {{{{"error", {{"code", -32001}, {"message", "no handle 1"}}}}}}}}, *m_scratch));
        const auto ran = client.run(anyCall(), {});
        QCOMPARE(ran.error().code, ErrorCode::NotFound);
        QCOMPARE(ran.error().message, std::string("no handle 1"));
        QCOMPARE(client.generation(), 1);
    }

    void malformedResult_isTheWorkersFault() {
        WorkerClient client(scripted({{"run", {{{{"reply", {{"file", 1}}}}}}}}, *m_scratch));
        const auto ran = client.run(anyCall(), {});
        QCOMPARE(ran.error().code, ErrorCode::WorkerCrashed);
        QVERIFY(contains(ran.error().message, "'file'"));
    }

    void progressAndLog_arriveBeforeTheResult() {
        WorkerClient client(scripted({{"run",
                                       {{{{"progress", {{"stage", "timing"}, {"done", 1}, {"total", 2}}}},
                                         {{"log", "hello"}},
                                         {{"reply", kRunResult}}}}}},
                                     *m_scratch));
        std::vector<std::string> seen;
        RequestContext context;
        context.progress = [&](const protocol::Progress& progress) {
            seen.push_back(progress.stage + " " + std::to_string(progress.done) + "/" + std::to_string(progress.total));
        };
        context.log = [&](const std::string& line) { seen.push_back(line); };
        QVERIFY(client.run(anyCall(), context).hasValue());
        QCOMPARE(seen, (std::vector<std::string>{"timing 1/2", "hello"}));
    }

    void death_isNamed_data() {
        QTest::addColumn<int>("signal");
        QTest::addColumn<QByteArray>("name");
        QTest::newRow("killed") << SIGKILL << QByteArray("SIGKILL");
        QTest::newRow("segmentation fault") << SIGSEGV << QByteArray("SIGSEGV");
        QTest::newRow("abort") << SIGABRT << QByteArray("SIGABRT");
    }
    void death_isNamed() {
        QFETCH(const int, signal);
        QFETCH(const QByteArray, name);
        WorkerClient client(scripted({{"profile", {{{{"stderr", "about to die"}}, {{"crash", signal}}}}}}, *m_scratch));
        const auto profiled = client.profile({}, {});
        QCOMPARE(profiled.error().code, ErrorCode::WorkerCrashed);
        QVERIFY2(contains(profiled.error().message, name.constData()), profiled.error().message.c_str());
        QVERIFY(contains(profiled.error().message, "'profile'"));
        QVERIFY(contains(profiled.error().message, "about to die"));
        QCOMPARE(client.processId(), 0);
    }

    void exitWithoutAnswer_namesTheCode() {
        WorkerClient client(scripted({{"run", {{{{"exit", 3}}}}}}, *m_scratch));
        const auto ran = client.run(anyCall(), {});
        QCOMPARE(ran.error().code, ErrorCode::WorkerCrashed);
        QVERIFY(contains(ran.error().message, "exit code 3"));
    }

    void halfAnAnswer_isACrash() {
        WorkerClient client(scripted({{"run", {{{{"half", true}}}}}}, *m_scratch));
        QCOMPARE(client.run(anyCall(), {}).error().code, ErrorCode::WorkerCrashed);
    }

    void afterACrash_theNextRequestStartsANewWorker() {
        const std::string marker = m_scratch->filePath(QStringLiteral("crashed")).toStdString();
        WorkerClient client(
            scripted({{"run", {{{{"crash", SIGKILL}, {"once", marker}}, {{"reply", kRunResult}}}}}}, *m_scratch));
        QCOMPARE(client.run(anyCall(), {}).error().code, ErrorCode::WorkerCrashed);
        QVERIFY(client.run(anyCall(), {}).hasValue());
        QCOMPARE(client.generation(), 2);
    }

    void garbage_isACrashAndTheNextRequestIsGood_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("text") << QByteArray("hello\n");
        QTest::newRow("not JSON") << QByteArray("Content-Length: 5\r\n\r\nhello");
        QTest::newRow("huge") << QByteArray("Content-Length: 999999999999\r\n\r\n");
        QTest::newRow("answer to nothing") << QByteArray(
            "Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":null}");
    }
    void garbage_isACrashAndTheNextRequestIsGood() {
        QFETCH(const QByteArray, bytes);
        const std::string marker = m_scratch->filePath(QStringLiteral("marker")).toStdString();
        WorkerClient client(
            scripted({{"run", {{{{"stdout", bytes.toStdString()}, {"once", marker}}, {{"reply", kRunResult}}}}}}, *m_scratch));
        const auto ran = client.run(anyCall(), {});
        QCOMPARE(ran.error().code, ErrorCode::WorkerCrashed);
        QVERIFY(!ran.error().fix.empty());
        QVERIFY(client.run(anyCall(), {}).hasValue());
    }

    void missingProgram_isNamed() {
        WorkerClient client({{"/nowhere/modulelens-worker"}, m_scratch->path().toStdString(), std::nullopt});
        for (int attempt = 0; attempt < 2; ++attempt) {
            const auto facts = client.initialize({});
            QCOMPARE(facts.error().code, ErrorCode::EnvironmentMissing);
            QVERIFY(contains(facts.error().message, "/nowhere/modulelens-worker"));
            QVERIFY(!facts.error().fix.empty());
        }
    }

    void programThatCannotLoad_isMissingEnvironment() {
        WorkerClient client({{"/bin/sh", "-c", "echo 'libtorch.so: cannot open' >&2; exit 127"},
                             m_scratch->path().toStdString(),
                             std::nullopt});
        const auto facts = client.initialize({});
        QCOMPARE(facts.error().code, ErrorCode::EnvironmentMissing);
        QVERIFY(contains(facts.error().message, "libtorch.so"));
    }

    void otherProtocolVersion_isRefused() {
        const json facts = {{"protocol_version", 99},       {"worker", "future"}, {"engine", "program"},
                            {"torch_version", "9"},         {"threads", 1},       {"devices", json::array()},
                            {"capabilities", json::array()}};
        WorkerClient client(scripted({{"initialize", {{{{"reply", facts}}}}}}, *m_scratch));
        const auto ran = client.run(anyCall(), {});
        QCOMPARE(ran.error().code, ErrorCode::EnvironmentMissing);
        QVERIFY(contains(ran.error().message, "99"));
    }

    void unwritableScratch_isNamed() {
        WorkerClient client({{test::programPath("scripted-worker").string()}, "/proc/nowhere", std::nullopt});
        const auto facts = client.initialize({});
        QCOMPARE(facts.error().code, ErrorCode::PermissionDenied);
        QVERIFY(contains(facts.error().message, "/proc/nowhere"));
    }

    void cancel_isAnsweredByTheWorker() {
        WorkerClient client(scripted(
            {{"run", {{{{"progress", {{"stage", "timing"}}}}, {{"until_cancelled", true}}}, {{{"reply", kRunResult}}}}}},
            *m_scratch));
        std::stop_source stop;
        RequestContext context;
        context.stop = stop.get_token();
        context.progress = [&](const protocol::Progress&) { stop.request_stop(); };
        QCOMPARE(client.run(anyCall(), context).error().code, ErrorCode::Cancelled);
        QVERIFY(client.run(anyCall(), {}).hasValue());
        QCOMPARE(client.generation(), 1);
    }

    void cancelOfADeafWorker_killsIt() {
        const std::string marker = m_scratch->filePath(QStringLiteral("marker")).toStdString();
        WorkerClient client(scripted(
            {{"run", {{{{"progress", {{"stage", "timing"}}}}, {{"never", true}, {"once", marker}}, {{"reply", kRunResult}}}}}},
            *m_scratch));
        std::stop_source stop;
        RequestContext context;
        context.stop = stop.get_token();
        context.progress = [&](const protocol::Progress&) { stop.request_stop(); };
        QCOMPARE(client.run(anyCall(), context).error().code, ErrorCode::Cancelled);
        QVERIFY(client.run(anyCall(), {}).hasValue());
        QCOMPARE(client.generation(), 2);
    }

    void cancelledBefore_isNotSent() {
        WorkerClient client(scripted(json::object(), *m_scratch));
        std::stop_source stop;
        stop.request_stop();
        RequestContext context;
        context.stop = stop.get_token();
        QCOMPARE(client.run(anyCall(), context).error().code, ErrorCode::Cancelled);
        QCOMPARE(client.generation(), 0);
    }

    void timeout_isReportedAsSuch() {
        WorkerClient client(scripted({{"run", {{{{"until_cancelled", true}}}}}}, *m_scratch));
        RequestContext context;
        context.timeout = std::chrono::milliseconds(1);
        QCOMPARE(client.run(anyCall(), context).error().code, ErrorCode::Timeout);
    }

    void timeoutDuringStart_ends() {
        WorkerClient client(scripted({{"initialize", {{{{"never", true}}}}}}, *m_scratch));
        RequestContext context;
        context.timeout = std::chrono::milliseconds(20);
        QCOMPARE(client.run(anyCall(), context).error().code, ErrorCode::Timeout);
        QCOMPARE(client.run(anyCall(), context).error().code, ErrorCode::Timeout);
    }

    void startWithoutEnd_isATimeoutAfterTheLimit() {
        LaunchCommand command = scripted({{"initialize", {{{{"never", true}}}}}}, *m_scratch);
        command.startLimit = std::chrono::milliseconds(1);
        WorkerClient client(command);
        const auto answer = client.run(anyCall(), {});
        QCOMPARE(answer.error().code, ErrorCode::Timeout);
        QVERIFY2(contains(answer.error().message, "scripted-worker"), answer.error().message.c_str());
    }

    void programThatRepeatsWhatItReads_isGarbage() {
        WorkerClient client({{"/bin/cat"}, m_scratch->path().toStdString(), std::nullopt});
        const auto answer = client.run(anyCall(), {});
        QCOMPARE(answer.error().code, ErrorCode::WorkerCrashed);
        QVERIFY2(contains(answer.error().message, "garbage"), answer.error().message.c_str());
    }

    void leftoversOfKilledClients_areSweptByTheNextStart() {
        const QDir parent(m_scratch->path());
        QVERIFY(parent.mkpath(QStringLiteral("modulelens-worker-dead00/inner")));
        QVERIFY(parent.mkpath(QStringLiteral("somebody-elses")));
        WorkerClient first(scripted(json::object(), *m_scratch));
        QVERIFY(first.initialize({}).hasValue());
        QVERIFY(!parent.exists(QStringLiteral("modulelens-worker-dead00")));
        QVERIFY(parent.exists(QStringLiteral("somebody-elses")));
        const auto folders = [&] { return parent.entryList({QStringLiteral("modulelens-worker-*")}, QDir::Dirs); };
        const QStringList ofFirst = folders();
        QCOMPARE(ofFirst.size(), 1);
        WorkerClient second(scripted(json::object(), *m_scratch));
        QVERIFY(second.initialize({}).hasValue());
        QVERIFY(folders().contains(ofFirst.front()));
        QCOMPARE(folders().size(), 2);
    }

    void scratchFolderThatWasCleanedAway_isMadeAgain() {
        QDir parent(m_scratch->path());
        const auto folders = [&] { return parent.entryList({QStringLiteral("modulelens-worker-*")}, QDir::Dirs); };
        WorkerClient client(scripted({{"run", {{{{"crash", SIGKILL}}}}}}, *m_scratch));
        QCOMPARE(client.run(anyCall(), {}).error().code, ErrorCode::WorkerCrashed);
        QCOMPARE(folders().size(), 1);
        QVERIFY(QDir(parent.filePath(folders().front())).removeRecursively());
        QVERIFY(client.initialize({}).hasValue());
        QCOMPARE(client.generation(), 2);
        QCOMPARE(folders().size(), 1);
    }

    void endOfClient_completesOpenRequestsAsCancelled() {
        std::promise<void> running;
        auto client = std::make_unique<WorkerClient>(
            scripted({{"run", {{{{"progress", {{"stage", "timing"}}}}, {{"until_cancelled", true}}}}}}, *m_scratch));
        std::future<ErrorCode> answer = std::async(std::launch::async, [&client = *client, &running] {
            RequestContext context;
            context.progress = [&](const protocol::Progress&) { running.set_value(); };
            return client.run(anyCall(), context).error().code;
        });
        running.get_future().wait();
        client.reset();
        QCOMPARE(answer.get(), ErrorCode::Cancelled);
    }

    void manyThreads_eachGetTheirOneAnswer() {
        constexpr int kThreads = 8;
        constexpr int kRequests = 25;
        WorkerClient client(scripted({{"run", {{{{"reply", kRunResult}}}}}}, *m_scratch));
        std::atomic<int> answers = 0;
        {
            std::vector<std::jthread> threads;
            threads.reserve(kThreads);
            for (int i = 0; i < kThreads; ++i) {
                threads.emplace_back([&] {
                    for (int k = 0; k < kRequests; ++k) {
                        answers += client.run(anyCall(), {}).hasValue() ? 1 : 0;
                    }
                });
            }
        }
        QCOMPARE(answers.load(), kThreads * kRequests);
        QCOMPARE(client.generation(), 1);
    }

    void crashWithSeveralRequestsOpen_completesThemAll() {
        const std::string marker = m_scratch->filePath(QStringLiteral("marker")).toStdString();
        const std::string pipe = m_scratch->filePath(QStringLiteral("go")).toStdString();
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        WorkerClient client(scripted({{"run",
                                       {{{{"wait", pipe}, {"once", marker + "1"}},
                                         {{"crash", SIGKILL}, {"once", marker + "2"}},
                                         {{"reply", kRunResult}}}}}},
                                     *m_scratch));
        std::vector<std::future<bool>> answers;
        answers.reserve(4);
        for (int i = 0; i < 4; ++i) {
            answers.push_back(std::async(std::launch::async, [&] {
                const auto ran = client.run(anyCall(), {});
                return !ran && ran.error().code == ErrorCode::WorkerCrashed;
            }));
        }
        std::ofstream(pipe).put('x');
        int crashed = 0;
        for (std::future<bool>& answer : answers) {
            crashed += answer.get() ? 1 : 0;
        }
        // One was running; the others were in the worker's queue, or came after its death and got a new worker.
        QVERIFY(crashed >= 1);
        QVERIFY(client.run(anyCall(), {}).hasValue());
        QCOMPARE(client.generation(), 2);
    }

private:
    std::unique_ptr<QTemporaryDir> m_scratch;
};

ML_TEST_MAIN(WorkerClientTest)
#include "tst_WorkerClient.moc"
