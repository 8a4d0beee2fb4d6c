// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/CalibrateMessages.h"
#include "backend/protocol/MemoryMessages.h"
#include "backend/workerclient/WorkerClient.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QCryptographicHash>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <atomic>
#include <stdexcept>

using namespace modulelens;
using base::ErrorCode;
using workerclient::RequestContext;
using workerclient::WorkerClient;

namespace {

const char* const kModule = "perceptron";
/// The table in full takes minutes.
bool isWholeTable() {
    return qEnvironmentVariableIsSet("MODULELENS_TEST_WHOLE_TABLE");
}

/// One job on the module, with the stages that it goes through.
struct Job {
    const char* name;
    std::vector<const char*> stages;
    bool isFast;                         ///< Its stages are in the quick part of the table.
};

const std::vector<Job>& jobs() {
    static const std::vector<Job> all = {
        {"load", {"load"}, true},
        {"load with a library of operators", {"load"}, false},
        {"run", {"run"}, true},
        {"validate", {"run", "compare", "repeat", "oracle"}, false},
        {"gradients", {"gradients"}, false},
        {"training step",
         {"warm-up", "timing", "flops", "memory", "backward warm-up", "backward", "backward flops", "backward memory"},
         true},
        {"profile", {"warm-up", "timing", "flops", "memory"}, false},
        {"memory", {"warm-up", "memory"}, false},
        {"benchmark hot", {"warm-up", "timing"}, true},
        {"benchmark cold", {"warm-up", "timing"}, false},
        {"benchmark host_e2e", {"warm-up", "timing"}, false},
        {"benchmark of two sides", {"warm-up", "timing"}, false},
        {"calibrate", {"read", "copy", "triad", "float32", "bfloat16"}, false},
        {"load TorchScript", {"load"}, false},
        {"profile TorchScript", {"warm-up", "timing", "flops", "memory"}, false},
    };
    return all;
}

std::string sha256Of(const std::string& file) {
    QFile opened(QString::fromStdString(file));
    QCryptographicHash hash(QCryptographicHash::Sha256);
    if (!opened.open(QIODevice::ReadOnly) || !hash.addData(&opened)) {
        throw std::runtime_error("cannot read " + file);
    }
    return hash.result().toHex().toStdString();
}

template <class T>
std::optional<base::Error> errorOf(const base::Result<T>& result) {
    return result ? std::nullopt : std::optional(result.error());
}

}  // namespace

