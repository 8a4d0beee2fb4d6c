// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Engine.h"

#include "backend/base/FileSystem.h"
#include "backend/capture/Safetensors.h"
#include "backend/profile/ProfileFile.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"
#include "tests/support/ValueOf.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace modulelens;
using base::ErrorCode;
using profile::Direction;
using profile::ScopeKind;
using test::CapturedModule;
using test::valueOf;

namespace {

std::string textOf(const base::Error& error) {
    return error.text();
}

}  // namespace

/// The engine on modules that the tracer captured: outputs, numbers and refusals.
class EngineTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (test::capturedModules().empty()) {
            QSKIP("no captures: ctest makes them in engine.captures");
        }
        QVERIFY(m_scratch.isValid());
        protocol::InitializeParams params;
        params.scratchFolder = m_scratch.path().toStdString();
        params.threads = 2;
        const auto result = m_engine.initialize(params);
        QVERIFY2(result, result ? "" : textOf(result.error()).c_str());
        QCOMPARE(result.value().threads, 2);
        QCOMPARE(result.value().devices.at(0).name, std::string("cpu"));
    }

    void everyModule_validatesExactly_data() { moduleRows(); }
    void everyModule_validatesExactly() {
        const CapturedModule module(rowName());
        const int handle = load(module);
        for (std::size_t call = 0; call < module.callCount(); ++call) {
            // Twice: a run must not see what the one before wrote.
            for (int repeat = 0; repeat < 2; ++repeat) {
                const auto result = valueOf(m_engine.validate({module.callParams(handle, call)}, {}));
                const std::string first = result.leaves.empty() ? result.reason : result.leaves.front().reason;
                QVERIFY2(result.verdict == "pass" && result.exact, (result.verdict + ": " + first).c_str());
                QVERIFY(!result.leaves.empty());
            }
        }
        QVERIFY(m_engine.unload({handle}));
    }

    void everyModule_profileAgreesWithPyTorch_data() { moduleRows(); }
    void everyModule_profileAgreesWithPyTorch() {
        const std::string name = rowName();
        const auto result = profileOf(name);
        QVERIFY2(result.unknown.empty(), result.unknown.empty() ? "" : result.unknown.front().c_str());
        if (const auto flops = test::expectedOf(name, "flops"); !flops.is_null()) {
            QCOMPARE(result.flops.value_or(-1), flops.get<std::int64_t>());
        }
        QCOMPARE(result.parameterBytes.value_or(-1), test::expectedOf(name, "parameter_bytes").get<std::int64_t>());
        if (const auto saved = test::expectedOf(name, "activation_bytes"); !saved.is_null()) {
            QCOMPARE(result.activationBytes.value_or(0), saved.get<std::int64_t>());
            QCOMPARE(result.activationBytes.has_value(), result.reasons.count("activation") == 0);
        }
        const auto profile = valueOf(profile::readProfile(base::realFileSystem(), result.file));
        checkTotal(*profile, "latency", std::max(*result.latencyNs, sumOfOperators(*profile)));
        checkTotal(*profile, "flops", *result.flops);
        checkTotal(*profile, "parameters", *result.parameterBytes);
        checkTotal(*profile, "peak", *result.peakBytes);
        if (result.activationBytes) {
            checkTotal(*profile, "activation", *result.activationBytes);
        }
        QVERIFY(std::filesystem::remove(result.file));
    }

    void chain_peakIsThreeTensors() {
        // exp, exp, add, exp on 8 x 8 float32: at the add a, b and c are alive.
        QCOMPARE(profileOf("chain").peakBytes.value_or(-1), 3 * 8 * 8 * 4);
    }

    void perceptron_keepsInputAndActivation() {
        QCOMPARE(profileOf("perceptron").activationBytes.value_or(-1), 8 * 32 * 4 + 8 * 64 * 4);
    }

    void longShort_flopsByHand() {
        // Each of 2 x 5 steps: 4 gates of 16, from 8 inputs and 16 hidden values, 2 per multiply-add.
        QCOMPARE(profileOf("long_short").flops.value_or(-1), 2 * 2 * 5 * 4 * 16 * (8 + 16));
    }

    void withoutGradients_activationIsUnknownWithAReason() {
        const auto result = profileOf("chain");
        QVERIFY(!result.activationBytes);
        QVERIFY(!result.reasons.at("activation").empty());
    }

    void containers_areInTheTree() {
        const auto profile = valueOf(profile::readProfile(base::realFileSystem(), profileOf("containers").file));
        std::vector<std::string> modules;
        for (profile::ScopeId scope = 0; scope < profile->scopeCount(); ++scope) {
            if (profile->kind(scope) == ScopeKind::Module) {
                modules.push_back(std::string(profile->path(scope)) + "#" + std::to_string(profile->call(scope)));
            }
        }
        const std::vector<std::string> expected{"#0", "layers#0", "layers.0#0", "layers.1#0", "layers.0#1", "layers.1#1"};
        QCOMPARE(modules, expected);
        QCOMPARE(std::string(profile->name(1)), std::string("layers"));
        const auto* parameters = profile->column("parameters", Direction::Forward);
        QVERIFY(parameters != nullptr);
        QCOMPARE(parameters->self[2], std::int64_t{(8 * 8 + 8) * 4});
    }

    void run_writesOutputsInCaptureOrder() {
        const CapturedModule module("dictionary");
        const int handle = load(module);
        const auto result = valueOf(m_engine.run(module.callParams(handle), {}));
        std::vector<std::string> pointers;
        pointers.reserve(result.outputs.size());
        for (const protocol::OutputTensor& output : result.outputs) {
            pointers.push_back(output.pointer);
        }
        const auto file = valueOf(base::realFileSystem().map(result.file));
        const auto header = valueOf(capture::readSafetensorsHeader(file->bytes(), "run"));
        QCOMPARE(header.entries.size(), result.outputs.size());
        QCOMPARE(header.entries.at("/output/y").shape, (std::vector<std::int64_t>{3, 4}));
        QVERIFY(std::find(pointers.begin(), pointers.end(), "/output/parts/1") != pointers.end());
    }

    void changedOutput_failsAndSaysWhere() {
        const CapturedModule module("linear");
        auto params = module.callParams(load(module), 1);
        const auto other = module.callParams(1, 0);
        // The captured output of the other call in the place of this one's.
        params.call["output"] = other.call["output"];
        const auto shape = valueOf(m_engine.validate({params}, {}));
        QCOMPARE(shape.verdict, std::string("fail"));
        QCOMPARE(shape.leaves.at(0).reason, std::string("expected float32[5, 4], got float32[3, 4]"));
    }

    void missingOutput_isNotComparable() {
        const CapturedModule module("linear");
        auto params = module.callParams(load(module));
        params.call["output"].erase("ref");
        params.call["output"]["gap"] = "max_bytes";
        const auto result = valueOf(m_engine.validate({params}, {}));
        QCOMPARE(result.verdict, std::string("not_comparable"));
        QVERIFY(result.reason.find("max_bytes") != std::string::npos);
    }

    void otherConstant_isRefused() {
        const CapturedModule module("dictionary");
        auto params = module.callParams(load(module));
        params.call["args"][1] = 3.0;
        const auto result = m_engine.validate({params}, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
    }

    void unknownHandle_isNotFound() {
        const auto result = m_engine.validate({CapturedModule("linear").callParams(12345)}, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::NotFound);
    }

    void noThreads_isInvalidArgument() {
        const CapturedModule module("linear");
        auto params = module.callParams(load(module));
        params.threads = 0;
        QCOMPARE(m_engine.run(params, {}).error().code, ErrorCode::InvalidArgument);
    }

    void profiling_changesNothing_data() { moduleRows(); }
    void profiling_changesNothing() {
        const CapturedModule module(rowName());
        const int handle = load(module);
        protocol::ProfileParams params;
        params.call = module.callParams(handle);
        params.repetitions = 3;
        const auto first = valueOf(m_engine.profile(params, {}));
        const auto second = valueOf(m_engine.profile(params, {}));
        QCOMPARE(second.flops, first.flops);
        QCOMPARE(second.peakBytes, first.peakBytes);
        QCOMPARE(second.activationBytes, first.activationBytes);
        QVERIFY(valueOf(m_engine.validate({module.callParams(handle)}, {})).exact);
    }

    void malformedCall_isCorrupt() {
        const CapturedModule module("linear");
        auto params = module.callParams(load(module));
        params.call = {{"args", 5}};
        const auto result = m_engine.run(params, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::Corrupt);
    }

    void unknownDevice_isMissingEnvironment() {
        auto params = CapturedModule("linear").loadParams();
        params.device = "cuda:7";
        const auto result = m_engine.load(params, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::EnvironmentMissing);
    }

    void shortFile_isCorrupt() {
        auto params = CapturedModule("linear").loadParams();
        const std::string path = m_scratch.filePath("short").toStdString();
        std::ofstream(path) << "short";
        params.tensors.at(0).file = path;
        for (auto& tensor : params.tensors) {
            tensor.file = path;
        }
        const auto result = m_engine.load(params, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::Corrupt);
    }

    void missingState_isNotFoundAndNamed() {
        auto params = CapturedModule("linear").loadParams();
        params.state.erase("weight");
        const auto result = m_engine.load(params, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::NotFound);
        QVERIFY(result.error().message.find("weight") != std::string::npos);
    }

    void wrongShapeOfState_isCorrupt() {
        auto params = CapturedModule("linear").loadParams();
        params.state["weight"]["shape"] = {1 << 20, 1 << 20};
        const auto result = m_engine.load(params, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::Corrupt);
    }

    void stopRequested_isCancelled() {
        const CapturedModule module("perceptron");
        std::stop_source stop;
        stop.request_stop();
        const auto result = m_engine.run(module.callParams(load(module)), {stop.get_token(), {}});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::Cancelled);
    }

    void otherProtocolVersion_isRefused() {
        engine::Engine other;
        protocol::InitializeParams params;
        params.protocolVersion = 99;
        QCOMPARE(other.initialize(params).error().code, ErrorCode::InvalidArgument);
    }

