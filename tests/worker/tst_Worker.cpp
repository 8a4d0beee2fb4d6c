// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/MemoryMessages.h"
#include "backend/protocol/WorkerMessages.h"
#include "backend/rpc/Framing.h"
#include "backend/rpc/Message.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <stdexcept>

using namespace modulelens;
using nlohmann::json;

namespace {

constexpr int kPatienceMs = 120'000;
constexpr std::int64_t kCodeIds = 1000;

/// Which worker the transcripts are for: the built one, or with MODULELENS_TEST_WORKER=source the Python one.
bool isPython() {
    return qEnvironmentVariable("MODULELENS_TEST_WORKER") == QLatin1String("source");
}

/// The worker, spoken to in bytes.
class Worker {
public:
    explicit Worker(const char* fault = nullptr) {
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        if (fault != nullptr) {
            environment.insert(QStringLiteral("MODULELENS_WORKER_FAULT"), QString::fromLatin1(fault));
        }
        QString program = QString::fromStdString(test::programPath("modulelens-worker").string());
        QStringList arguments;
        if (isPython()) {
            program = environment.value(QStringLiteral("MODULELENS_PYTHON"));
            arguments = {QStringLiteral("-m"), QStringLiteral("modulelens"), QStringLiteral("worker")};
            environment.insert(QStringLiteral("PYTHONPATH"),
                               environment.value(QStringLiteral("MODULELENS_SOURCE_DIR")) + QStringLiteral("/backend/python"));
        }
        process.setProcessEnvironment(environment);
        process.setProcessChannelMode(QProcess::SeparateChannels);
        process.start(program, arguments);
        if (!process.waitForStarted(kPatienceMs)) {
            throw std::runtime_error("the worker does not start");
        }
    }
    ~Worker() {
        process.kill();
        process.waitForFinished(kPatienceMs);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void sendBytes(std::string_view bytes) {
        process.write(bytes.data(), static_cast<qint64>(bytes.size()));
        process.waitForBytesWritten(kPatienceMs);
    }
    void send(std::int64_t id, const std::string& method, const json& params) {
        sendBytes(rpc::frameMessage(rpc::serializeMessage(rpc::Request{id, method, params})));
    }
    void cancel(std::int64_t id) {
        sendBytes(rpc::frameMessage(rpc::serializeMessage(rpc::Notification{protocol::method::kCancel, {{"id", id}}})));
    }

    /// The next message; throws when the output ends or holds anything else.
    rpc::Message next() {
        while (true) {
            auto body = m_frames.next();
            if (!body) {
                throw std::runtime_error(body.error().message);
            }
            if (*body) {
                auto message = rpc::parseMessage(**body);
                if (!message) {
                    throw std::runtime_error(message.error().message);
                }
                return *std::move(message);
            }
            if (process.bytesAvailable() == 0 && !process.waitForReadyRead(kPatienceMs)) {
                throw std::runtime_error("the worker's output has ended");
            }
            const QByteArray bytes = process.readAllStandardOutput();
            m_frames.append({bytes.constData(), static_cast<std::size_t>(bytes.size())});
        }
    }
    /// The next answer; notifications before it are dropped.
    rpc::Response answer() {
        while (true) {
            rpc::Message message = next();
            if (auto* response = std::get_if<rpc::Response>(&message)) {
                return std::move(*response);
            }
        }
    }
    int errorOf(std::int64_t id, const std::string& method, const json& params) {
        send(id, method, params);
        const rpc::Response response = answer();
        return response.error ? response.error->code : 0;
    }

    /// The answer to a load of the module with whatever this worker needs for it.
    rpc::Response load(std::int64_t id, const test::CapturedModule& module) {
        json params = protocol::toJson(module.loadParams());
        if (isPython()) {
            params["source"] = module.source();
            send(id + kCodeIds, "code", {{"source", params["source"]}});
            const json digest = (*answer().result)["sha256"];
            params["consent"] = digest.is_null() ? json::array() : json::array({digest});
        }
        send(id, protocol::method::kLoad, params);
        return answer();
    }

    void initialize() {
        protocol::InitializeParams params;
        params.client = "test";
        params.scratchFolder = scratch.path().toStdString();
        params.threads = 1;
        send(0, protocol::method::kInitialize, protocol::toJson(params));
        const rpc::Response response = answer();
        if (!response.result) {
            throw std::runtime_error("the worker does not initialize");
        }
        initialized = *protocol::parseInitializeResult(*response.result);
    }

    /// Exit code, or -1 when it crashed.
    int finish() {
        if (!process.waitForFinished(kPatienceMs)) {
            throw std::runtime_error("the worker does not end");
        }
        return process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    }

    QProcess process;
    QTemporaryDir scratch;
    protocol::InitializeResult initialized;

private:
    rpc::FrameReader m_frames;
};

/// Starts a benchmark that never ends by itself, and waits until it runs.
void startEndlessBenchmark(Worker& worker, std::int64_t id) {
    const test::CapturedModule module("perceptron");
    const auto loaded = protocol::parseLoadResult(*worker.load(id - 1, module).result);
    protocol::BenchmarkParams params;
    params.call = module.callParams(loaded.value().handle);
    params.repetitions = 1 << 30;
    params.budgetMs = 3'600'000;
    worker.send(id, protocol::method::kBenchmark, protocol::toJson(params));
    while (true) {
        const rpc::Message message = worker.next();
        const auto* notification = std::get_if<rpc::Notification>(&message);
        if (notification != nullptr && notification->params.value("request_id", std::int64_t{-1}) == id) {
            return;
        }
    }
}

}  // namespace

/// Transcripts of the real workers: ctest runs them as worker.Worker and worker.PythonWorker.
class WorkerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initialize_namesDevicesAndMethods() {
        Worker worker;
        worker.initialize();
        QCOMPARE(worker.initialized.engine, std::string(isPython() ? "source" : "program"));
        QCOMPARE(worker.initialized.threads, 1);
        QCOMPARE(worker.initialized.devices.at(0).name, std::string("cpu"));
        QVERIFY(!worker.initialized.torchVersion.empty());
        QVERIFY(worker.initialized.worker.starts_with(isPython() ? "modulelens-python-worker " : "modulelens-worker "));
        QVERIFY(worker.initialized.capabilities.size() >= 9U);
    }