/// Killing, cancelling and out of memory in the middle of every pass of the built worker: the next job on the same client gives
/// the right result.
class WorkerFaultsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (test::capturedModules("training").empty()) {
            QSKIP("no captures: ctest makes them in engine.training_captures");
        }
        QVERIFY(m_scratch.isValid());
    }

    void killed_hasASuccessor_data() { table(); }
    void killed_hasASuccessor() {
        QFETCH(QString, job);
        QFETCH(QString, stage);
        // The file is there for the first worker only.
        const std::string marker = m_scratch.filePath(QStringLiteral("marker")).toStdString();
        QVERIFY(QFile(QString::fromStdString(marker)).open(QIODevice::WriteOnly));
        WorkerClient client(command("kill-at:" + stage.toStdString() + ",once:" + marker));
        const auto error = run(client, job.toStdString(), {});
        QVERIFY(error.has_value());
        QCOMPARE(error->code, ErrorCode::WorkerCrashed);
        QVERIFY2(error->message.find("SIGKILL") != std::string::npos || error->message.find('9') != std::string::npos,
                 error->message.c_str());
        checkNextJob(client, 2);
    }

    void cancelled_isUsable_data() { table(); }
    void cancelled_isUsable() {
        QFETCH(QString, job);
        QFETCH(QString, stage);
        WorkerClient client(command(""));
        std::stop_source stop;
        RequestContext context;
        context.stop = stop.get_token();
        context.progress = [&](const protocol::Progress& progress) {
            if (progress.stage == stage.toStdString()) {
                stop.request_stop();
            }
        };
        const auto error = run(client, job.toStdString(), context);
        // A short pass may be over before the worker hears of it.
        QVERIFY2(!error || error->code == ErrorCode::Cancelled, error ? error->text().c_str() : "");
        QVERIFY(stop.stop_requested());
        checkNextJob(client, client.generation());
        QVERIFY(client.generation() <= 2);
    }

    void outOfMemory_isAnErrorAndTheWorkerGoesOn_data() { table(); }
    void outOfMemory_isAnErrorAndTheWorkerGoesOn() {
        QFETCH(QString, job);
        QFETCH(QString, stage);
        WorkerClient client(command("out-of-memory-at:" + stage.toStdString()));
        const auto error = run(client, job.toStdString(), {});
        // Mapped weights, and copying arrays that are there, take no memory; an element type or a float64 run without any is a
        // remark.
        const bool mayGoOn = job == "calibrate" || stage == "oracle" || (stage == "load" && !job.contains("TorchScript"));
        QVERIFY(error.has_value() || mayGoOn);
        if (error) {
            QVERIFY2(error->code == ErrorCode::OutOfMemory, error->text().c_str());
        }
        checkNextJob(client, 1);
    }

    void libraryThatCrashes_hasASuccessor() {
        const test::CapturedModule module(kModule, "training");
        const std::string library = test::programPath("libcrashing-library.so").string();
        protocol::LoadParams params = module.loadParams();
        params.libraries = {{library, sha256Of(library)}};
        params.consent = {params.libraries[0].sha256};
        WorkerClient client(command(""));
        const auto loaded = client.load(params, {});
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code, ErrorCode::WorkerCrashed);
        checkNextJob(client, 2);
    }

    void truncatedScript_isCorruptAndTheWorkerGoesOn() {
        QFile whole(QString::fromStdString(script()));
        QVERIFY(whole.open(QIODevice::ReadOnly));
        const QByteArray bytes = whole.readAll();
        WorkerClient client(command(""));
        for (const double part : {0.0, 0.3, 0.9, 0.999}) {
            QFile cut(m_scratch.filePath(QStringLiteral("cut.pt")));
            QVERIFY(cut.open(QIODevice::WriteOnly));
            cut.write(bytes.left(static_cast<qsizetype>(part * static_cast<double>(bytes.size()))));
            cut.close();
            protocol::LoadParams params = scriptParams();
            const std::string file = cut.fileName().toStdString();
            params.program = {sha256Of(file), file, 0, static_cast<std::uint64_t>(cut.size())};
            params.consent = {params.program.digest};
            const auto loaded = client.load(params, {});
            QVERIFY(!loaded);
            QVERIFY2(loaded.error().code == ErrorCode::Corrupt, loaded.error().text().c_str());
        }
        checkNextJob(client, 1);
    }

