// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/Safetensors.h"
#include "backend/engine/MemoryHistory.h"
#include "backend/engine/StateBytes.h"
#include "tests/engine/TrainingFixture.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <cstring>
#include <set>

using namespace modulelens;
using profile::Direction;
using test::kTrainingSet;
using test::TrainingFixture;
using test::valueOf;

namespace {

/// One column of a timeline file.
template <class Value>
std::vector<Value> column(const std::string& file, const std::string& key) {
    const auto mapped = valueOf(base::realFileSystem().map(file));
    const auto header = valueOf(capture::readSafetensorsHeader(mapped->bytes(), "timeline"));
    const capture::SafetensorsEntry& entry = header.entries.at(key);
    std::vector<Value> values(entry.sizeBytes / sizeof(Value));
    std::memcpy(values.data(), mapped->bytes().data() + entry.offset, entry.sizeBytes);
    return values;
}

capture::StateTensor part(std::int64_t offset, std::int64_t count, std::optional<std::int64_t> storage, bool isBuffer = false) {
    capture::StateTensor state;
    state.tensor.shape = {count};
    state.tensor.stride = {1};
    state.tensor.storedShape = {count};
    state.tensor.offset = offset;
    state.tensor.storage = storage;
    state.isBuffer = isBuffer;
    return state;
}

}  // namespace

