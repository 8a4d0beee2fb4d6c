// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Engine.h"

#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/CalibrateMessages.h"
#include "backend/protocol/MemoryMessages.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/FakeDevice.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"
#include "tests/support/ValueOf.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <limits>

using namespace modulelens;
using base::ErrorCode;
using test::valueOf;
namespace fake = test::fakedevice;

namespace {

const std::string kDevice = "privateuseone:0";

std::filesystem::path golden() {
    return test::dataPath("programs/torch-2.13.0.mlens");
}

/// A module of the golden archive, captured on the CPU.
test::CapturedModule moduleNamed(const std::string& name) {
    const auto bundle = capture::Bundle::open(base::realFileSystem(), golden());
    const auto& versions = (*bundle)->index().versions;
    const auto found =
        std::find_if(versions.begin(), versions.end(), [&](const auto& version) { return version.module == name; });
    return {golden(), static_cast<std::size_t>(found - versions.begin())};
}

}  // namespace

/// The engine's paths for accelerators, on a device that is none (tests/support/FakeDevice.h).
class AcceleratorTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QVERIFY(m_scratch.isValid());
        protocol::InitializeParams params;
        params.scratchFolder = m_scratch.path().toStdString();
        params.threads = 1;
        const auto result = valueOf(m_engine.initialize(params));
        QCOMPARE(result.devices.size(), std::size_t{2});
        QCOMPARE(result.devices[1].name, kDevice);
    }

    void init() {
        fake::setCapacity(std::numeric_limits<std::int64_t>::max());
        fake::loseAfter(-1);
        fake::setEventPercent(100);
    }

    void everyModule_runsOnTheDevice_data() {
        QTest::addColumn<QString>("name");
        const auto bundle = capture::Bundle::open(base::realFileSystem(), golden());
        for (const auto& version : (*bundle)->index().versions) {
            // Autocast and fused LSTM cells need kernels of the device, which ours has not.
            if (version.module != "modes" && version.module != "recurrent") {
                QTest::newRow(version.module.c_str()) << QString::fromStdString(version.module);
            }
        }
    }
    void everyModule_runsOnTheDevice() {
        QFETCH(QString, name);
        const test::CapturedModule module = moduleNamed(name.toStdString());
        const fake::Counts before = fake::counts();
        const int handle = load(module);
        for (std::size_t call = 0; call < module.callCount(); ++call) {
            for (int repeat = 0; repeat < 2; ++repeat) {
                const auto result = valueOf(m_engine.validate(callParams(module, handle, call), {}));
                const std::string first = result.leaves.empty() ? result.reason : result.leaves.front().reason;
                QVERIFY2(result.verdict == "pass", (result.verdict + ": " + first).c_str());
            }
        }
        const fake::Counts after = fake::counts();
        QVERIFY2(after.launches > before.launches, "operators run on the device");
        QVERIFY2(after.copiesIn > before.copiesIn, "inputs are copied to the device");
        QVERIFY2(after.copiesOut > before.copiesOut, "outputs are copied back to be compared");
        QVERIFY(m_engine.unload({handle}));
        QCOMPARE(fake::counts().allocatedBytes, before.allocatedBytes);
    }

    void outputs_areWrittenFromTheDevice() {
        const test::CapturedModule module = moduleNamed("affine");
        const int handle = load(module);
        const auto result = valueOf(m_engine.run(callParams(module, handle, 0), {}));
        QCOMPARE(result.outputs.size(), std::size_t{1});
        QVERIFY(std::filesystem::file_size(result.file) >= 3 * 3 * sizeof(float));
        QVERIFY(m_engine.unload({handle}));
    }

    void autocastRegion_isEnteredOnTheDevice() {
        // The device has no kernels for autocast, so that only the way there is tested.
        const test::CapturedModule module = moduleNamed("modes");
        const int handle = load(module);
        const auto result = m_engine.run(callParams(module, handle, 0), {});
        QVERIFY2(result, result ? "" : result.error().text().c_str());
        QVERIFY(m_engine.unload({handle}));
    }

    void memoryPass_seesTheDevicesAllocator() {
        const test::CapturedModule module = moduleNamed("affine");
        const int handle = load(module);
        protocol::ProfileParams params;
        params.call = callParams(module, handle, 0);
        params.repetitions = 3;
        const auto result = valueOf(m_engine.profile(params, {}));
        // One linear layer: its output of 3 x 3 float32 is all that a run asks for.
        QCOMPARE(result.peakBytes.value_or(-1), std::int64_t{3 * 3 * 4});
        QVERIFY(m_engine.unload({handle}));
    }

    void benchmark_timesByEventsBesideTheHostsClock_data() {
        QTest::addColumn<QString>("mode");
        for (const char* mode :
             {protocol::benchmarkmode::kHot, protocol::benchmarkmode::kCold, protocol::benchmarkmode::kHostEndToEnd}) {
            QTest::newRow(mode) << QString::fromLatin1(mode);
        }
    }
    void benchmark_timesByEventsBesideTheHostsClock() {
        QFETCH(QString, mode);
        const test::CapturedModule module = moduleNamed("affine");
        const int handle = load(module);
        protocol::BenchmarkParams params;
        params.call = callParams(module, handle, 0);
        params.mode = mode.toStdString();
        params.repetitions = 5;
        params.warmupRuns = 2;
        const std::int64_t events = fake::counts().events;
        const auto result = valueOf(m_engine.benchmark(params, {}));
        const protocol::BenchmarkSide& side = result.sides.at(0);
        QCOMPARE(side.samplesNs.size(), std::size_t{5});
        QCOMPARE(side.deviceNs.size(), side.samplesNs.size());
        QVERIFY(std::all_of(side.deviceNs.begin(), side.deviceNs.end(), [](std::int64_t ns) { return ns > 0; }));
        QVERIFY(fake::counts().events >= events + 2 * 5);
        QCOMPARE(result.deviceReason, std::string());
        QCOMPARE(result.environment.device, kDevice);
        QVERIFY(m_engine.unload({handle}));
    }

    void memoryStatistics_areTheAllocators() {
        const test::CapturedModule module = moduleNamed("attention");
        const int handle = load(module);
        protocol::MemoryParams params;
        params.call = callParams(module, handle, 0);
        const auto result = valueOf(m_engine.memory(params, {}));
        QVERIFY(result.peakBytes.value_or(0) > 0);
        // Segments of 2 MiB, more than what is allocated; the allocator's own peak since the pass began.
        QCOMPARE(result.reservedPeakBytes.value_or(0), fake::counts().reservedPeakBytes);
        QCOMPARE(result.reservedPeakBytes.value_or(1) % (std::int64_t{2} << 20), std::int64_t{0});
        QVERIFY(result.reservedPeakBytes >= result.peakBytes);
        QVERIFY(m_engine.unload({handle}));
    }

    void eventsThatSeeAPart_giveTheirOwnTime() {
        const test::CapturedModule module = moduleNamed("affine");
        const int handle = load(module);
        fake::setEventPercent(10);
        protocol::BenchmarkParams params = graphParams(module, handle);
        params.mode = protocol::benchmarkmode::kHot;
        const protocol::BenchmarkSide side = valueOf(m_engine.benchmark(params, {})).sides.at(0);
        // The process may be put aside between an event and the clock beside it, so not every sample says it.
        std::size_t partial = 0;
        for (std::size_t i = 0; i < side.samplesNs.size(); ++i) {
            partial += side.deviceNs.at(i) < side.samplesNs[i] / 2 ? 1U : 0U;
        }
        QVERIFY(2 * partial > side.samplesNs.size());
        QVERIFY(m_engine.unload({handle}));
    }

    void graph_isRecordedOnceAndReplayed() {
        const test::CapturedModule module = moduleNamed("affine");
        const std::int64_t allocated = fake::counts().allocatedBytes;
        const int handle = load(module);
        const auto params = graphParams(module, handle);
        const fake::Counts before = fake::counts();
        const auto result = valueOf(m_engine.benchmark(params, {}));
        const fake::Counts after = fake::counts();
        const protocol::BenchmarkSide& side = result.sides.at(0);
        QCOMPARE(result.mode, std::string("graph"));
        QCOMPARE(side.samplesNs.size(), std::size_t{5});
        QCOMPARE(side.deviceNs.size(), side.samplesNs.size());
        // A linear layer launches a transposition and a product. It is recorded alone to see how long it takes, then as often
        // as a sample needs.
        const int runs = side.runsPerSample.value_or(0);
        QVERIFY(runs > 1 && runs <= 64);
        QCOMPARE(after.recorded - before.recorded, std::int64_t{2} * (1 + runs));
        // The one that was only looked at, two warm-up runs, five samples.
        QCOMPARE(after.replays - before.replays, std::int64_t{1 + 2 + 5});
        // Equal to the first run, which had no graph; without a replay there would be no number at all.
        QCOMPARE(side.outputs, std::string("exact"));
        QVERIFY(side.firstCallNs.has_value());
        QCOMPARE(valueOf(m_engine.validate(callParams(module, handle, 0), {})).verdict, std::string("pass"));
        QVERIFY(m_engine.unload({handle}));
        QCOMPARE(fake::counts().allocatedBytes, allocated);
    }

    void graphOfEveryModule_equalsItsRun_data() { everyModule_runsOnTheDevice_data(); }
    void graphOfEveryModule_equalsItsRun() {
        QFETCH(QString, name);
        const test::CapturedModule module = moduleNamed(name.toStdString());
        const int handle = load(module);
        const auto result = m_engine.benchmark(graphParams(module, handle), {});
        if (result) {
            QVERIFY2(result->sides.at(0).outputs == "exact" || result->sides.at(0).outputs == "none",
                     (result->sides.at(0).outputs + " at " + result->sides.at(0).outputsPointer).c_str());
        } else {
            QCOMPARE(result.error().code, ErrorCode::Unsupported);
            QVERIFY2(QString::fromStdString(result.error().message).contains("cannot be recorded as a graph of the device"),
                     result.error().message.c_str());
        }
        // Whatever came of it, the device works and everything has its own values.
        QCOMPARE(valueOf(m_engine.validate(callParams(module, handle, 0), {})).verdict, std::string("pass"));
        QVERIFY(m_engine.unload({handle}));
    }

    void outOfMemoryInAnyMethod_isAnErrorAndTheNextRunWorks_data() {
        QTest::addColumn<QString>("method");
        for (const char* method :
             {"run", "validate", "profile", "training step", "memory", "calibrate", "hot", "cold", "host_e2e", "graph"}) {
            QTest::newRow(method) << QString::fromLatin1(method);
        }
    }
    void outOfMemoryInAnyMethod_isAnErrorAndTheNextRunWorks() {
        QFETCH(QString, method);
        const test::CapturedModule module = moduleNamed("attention");
        const int handle = load(module);
        // The inputs find room, what is computed of them does not.
        fake::setCapacity(fake::counts().allocatedBytes + 1500);
        const auto error = errorOfMethod(method.toStdString(), callParams(module, handle, 0));
        QVERIFY(error.has_value());
        QVERIFY2(error->code == ErrorCode::OutOfMemory, error->text().c_str());
        QVERIFY(!m_engine.isDeviceLost());
        fake::setCapacity(std::numeric_limits<std::int64_t>::max());
        QVERIFY(!errorOfMethod(method.toStdString(), callParams(module, handle, 0)));
        QCOMPARE(valueOf(m_engine.validate(callParams(module, handle, 0), {})).verdict, std::string("pass"));
        QVERIFY(m_engine.unload({handle}));
    }

    void outOfMemoryInARun_isAnErrorAndTheNextRunWorks() {
        const test::CapturedModule module = moduleNamed("attention");
        const int handle = load(module);
        QVERIFY(valueOf(m_engine.validate(callParams(module, handle, 0), {})).verdict == "pass");
        fake::setCapacity(fake::counts().allocatedBytes + 1500);
        const auto result = m_engine.validate(callParams(module, handle, 0), {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::OutOfMemory);
        QVERIFY(!m_engine.isDeviceLost());
        fake::setCapacity(std::numeric_limits<std::int64_t>::max());
        QCOMPARE(valueOf(m_engine.validate(callParams(module, handle, 0), {})).verdict, std::string("pass"));
        QVERIFY(m_engine.unload({handle}));
    }

    void outOfMemoryWhileLoading_leavesNothingBehind() {
        const std::int64_t before = fake::counts().allocatedBytes;
        fake::setCapacity(before + 8);
        auto params = moduleNamed("attention").loadParams();
        params.device = kDevice;
        const auto result = m_engine.load(params, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::OutOfMemory);
        QCOMPARE(fake::counts().allocatedBytes, before);
    }

    void otherIndex_isMissing() {
        auto params = moduleNamed("affine").loadParams();
        params.device = "privateuseone:1";
        QCOMPARE(m_engine.load(params, {}).error().code, ErrorCode::EnvironmentMissing);
    }

    // Last: the engine stays without its device.
    void zzLostDevice_isSaidAndEndsTheProcess() {
        const test::CapturedModule module = moduleNamed("attention");
        const int handle = load(module);
        fake::loseAfter(3);
        const auto result = m_engine.validate(callParams(module, handle, 0), {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::WorkerCrashed);
        QVERIFY2(QString::fromStdString(result.error().message).contains("privateuseone:0 was lost"),
                 result.error().message.c_str());
        QVERIFY(m_engine.isDeviceLost());
        QVERIFY(m_engine.unload({handle}));
    }

private:
    template <class T>
    static std::optional<base::Error> errorOf(const base::Result<T>& result) {
        return result ? std::nullopt : std::optional(result.error());
    }
    std::optional<base::Error> errorOfMethod(const std::string& method, const protocol::CallParams& call) {
        if (method == "run") {
            return errorOf(m_engine.run(call, {}));
        }
        if (method == "validate") {
            return errorOf(m_engine.validate(call, {}));
        }
        if (method == "memory") {
            protocol::MemoryParams params;
            params.call = call;
            return errorOf(m_engine.memory(params, {}));
        }
        if (method == "calibrate") {
            protocol::CalibrateParams params;
            params.device = kDevice;
            params.threads = 1;
            params.budgetMs = 100;
            return errorOf(m_engine.calibrate(params, {}));
        }
        if (method == "profile" || method == "training step") {
            protocol::ProfileParams params;
            params.call = call;
            params.repetitions = 3;
            params.train = method == "profile" ? "" : "sgd";
            return errorOf(m_engine.profile(params, {}));
        }
        protocol::BenchmarkParams params;
        params.call = call;
        params.mode = method;
        params.repetitions = 3;
        params.warmupRuns = 2;
        return errorOf(m_engine.benchmark(params, {}));
    }
    static protocol::BenchmarkParams graphParams(const test::CapturedModule& module, int handle) {
        protocol::BenchmarkParams params;
        params.call = callParams(module, handle, 0);
        params.mode = protocol::benchmarkmode::kGraph;
        params.repetitions = 5;
        params.warmupRuns = 2;
        return params;
    }
    int load(const test::CapturedModule& module) {
        auto params = module.loadParams();
        params.device = kDevice;
        return valueOf(m_engine.load(params, {})).handle;
    }
    static protocol::CallParams callParams(const test::CapturedModule& module, int handle, std::size_t call) {
        auto params = module.callParams(handle, call);
        params.threads = 1;
        return params;
    }

    QTemporaryDir m_scratch;
    engine::Engine m_engine;
};

ML_TEST_MAIN(AcceleratorTest)
#include "tst_Accelerator.moc"
