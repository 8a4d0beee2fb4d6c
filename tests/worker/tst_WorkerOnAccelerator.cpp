// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/CalibrateMessages.h"
#include "backend/protocol/MemoryMessages.h"
#include "backend/workerclient/WorkerClient.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QTemporaryDir>
#include <QTest>

using namespace modulelens;
using base::ErrorCode;

/// The built worker with the fake accelerator (tests/support/FakeDevice.h) loaded into it.
class WorkerOnAcceleratorTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (qgetenv("ASAN_OPTIONS").isEmpty() || !std::filesystem::exists(test::programPath("libfake_device.so"))) {
            QSKIP("started by ctest only");
        }
        QVERIFY(m_scratch.isValid());
    }

    void device_isListedAndRuns() {
        workerclient::WorkerClient client(command("1000000000"));
        const auto initialized = client.initialize({});
        QVERIFY2(initialized, initialized ? "" : initialized.error().text().c_str());
        QCOMPARE(initialized->devices.back().name, std::string("privateuseone:0"));
        QCOMPARE(validate(client).value_or("no result"), std::string("pass"));
    }

    void lostDevice_endsTheWorkerAndItsSuccessorIsFresh() {
        workerclient::WorkerClient client(command("1000000000,40"));
        std::optional<base::Error> lost;
        for (int i = 0; i < 20 && !lost; ++i) {
            const auto verdict = validate(client);
            if (!verdict) {
                lost = m_error;
            }
        }
        QVERIFY(lost.has_value());
        QCOMPARE(lost->code, ErrorCode::WorkerCrashed);
        QVERIFY2(QString::fromStdString(lost->message).contains("was lost"), lost->message.c_str());
        QTRY_COMPARE(client.processId(), std::int64_t{0});
        QCOMPARE(validate(client).value_or(m_error.message), std::string("pass"));
        QCOMPARE(client.generation(), 2);
    }

    void deviceLostInAnyMethod_endsTheWorkerAndItsSuccessorIsFresh_data() {
        QTest::addColumn<QString>("method");
        for (const char* method : {"run", "profile", "memory", "calibrate", "hot", "cold", "host_e2e", "graph"}) {
            QTest::newRow(method) << QString::fromLatin1(method);
        }
    }
    void deviceLostInAnyMethod_endsTheWorkerAndItsSuccessorIsFresh() {
        QFETCH(QString, method);
        // After loading, early in the method; a validation of its own takes fewer launches.
        workerclient::WorkerClient client(command("10000000000,60"));
        const test::CapturedModule module(test::dataPath("programs/torch-2.13.0.mlens"), 0);
        auto load = module.loadParams();
        load.device = "privateuseone:0";
        const auto loaded = client.load(load, {});
        QVERIFY2(loaded, loaded ? "" : loaded.error().text().c_str());
        std::optional<base::Error> lost;
        for (int i = 0; i < 40 && !lost; ++i) {
            lost = errorOfMethod(client, method.toStdString(), module.callParams(loaded->handle));
        }
        QVERIFY(lost.has_value());
        QVERIFY2(lost->code == ErrorCode::WorkerCrashed, lost->text().c_str());
        QVERIFY2(lost->message.find("was lost") != std::string::npos, lost->message.c_str());
        QTRY_COMPARE(client.processId(), std::int64_t{0});
        QCOMPARE(validate(client).value_or(m_error.message), std::string("pass"));
        QCOMPARE(client.generation(), 2);
    }

    void fullDevice_isAnErrorAndTheWorkerGoesOn() {
        workerclient::WorkerClient client(command("64"));
        QVERIFY(!validate(client));
        QCOMPARE(m_error.code, ErrorCode::OutOfMemory);
        QVERIFY(client.initialize({}));
        QCOMPARE(client.generation(), 1);
    }

private:
    template <class T>
    static std::optional<base::Error> errorOf(const base::Result<T>& result) {
        return result ? std::nullopt : std::optional(result.error());
    }
    static std::optional<base::Error> errorOfMethod(workerclient::WorkerClient& client, const std::string& method,
                                                    const protocol::CallParams& call) {
        if (method == "run") {
            return errorOf(client.run(call, {}));
        }
        if (method == "memory") {
            protocol::MemoryParams params;
            params.call = call;
            return errorOf(client.memory(params, {}));
        }
        if (method == "calibrate") {
            protocol::CalibrateParams params;
            params.device = "privateuseone:0";
            params.budgetMs = 100;
            return errorOf(client.calibrate(params, {}));
        }
        if (method == "profile") {
            protocol::ProfileParams params;
            params.call = call;
            return errorOf(client.profile(params, {}));
        }
        protocol::BenchmarkParams params;
        params.call = call;
        params.mode = method;
        params.repetitions = 60;
        return errorOf(client.benchmark(params, {}));
    }

    [[nodiscard]] workerclient::LaunchCommand command(const std::string& device) const {
        workerclient::LaunchCommand result;
        result.arguments = {"/usr/bin/env", "LD_PRELOAD=" + test::programPath("libfake_device.so").string(),
                            "MODULELENS_FAKE_DEVICE=" + device, test::programPath("modulelens-worker").string()};
        result.scratchFolder = m_scratch.path().toStdString();
        result.threads = 1;
        return result;
    }

    /// Verdict of the first golden module on the device; m_error when there is none.
    std::optional<std::string> validate(workerclient::WorkerClient& client) {
        const test::CapturedModule module(test::dataPath("programs/torch-2.13.0.mlens"), 0);
        auto params = module.loadParams();
        params.device = "privateuseone:0";
        const auto loaded = client.load(params, {});
        if (!loaded) {
            m_error = loaded.error();
            return std::nullopt;
        }
        const auto result = client.validate(module.callParams(loaded->handle), {});
        if (!result) {
            m_error = result.error();
            return std::nullopt;
        }
        return result->verdict;
    }

    QTemporaryDir m_scratch;
    base::Error m_error;
};

ML_TEST_MAIN(WorkerOnAcceleratorTest)
#include "tst_WorkerOnAccelerator.moc"