private:
    void table() {
        QTest::addColumn<QString>("job");
        QTest::addColumn<QString>("stage");
        for (const Job& job : jobs()) {
            const bool hasFile = QByteArray(job.name).contains("TorchScript") ? !script().empty() : true;
            for (const char* stage : job.stages) {
                if (hasFile && (job.isFast || isWholeTable())) {
                    QTest::addRow("%s: %s", job.name, stage) << QString::fromLatin1(job.name) << QString::fromLatin1(stage);
                }
            }
        }
    }

    [[nodiscard]] workerclient::LaunchCommand command(const std::string& fault) const {
        workerclient::LaunchCommand result;
        result.arguments = {"/usr/bin/env", "MODULELENS_WORKER_FAULT=" + fault,
                            test::programPath("modulelens-worker").string()};
        result.scratchFolder = m_scratch.filePath(QStringLiteral("scratch")).toStdString();
        result.threads = 2;
        return result;
    }

    /// A TorchScript archive that takes one tensor of 8 x 32, or empty: tests/support captures it beside the modules.
    static std::string script() {
        const std::filesystem::path file = test::capturesFolder("training") / "perceptron.torchscript.pt";
        return std::filesystem::exists(file) ? file.string() : std::string();
    }

    static protocol::LoadParams scriptParams() {
        protocol::LoadParams params;
        params.name = "script";
        params.format = protocol::program_format::kTorchScript;
        params.program = {sha256Of(script()), script(), 0, std::filesystem::file_size(script())};
        params.state = nlohmann::json::object();
        params.consent = {params.program.digest};
        return params;
    }

    /// Loads what `job` needs and does it; the error of whichever failed.
    static std::optional<base::Error> run(WorkerClient& client, const std::string& job, const RequestContext& context) {
        if (job == "calibrate") {
            protocol::CalibrateParams params;
            params.budgetMs = 200;
            params.threads = 2;
            return errorOf(client.calibrate(params, context));
        }
        const test::CapturedModule module(kModule, "training");
        const bool isScript = job.find("TorchScript") != std::string::npos;
        protocol::LoadParams load = isScript ? scriptParams() : module.loadParams();
        if (job == "load with a library of operators") {
            const std::string library = test::programPath("libtest-operators.so").string();
            load.libraries = {{library, sha256Of(library)}};
            load.consent = {load.libraries[0].sha256};
        }
        const auto loaded = client.load(load, context);
        if (!loaded || job.starts_with("load")) {
            return errorOf(loaded);
        }
        protocol::CallParams call = module.callParams(loaded->handle);
        if (isScript) {
            call.call["program"] = load.program.digest;
        }
        return doJob(client, job, call, context);
    }

    static std::optional<base::Error> doJob(WorkerClient& client, const std::string& job, const protocol::CallParams& call,
                                            const RequestContext& context) {
        if (job == "run") {
            return errorOf(client.run(call, context));
        }
        if (job == "validate") {
            protocol::ValidateParams params(call);
            params.repeats = 3;
            params.wantsOracle = true;
            return errorOf(client.validate(params, context));
        }
        if (job == "gradients") {
            return errorOf(client.gradients(call, context));
        }
        if (job == "memory") {
            protocol::MemoryParams params;
            params.call = call;
            params.train = "adam";
            return errorOf(client.memory(params, context));
        }
        if (job.starts_with("benchmark")) {
            protocol::BenchmarkParams params;
            params.call = call;
            if (job == "benchmark of two sides") {
                params.against = call;
            } else {
                params.mode = job.substr(job.find(' ') + 1);
            }
            params.repetitions = 5;
            params.warmupRuns = 3;
            return errorOf(client.benchmark(params, context));
        }
        protocol::ProfileParams params;
        params.call = call;
        params.repetitions = 4;
        params.train = job == "training step" ? "adam" : "";
        return errorOf(client.profile(params, context));
    }

    /// The right result, in worker number `generation`, forward and backward.
    static void checkNextJob(WorkerClient& client, int generation) {
        const test::CapturedModule module(kModule, "training");
        const auto loaded = client.load(module.loadParams(), {});
        QVERIFY2(loaded, loaded ? "" : loaded.error().text().c_str());
        const auto verdict = client.validate(module.callParams(loaded->handle), {});
        QVERIFY2(verdict, verdict ? "" : verdict.error().text().c_str());
        QVERIFY(verdict->verdict == "pass" && verdict->exact);
        const auto gradients = client.gradients(module.callParams(loaded->handle), {});
        QVERIFY2(gradients, gradients ? "" : gradients.error().text().c_str());
        QVERIFY(gradients->verdict == "pass" && gradients->exact);
        QCOMPARE(client.generation(), generation);
    }

    QTemporaryDir m_scratch;
};

ML_TEST_MAIN(WorkerFaultsTest)
#include "tst_WorkerFaults.moc"