    void requestsBeforeInitialize_areRefused() {
        Worker worker;
        QCOMPARE(worker.errorOf(1, "load", json::object()), -32602);
    }

    void unknownMethod_isAnswered() {
        Worker worker;
        QCOMPARE(worker.errorOf(7, "dance", json::object()), -32601);
        worker.initialize();
    }

    void wrongParams_areInvalidArguments_data() {
        QTest::addColumn<QString>("method");
        for (const char* name :
             {"load", "unload", "run", "validate", "benchmark", "calibrate", "profile", "memory", "gradients"}) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }
    void wrongParams_areInvalidArguments() {
        QFETCH(QString, method);
        Worker worker;
        worker.initialize();
        const std::vector<std::string>& known = worker.initialized.capabilities;
        if (std::find(known.begin(), known.end(), method.toStdString()) == known.end()) {
            QCOMPARE(worker.errorOf(1, method.toStdString(), json::array()), -32601);
            return;
        }
        QCOMPARE(worker.errorOf(1, method.toStdString(), json::array()), -32602);
        QCOMPARE(worker.errorOf(2, method.toStdString(), {{"handle", "seven"}}), -32602);
    }

    void missingScratchFolder_isNotFound() {
        Worker worker;
        QCOMPARE(worker.errorOf(1, "initialize", {{"protocol_version", 1}, {"client", "t"}, {"scratch_folder", "/no/such"}}),
                 -32001);
    }

    void bodyThatIsNoJson_isAnsweredWithoutId() {
        Worker worker;
        worker.sendBytes(rpc::frameMessage("{"));
        const rpc::Response response = worker.answer();
        QVERIFY(!response.id && response.error);
        worker.initialize();
    }

    void brokenFraming_endsTheWorker() {
        Worker worker;
        worker.sendBytes("GET / HTTP/1.1\r\n\r\n");
        QCOMPARE(worker.finish(), 1);
    }

    void endOfInput_endsTheWorker() {
        Worker worker;
        worker.initialize();
        worker.process.closeWriteChannel();
        QCOMPARE(worker.finish(), 0);
    }

    void endOfInputInsideAMessage_endsTheWorker() {
        Worker worker;
        worker.sendBytes("Content-Length: 100\r\n\r\n{");
        worker.process.closeWriteChannel();
        QCOMPARE(worker.finish(), 1);
    }

    void endOfInputWhileRunning_endsTheWorker() {
        requireCaptures();
        Worker worker;
        worker.initialize();
        startEndlessBenchmark(worker, 2);
        worker.process.closeWriteChannel();
        QCOMPARE(worker.finish(), 0);
    }