private:
    static void moduleRows() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : test::capturedModules()) {
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
    }

    static std::string rowName() {
        const QString* name = static_cast<const QString*>(QTest::qData("name", QMetaType::QString));
        return name->toStdString();
    }

    int load(const CapturedModule& module) { return valueOf(m_engine.load(module.loadParams(), {})).handle; }

    protocol::ProfileResult profileOf(const std::string& name) {
        const CapturedModule module(name);
        protocol::ProfileParams params;
        params.call = module.callParams(load(module));
        params.warmupRuns = 1;
        params.repetitions = 3;
        return valueOf(m_engine.profile(params, {}));
    }

    static std::int64_t sumOfOperators(const profile::Profile& profile) {
        const profile::Column* column = profile.column("latency", Direction::Forward);
        std::int64_t sum = 0;
        for (profile::ScopeId scope = 0; scope < profile.scopeCount(); ++scope) {
            sum += profile.kind(scope) == ScopeKind::Operator ? column->self[static_cast<std::size_t>(scope)] : 0;
        }
        return sum;
    }

    static void checkTotal(const profile::Profile& profile, const char* metric, std::int64_t expected) {
        const profile::Column* column = profile.column(metric, Direction::Forward);
        QVERIFY2(column != nullptr, metric);
        std::int64_t sum = 0;
        for (const std::int64_t self : column->self) {
            sum += self == profile::kUnknown ? 0 : self;
        }
        QCOMPARE(sum, expected);
        QCOMPARE(column->total[0], expected);
    }

    QTemporaryDir m_scratch;
    engine::Engine m_engine;
};

ML_TEST_MAIN(EngineTest)
#include "tst_Engine.moc"