/// Where memory goes, held against eager PyTorch and against arithmetic.
class MemoryTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (!TrainingFixture::hasCaptures()) {
            QSKIP("no captures: ctest makes them in engine.training_captures");
        }
        m_fixture = std::make_unique<TrainingFixture>();
    }
    void cleanupTestCase() { m_fixture.reset(); }

    void trainingPeak_isEagersToTheByte_data() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : test::capturedModules(kTrainingSet)) {
            if (!test::expectedOf(name, "training_peak", kTrainingSet).is_null()) {
                QTest::newRow(name.c_str()) << QString::fromStdString(name);
            }
        }
    }
    void trainingPeak_isEagersToTheByte() {
        QFETCH(QString, name);
        const auto result = m_fixture->memory(name.toStdString());
        QCOMPARE(result.trainingPeakBytes.value_or(-1),
                 test::expectedOf(name.toStdString(), "training_peak", kTrainingSet).get<std::int64_t>());
        QCOMPARE(result.gradientBytes.value_or(-1),
                 test::expectedOf(name.toStdString(), "gradient_bytes", kTrainingSet).get<std::int64_t>());
    }

    void inferencePeak_isNotAboveEagers_data() { trainingPeak_isEagersToTheByte_data(); }
    void inferencePeak_isNotAboveEagers() {
        QFETCH(QString, name);
        test::CapturedModule module(name.toStdString(), kTrainingSet);
        protocol::MemoryParams params;
        params.call = module.callParams(m_fixture->load(module));
        params.call.call["grad_mode"] = false;
        const auto result = valueOf(m_fixture->engine.memory(params, {}));
        QVERIFY(result.peakBytes.value_or(-1) > 0);
        QVERIFY2(*result.peakBytes <= test::expectedOf(name.toStdString(), "inference_peak", kTrainingSet).get<std::int64_t>(),
                 std::to_string(*result.peakBytes).c_str());
    }

    void activations_byHand_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<qint64>("live");
        QTest::addColumn<qint64>("held");
        // The input of 32 and what follows the activation of 64, each sample in float32.
        QTest::newRow("8 samples") << "perceptron" << qint64{3072} << qint64{3072};
        QTest::newRow("8 rows of 1000") << "perceptron_of_view" << qint64{3072} << qint64{1000 * 32 * 4 + 8 * 64 * 4};
        QTest::newRow("1 sample") << "perceptron_of_1" << qint64{384} << qint64{384};
        QTest::newRow("2 samples") << "perceptron_of_2" << qint64{768} << qint64{768};
        QTest::newRow("4 samples") << "perceptron_of_4" << qint64{1536} << qint64{1536};
    }
    void activations_byHand() {
        QFETCH(QString, name);
        QFETCH(qint64, live);
        QFETCH(qint64, held);
        const auto result = m_fixture->memory(name.toStdString());
        QCOMPARE(result.activationBytes.value_or(-1), live);
        QCOMPARE(result.activationHeldBytes.value_or(-1), held);
    }

    void optimizerState_isNamedAndMeasured() {
        const std::int64_t parameters = (32 * 64 + 64 + 64 * 32 + 32) * 4;
        const auto named = m_fixture->memory("perceptron");
        QCOMPARE(named.optimizerStateBytes.at("sgd"), 0);
        QCOMPARE(named.optimizerStateBytes.at("adam"), 2 * parameters + 4 * 4);
        QVERIFY(!named.optimizerStateFormulas.at("adam").empty());
        QVERIFY(!named.stepPeakBytes && named.reasons.count("step_peak_bytes") == 1);
        const auto measured = m_fixture->memory("perceptron", "adam");
        QCOMPARE(measured.optimizerStateBytes.at("adam"), 2 * parameters + 4 * 4);
        QCOMPARE(measured.trainingPeakBytes, named.trainingPeakBytes);
        QVERIFY(measured.stepPeakBytes.value_or(0) > *measured.trainingPeakBytes);
    }

    void tiedWeights_countOnce() {
        const auto result = m_fixture->memory("stack");
        const auto profile = TrainingFixture::read(result.file);
        QCOMPARE(profile->column("parameters", Direction::Forward)->total[0], result.parameterBytes.value_or(-1));
        // The head is the table of tokens, and one gate of a feed-forward is the other's.
        const std::int64_t block = 2 * 128 + 128 + 4 * 128 * 128 + 3 * 128 * 256;
        QCOMPARE(result.parameterBytes.value_or(-1), (200 * 128 + 2 * block - 128 * 256 + 3 * 128 * 128) * 4);
        QCOMPARE(result.bufferBytes.value_or(-1), 0);
    }

    void buffers_areApart() {
        const auto result = m_fixture->memory("dlrm");
        QCOMPARE(result.bufferBytes.value_or(-1), 2 * 36 * 8);
        const auto profile = TrainingFixture::read(result.file);
        QCOMPARE(profile->column("buffers", Direction::Forward)->total[0], 2 * 36 * 8);
    }

    void nodes_addUpToThePeaks_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"block", "stack", "dlrm", "resnet"}) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }
    void nodes_addUpToThePeaks() {
        QFETCH(QString, name);
        const auto result = m_fixture->memory(name.toStdString());
        const auto profile = TrainingFixture::read(result.file);
        QCOMPARE(profile->column("peak", Direction::Forward)->total[0], *result.peakBytes);
        QCOMPARE(profile->column("training_peak", Direction::Forward)->total[0], *result.trainingPeakBytes);
        QCOMPARE(profile->column("activation", Direction::Forward)->total[0], *result.activationBytes);
        QCOMPARE(profile->column("gradients", Direction::Forward)->total[0], *result.gradientBytes);
    }

    void onTheCpu_reserveAndDriverAreUnknownWithAReason() {
        const auto result = m_fixture->memory("perceptron");
        QVERIFY(!result.reservedPeakBytes && !result.deviceUsedBytes);
        QVERIFY(!result.reasons.at("reserved_peak_bytes").empty());
        QVERIFY(!result.reasons.at("device_used_bytes").empty());
    }

    void timeline_adds_data() {
        QTest::addColumn<QString>("run");
        QTest::newRow("forward") << "forward";
        QTest::newRow("training") << "training";
    }
    void timeline_adds() {
        QFETCH(QString, run);
        const std::string prefix = run.toStdString() + ".";
        const auto result = m_fixture->memory("block", "adam");
        const auto bytes = column<std::int64_t>(result.timelineFile, prefix + "bytes");
        const auto alive = column<std::int64_t>(result.timelineFile, prefix + "alive");
        const auto times = column<std::int64_t>(result.timelineFile, prefix + "time_ns");
        const auto blocks = column<std::int32_t>(result.timelineFile, prefix + "block");
        const auto phases = column<std::uint8_t>(result.timelineFile, prefix + "phase");
        std::int64_t sum = 0;
        std::int64_t peak = 0;
        std::set<std::int32_t> open;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            sum += bytes[i];
            QCOMPARE(alive[i], sum);
            peak = std::max(peak, sum);
            QVERIFY(bytes[i] > 0 ? open.insert(blocks[i]).second : open.erase(blocks[i]) == 1);
            QVERIFY(i == 0 || (times[i] >= times[i - 1] && phases[i] >= phases[i - 1]));
        }
        QCOMPARE(peak, run == "forward" ? *result.peakBytes : *result.stepPeakBytes);
        QCOMPARE(phases.back(),
                 static_cast<std::uint8_t>(run == "forward" ? engine::MemoryPhase::Forward : engine::MemoryPhase::Optimizer));
    }

    void timeline_namesWhoAllocated() {
        const auto result = m_fixture->memory("perceptron");
        const auto mapped = valueOf(base::realFileSystem().map(result.timelineFile));
        const auto header = valueOf(capture::readSafetensorsHeader(mapped->bytes(), "timeline"));
        QCOMPARE(header.metadata.at("format"), std::string("modulelens.memory"));
        const auto document = nlohmann::json::parse(header.metadata.at("timeline"));
        std::vector<std::string> makers;
        const auto rows = column<std::int32_t>(result.timelineFile, "forward.row");
        const auto bytes = column<std::int64_t>(result.timelineFile, "forward.bytes");
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (bytes[i] > 0) {
                const nlohmann::json& row = document["rows"][static_cast<std::size_t>(rows[i])];
                makers.push_back(row["module"].get<std::string>() + " " + row["name"].get<std::string>());
            }
        }
        QCOMPARE(makers, (std::vector<std::string>{"0 aten::linear", "1 aten::relu", "2 aten::linear"}));
    }

    void nothingAllocated_isAnError() {
        const test::CapturedModule module("views", kTrainingSet);
        protocol::MemoryParams params;
        params.call = module.callParams(m_fixture->load(module));
        const auto result = m_fixture->engine.memory(params, {});
        QVERIFY(!result);
        QCOMPARE(result.error().code, base::ErrorCode::Unsupported);
        QVERIFY(result.error().message.find("no history") != std::string::npos);
    }

    void viewsOfOneStorage_countTheirExtentOnce() {
        graph::Program program;
        const std::map<std::string, capture::StateTensor> tensors{{"a.first", part(0, 10, 7)},
                                                                  {"a.overlap", part(5, 10, 7)},
                                                                  {"b.apart", part(20, 5, 7)},
                                                                  {"b.buffer", part(0, 30, 7, true)},
                                                                  {"b.own", part(0, 4, std::nullopt)}};
        const engine::StateBytes bytes = engine::stateBytes(program, tensors);
        QCOMPARE(bytes.parameterBytes, (15 + 5 + 4) * 4);
        QCOMPARE(bytes.bufferBytes, (30 - 15 - 5) * 4);
        QCOMPARE(bytes.parameters.size(), 4U);
        QCOMPARE(bytes.parameters.at(1).bytes, 5 * 4);
    }

private:
    std::unique_ptr<TrainingFixture> m_fixture;
};

ML_TEST_MAIN(MemoryTest)
#include "tst_Memory.moc"