    void cancel_stopsARunAndTheNextOneWorks() {
        requireCaptures();
        Worker worker;
        worker.initialize();
        startEndlessBenchmark(worker, 2);
        worker.cancel(2);
        const rpc::Response response = worker.answer();
        QCOMPARE(response.id.value_or(-1), 2);
        QVERIFY(response.error.has_value());
        QCOMPARE(response.error->code, -32800);
        const test::CapturedModule module("perceptron");
        worker.send(3, "validate", protocol::toJson(module.callParams(1)));
        const auto verdict = protocol::parseValidateResult(*worker.answer().result);
        QVERIFY(verdict.value().verdict == "pass" && verdict.value().exact);
    }

    void queuedRequest_canBeCancelled() {
        requireCaptures();
        Worker worker;
        worker.initialize();
        startEndlessBenchmark(worker, 2);
        worker.send(3, "unload", {{"handle", 1}});
        worker.cancel(3);
        QCOMPARE(worker.answer().id.value_or(-1), 3);
        worker.cancel(2);
        QCOMPARE(worker.answer().id.value_or(-1), 2);
    }

    void unload_forgetsTheHandle() {
        requireCaptures();
        Worker worker;
        worker.initialize();
        const test::CapturedModule module("linear");
        QVERIFY(worker.load(1, module).result.has_value());
        QCOMPARE(worker.errorOf(2, "unload", {{"handle", 1}}), 0);
        QCOMPARE(worker.errorOf(3, "validate", protocol::toJson(module.callParams(1))), -32001);
    }

    void memory_givesTotalsAndATimeline() {
        requireCaptures();
        Worker worker;
        worker.initialize();
        const test::CapturedModule module("perceptron");
        (void)worker.load(1, module);
        protocol::MemoryParams params;
        params.call = module.callParams(1);
        worker.send(2, "memory", protocol::toJson(params));
        const auto result = protocol::parseMemoryResult(*worker.answer().result);
        QVERIFY(result && result.value().peakBytes && result.value().trainingPeakBytes);
        QCOMPARE(result.value().activationBytes.value_or(-1), 3072);
        QVERIFY(std::filesystem::exists(result.value().file) && std::filesystem::exists(result.value().timelineFile));
    }

    void outOfMemory_isAnsweredAndTheWorkerGoesOn_data() {
        QTest::addColumn<QString>("method");
        QTest::addColumn<QString>("name");
        // One result is too large, or what is kept for backward is.
        for (const char* method : {"run", "validate", "benchmark", "profile", "memory", "gradients"}) {
            QTest::addRow("%s of large", method) << QString::fromLatin1(method) << "large";
        }
        for (const char* method : {"profile", "memory", "gradients"}) {
            QTest::addRow("%s of deep", method) << QString::fromLatin1(method) << "deep";
        }
    }
    void outOfMemory_isAnsweredAndTheWorkerGoesOn() {
#if defined(__SANITIZE_ADDRESS__)
        QSKIP("the sanitizer needs more address space than the limit leaves");
#endif
        requireCaptures();
        QFETCH(QString, method);
        QFETCH(QString, name);
        Worker worker(("memory-limit-in:" + method.toStdString()).c_str());
        worker.initialize();
        const test::CapturedModule module(name.toStdString(), "training");
        QVERIFY(worker.load(1, module).result.has_value());
        protocol::CallParams call = module.callParams(1);
        call.threads = 1;
        json params = protocol::toJson(call);
        if (method == "benchmark" || method == "profile" || method == "memory") {
            params = {{"call", params}, {"train", "adam"}, {"repetitions", 3}};
        }
        QCOMPARE(worker.errorOf(2, method.toStdString(), params), -32009);
        // The limit is gone with the method.
        const char* other = method == "validate" ? "run" : "validate";
        worker.send(3, other, protocol::toJson(call));
        const rpc::Response response = worker.answer();
        QVERIFY(response.result.has_value());
        // Not always exact: the mean of a large tensor rounds differently with another number of threads.
        QVERIFY(std::string(other) == "run" || protocol::parseValidateResult(*response.result).value().verdict == "pass");
    }

    void shutdown_isAnsweredAndEndsTheWorker() {
        Worker worker;
        worker.initialize();
        QCOMPARE(worker.errorOf(1, "shutdown", json::object()), 0);
        QCOMPARE(worker.finish(), 0);
    }

    void faults_doWhatTheySay() {
        Worker crashing("crash-in:unload");
        crashing.initialize();
        crashing.send(1, "unload", {{"handle", 1}});
        QCOMPARE(crashing.finish(), -1);
        Worker babbling("garbage-after:1");
        babbling.initialize();
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, (void)babbling.next());
    }

private:
    static void requireCaptures() {
        if (test::capturedModules().empty()) {
            throw std::runtime_error("no captures: ctest makes them in engine.captures");
        }
    }
};

ML_TEST_MAIN(WorkerTest)
#include "tst_Worker.moc"
