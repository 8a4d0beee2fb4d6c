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

/// What came of a job: its error, or what it says that it could not do.
struct Outcome {
    std::optional<base::Error> error;
    std::string remark;
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
        {"load AOTInductor", {"load"}, false},
        {"run AOTInductor", {"run"}, false},
        {"profile AOTInductor", {"warm-up", "timing", "memory"}, false},
        {"benchmark AOTInductor", {"warm-up", "timing"}, false},
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
Outcome outcomeOf(const base::Result<T>& result) {
    return {result ? std::nullopt : std::optional(result.error()), {}};
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
        const auto error = run(client, job.toStdString(), {}).error;
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
        // The worker waits in the stage until it hears of it.
        WorkerClient client(command("hold-at:" + stage.toStdString()));
        std::stop_source stop;
        RequestContext context;
        context.stop = stop.get_token();
        context.progress = [&](const protocol::Progress& progress) {
            if (progress.stage == stage.toStdString()) {
                stop.request_stop();
            }
        };
        const auto error = run(client, job.toStdString(), context).error;
        QVERIFY(stop.stop_requested());
        QVERIFY(error.has_value());
        QVERIFY2(error->code == ErrorCode::Cancelled, error->text().c_str());
        checkNextJob(client, 1);
    }

    // A package brings its weights in its library, so that loading it asks for no tensor's memory.
    void outOfMemory_isAnErrorAndTheWorkerGoesOn_data() { table("load AOTInductor"); }
    void outOfMemory_isAnErrorAndTheWorkerGoesOn() {
        QFETCH(QString, job);
        QFETCH(QString, stage);
        // Written by the allocator when it refuses.
        QFile witness(m_scratch.filePath(QStringLiteral("witness")));
        witness.remove();
        WorkerClient client(
            command("out-of-memory-at:" + stage.toStdString() + ",witness:" + witness.fileName().toStdString()));
        const Outcome outcome = run(client, job.toStdString(), {});
        QVERIFY2(witness.exists(), "nothing asked for memory");
        // Copying arrays that are there takes none; an element type or a float64 run that gets none is left out with its reason.
        const bool goesOn = (job == "calibrate" && stage != "read") || stage == "oracle";
        QCOMPARE(!outcome.error.has_value(), goesOn);
        if (goesOn) {
            QVERIFY2(outcome.remark.find("memory") != std::string::npos, outcome.remark.c_str());
        } else {
            QVERIFY2(outcome.error->code == ErrorCode::OutOfMemory, outcome.error->text().c_str());
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
        const char* const format = protocol::program_format::kTorchScript;
        QFile whole(QString::fromStdString(fileOf(format)));
        QVERIFY(whole.open(QIODevice::ReadOnly));
        const QByteArray bytes = whole.readAll();
        WorkerClient client(command(""));
        for (const double part : {0.0, 0.3, 0.9, 0.999}) {
            QFile cut(m_scratch.filePath(QStringLiteral("cut.pt")));
            QVERIFY(cut.open(QIODevice::WriteOnly));
            cut.write(bytes.left(static_cast<qsizetype>(part * static_cast<double>(bytes.size()))));
            cut.close();
            protocol::LoadParams params = foreignParams(format);
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
    static void table(const char* leftOut = "") {
        QTest::addColumn<QString>("job");
        QTest::addColumn<QString>("stage");
        for (const Job& job : jobs()) {
            const std::string format = formatOf(job.name);
            const bool hasFile = format == protocol::program_format::kExported || !fileOf(format).empty();
            for (const char* stage : job.stages) {
                if (hasFile && (job.isFast || isWholeTable()) && QByteArray(job.name) != leftOut) {
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

    static std::string formatOf(const std::string& job) {
        return job.find("TorchScript") != std::string::npos   ? protocol::program_format::kTorchScript
               : job.find("AOTInductor") != std::string::npos ? protocol::program_format::kAotInductor
                                                              : protocol::program_format::kExported;
    }

    /// The module as a foreign file that takes one tensor of 8 x 32, made beside the captures; empty where it was not made.
    static std::string fileOf(const std::string& format) {
        const bool isScript = format == protocol::program_format::kTorchScript;
        const std::filesystem::path file = isScript ? test::capturesFolder("training") / "perceptron.torchscript.pt"
                                                    : test::capturesFolder("package") / "perceptron.pt2";
        return std::filesystem::exists(file) ? file.string() : std::string();
    }

    static protocol::LoadParams foreignParams(const std::string& format) {
        const std::string file = fileOf(format);
        protocol::LoadParams params;
        params.name = "foreign";
        params.format = format;
        params.program = {sha256Of(file), file, 0, std::filesystem::file_size(file)};
        params.state = nlohmann::json::object();
        params.consent = {params.program.digest};
        return params;
    }

    /// As captured, but with weights that lie askew, which a worker must copy where it maps others.
    [[nodiscard]] protocol::LoadParams loadParams(const test::CapturedModule& module) const {
        constexpr qint64 kShift = 8;
        protocol::LoadParams params = module.loadParams();
        std::map<std::string, std::string> copies;
        for (protocol::Extent& tensor : params.tensors) {
            std::string& copy = copies[tensor.file];
            if (copy.empty()) {
                copy = m_scratch.filePath(QStringLiteral("shifted-%1").arg(copies.size())).toStdString();
                QFile from(QString::fromStdString(tensor.file));
                QFile to(QString::fromStdString(copy));
                if (!from.open(QIODevice::ReadOnly) || !to.open(QIODevice::WriteOnly) ||
                    to.write(QByteArray(kShift, '\0') + from.readAll()) != from.size() + kShift) {
                    throw std::runtime_error("cannot copy " + tensor.file);
                }
            }
            tensor.file = copy;
            tensor.offset += kShift;
        }
        return params;
    }

    /// Loads what `job` needs and does it; the error of whichever failed.
    [[nodiscard]] Outcome run(WorkerClient& client, const std::string& job, const RequestContext& context) const {
        if (job == "calibrate") {
            protocol::CalibrateParams params;
            params.budgetMs = 200;
            params.threads = 2;
            const auto result = client.calibrate(params, context);
            Outcome outcome = outcomeOf(result);
            for (const std::string& type : result ? result->unmeasured : std::vector<std::string>()) {
                outcome.remark += type + '\n';
            }
            return outcome;
        }
        const test::CapturedModule module(kModule, "training");
        const std::string format = formatOf(job);
        const bool isForeign = format != protocol::program_format::kExported;
        protocol::LoadParams load = isForeign ? foreignParams(format) : loadParams(module);
        if (job == "load with a library of operators") {
            const std::string library = test::programPath("libtest-operators.so").string();
            load.libraries = {{library, sha256Of(library)}};
            load.consent = {load.libraries[0].sha256};
        }
        const auto loaded = client.load(load, context);
        if (!loaded || job.starts_with("load")) {
            return outcomeOf(loaded);
        }
        protocol::CallParams call = module.callParams(loaded->handle);
        if (isForeign) {
            call.call["program"] = load.program.digest;
        }
        return doJob(client, job, call, context);
    }

    static Outcome doJob(WorkerClient& client, const std::string& job, const protocol::CallParams& call,
                         const RequestContext& context) {
        if (job.starts_with("run")) {
            return outcomeOf(client.run(call, context));
        }
        if (job == "validate") {
            protocol::ValidateParams params(call);
            params.repeats = 3;
            params.wantsOracle = true;
            const auto result = client.validate(params, context);
            return {outcomeOf(result).error, result && result->oracle ? result->oracle->reason : std::string()};
        }
        if (job == "gradients") {
            return outcomeOf(client.gradients(call, context));
        }
        if (job == "memory") {
            protocol::MemoryParams params;
            params.call = call;
            params.train = "adam";
            return outcomeOf(client.memory(params, context));
        }
        if (job.starts_with("benchmark")) {
            protocol::BenchmarkParams params;
            params.call = call;
            if (job == "benchmark of two sides") {
                params.against = call;
            } else if (job != "benchmark AOTInductor") {
                params.mode = job.substr(job.find(' ') + 1);
            }
            params.repetitions = 5;
            params.warmupRuns = 3;
            return outcomeOf(client.benchmark(params, context));
        }
        protocol::ProfileParams params;
        params.call = call;
        params.repetitions = 4;
        params.train = job == "training step" ? "adam" : "";
        return outcomeOf(client.profile(params, context));
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
