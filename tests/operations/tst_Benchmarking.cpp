// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Benchmarking.h"

#include <QTest>
#include <csignal>
#include <nlohmann/json.hpp>

#include "backend/operations/Calibrating.h"
#include "backend/operations/CalibrationStore.h"
#include "tests/operations/GoldenRegistry.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using modulelens::base::ErrorCode;
using nlohmann::json;
using namespace modulelens;
using namespace modulelens::operations;

namespace {

const json kLoaded = {{"handle", 1}, {"load_ns", 1000}, {"operator_count", 4}};

json environment() {
    return {{"host", "test-host"},       {"device", "cpu"}, {"threads", 2},      {"interop_threads", 1},
            {"torch_version", "2.13.0"}, {"cpus", 8},       {"other_cpus", 0.0}, {"float32_matmul_precision", "highest"}};
}

json side(const std::vector<std::int64_t>& samples) {
    json order = json::array();
    for (std::size_t i = 0; i < samples.size(); ++i) {
        order.push_back(i);
    }
    return {{"samples_ns", samples}, {"order", order},       {"median_ns", samples.empty() ? 0 : samples.front()},
            {"warmup_runs", 16},     {"operators", 1},       {"outputs", "exact"},
            {"flops", 1'000'000},    {"dtypes", {"float32"}}};
}

json benchmarked(const std::vector<json>& sides, const std::vector<std::int64_t>& again = {}) {
    return {{"mode", "hot"},
            {"median_ns", 0},
            {"sides", sides},
            {"again_ns", again},
            {"timer_ns", 20},
            {"null_operator_ns", 100},
            {"environment", environment()},
            {"device_reason", "the CPU has none"}};
}

json replying(const json& result) {
    return {{{{"reply", result}}}};
}

/// `count` times about `ns`, with a pattern of `noise` on top.
std::vector<std::int64_t> times(std::int64_t ns, std::int64_t noise = 0, int count = 30) {
    std::vector<std::int64_t> samples;
    samples.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        samples.push_back(ns + noise * ((i * 7 % 11) - 5) / 5);
    }
    return samples;
}

BenchmarkReport twoSides(std::vector<std::int64_t> first, std::vector<std::int64_t> second, std::vector<std::int64_t> again) {
    BenchmarkReport report;
    report.sides.resize(2);
    report.sides[0].measured.samplesNs = std::move(first);
    report.sides[1].measured.samplesNs = std::move(second);
    report.againNs = std::move(again);
    return report;
}

std::vector<std::string> names(const std::vector<MeasuringFlag>& flags) {
    std::vector<std::string> all;
    all.reserve(flags.size());
    for (const MeasuringFlag& flag : flags) {
        all.push_back(flag.name);
    }
    return all;
}

BenchmarkReport oneSide(std::vector<std::int64_t> samples) {
    BenchmarkReport report;
    report.sides.resize(1);
    report.sides[0].measured.samplesNs = std::move(samples);
    return report;
}

} // namespace

class Benchmarking : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        m_golden = std::make_unique<test::GoldenRegistry>();
        QVERIFY2(m_golden->registry != nullptr, m_golden->error.c_str());
        qputenv("MODULELENS_CALIBRATION", m_golden->folder.filePath(QStringLiteral("calibration")).toUtf8());
        qputenv("XDG_RUNTIME_DIR", m_golden->folder.path().toUtf8());
    }

    void clearlyFaster_isFaster() {
        BenchmarkReport report = twoSides(times(2000, 20), times(1000, 10), times(2000, 20));
        judge(report, {});
        QCOMPARE(report.ratio->ratio, 2.0);
        QVERIFY(*report.verdict == profile::Verdict::Faster);
        QVERIFY(report.aaBand.value() < 0.03);
        QVERIFY(report.verdictReason.empty());
    }

    void withinTheBandOfTheSession_isNotFaster() {
        // Half a per cent would count in a quiet session; here the same thing differs from itself by ten.
        BenchmarkReport report = twoSides(times(1050), times(1000), times(955));
        judge(report, {});
        QVERIFY(*report.aaBand > 0.09);
        QVERIFY(*report.verdict != profile::Verdict::Faster);
    }

    void otherLoad_downgradesTheVerdict() {
        BenchmarkReport report = twoSides(times(2000), times(1000), times(2000));
        report.sides[0].environment.cpus = 2;
        report.sides[0].environment.threads = 2;
        report.sides[0].environment.otherCpus = 1.5;
        judge(report, {});
        QVERIFY(*report.verdict == profile::Verdict::Ambiguous);
        QCOMPARE(names(report.flags), (std::vector<std::string>{"other_load", "ambiguous"}));
        QVERIFY(!report.verdictReason.empty());
    }

    void busyNeighboursWithProcessorsToSpare_areNoLoad() {
        BenchmarkReport report = twoSides(times(2000), times(1000), times(2000));
        report.sides[0].environment.cpus = 16;
        report.sides[0].environment.threads = 2;
        report.sides[0].environment.otherCpus = 1.5;
        judge(report, {});
        QVERIFY(*report.verdict == profile::Verdict::Faster);
        QVERIFY(report.flags.empty());
    }

    void noSamples_areAStatusAndNulls() {
        BenchmarkReport report = twoSides(times(2000), {}, times(2000));
        judge(report, {});
        const json document = benchmarkDocument(report);
        QCOMPARE(document["sides"][1]["status"].get<std::string>(), std::string("no_samples"));
        QCOMPARE(document["sides"][1]["n"].get<int>(), 0);
        for (const char* key : {"median_ns", "p25_ns", "min_ns", "mean_ns", "ci95_ns", "host_ns", "device_ns"}) {
            QVERIFY2(document["sides"][1][key].is_null(), key);
        }
        // Never a speed-up of 1, nor any number.
        QVERIFY(document["ratio"].is_null() && document["ci95"].is_null());
        QCOMPARE(document["verdict"].get<std::string>(), std::string("ambiguous"));
    }

    void sideFlags_data() {
        QTest::addColumn<QString>("flag");
        for (const char* flag : {"none", "warmup_capped", "throttled", "outputs_changed", "host_bound", "timer_bound",
                                 "impossible", "async_escape"}) {
            QTest::newRow(flag) << QString::fromLatin1(flag);
        }
    }
    void sideFlags() {
        const std::string flag = QTest::currentDataTag();
        BenchmarkReport report = oneSide(times(1'000'000));
        BenchmarkSideReport& one = report.sides[0];
        one.measured.operators = 10;
        one.nullOperatorNs = 300;
        one.timerNs = 20;
        one.floorNs = 900'000;
        if (flag == "warmup_capped") {
            one.measured.warmupCapped = true;
        } else if (flag == "throttled") {
            for (std::size_t i = 0; i < one.measured.samplesNs.size(); ++i) {
                one.measured.samplesNs[i] += static_cast<std::int64_t>(i) * 10'000;
            }
        } else if (flag == "outputs_changed") {
            one.measured.outputs = "fail";
        } else if (flag == "host_bound") {
            one.measured.operators = 1200;       // 1200 * 300 ns is more than a third of a millisecond.
        } else if (flag == "timer_bound") {
            one.timerNs = 10'001;
        } else if (flag == "impossible") {
            one.floorNs = 1'300'000;
        } else if (flag == "async_escape") {
            one.measured.deviceNs = times(990'000);   // Launching ten operators explains 3 of 10 microseconds.
        }
        judge(report, {});
        QCOMPARE(names(one.flags), flag == "none" ? std::vector<std::string>() : std::vector<std::string>{flag});
        QVERIFY(!report.verdict);
    }

    void graphs_areLaunchedAsAWholeAndTimedTogether() {
        BenchmarkReport report = oneSide(times(10'000));
        BenchmarkSideReport& one = report.sides[0];
        one.measured.operators = 1200;
        one.nullOperatorNs = 300;
        one.timerNs = 1000;
        judge(report, {});
        QCOMPARE(names(one.flags), (std::vector<std::string>{"host_bound", "timer_bound"}));
        one.flags.clear();
        one.measured.runsPerSample = 10;
        judge(report, {});
        QVERIFY(one.flags.empty());
    }

    void impossibleSide_hasNoVerdict() {
        BenchmarkReport report = twoSides(times(2000), times(100), times(2000));
        report.sides[1].floorNs = 1000;
        judge(report, {});
        QVERIFY(*report.verdict == profile::Verdict::Ambiguous);
    }

    void differentModes_areRefused() {
        protocol::BenchmarkResult hot;
        hot.mode = "hot";
        protocol::BenchmarkResult cold = hot;
        QVERIFY(checkComparable(hot, cold));
        cold.mode = "cold";
        QCOMPARE(checkComparable(hot, cold).error().code, ErrorCode::InvalidArgument);
        QVERIFY(checkComparable(hot, cold).error().message.find("modes") != std::string::npos);
        protocol::BenchmarkResult wide = hot;
        wide.environment.threads = 4;
        QVERIFY(!checkComparable(hot, wide));
        protocol::BenchmarkResult fast = hot;
        fast.environment.float32MatmulPrecision = "medium";
        QVERIFY(!checkComparable(hot, fast));
    }

    void oneVersion_isMeasuredAndStored() {
        const auto operations =
            scripted({{"load", replying(kLoaded)}, {"benchmark", replying(benchmarked({side(times(100'000, 500))}))}});
        const auto report = operations->benchmark({"golden::linear"}, {}, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->sides.size(), 1U);
        QCOMPARE(report->sides[0].host->count, 30);
        QVERIFY(!report->verdict && !report->ratio && report->aaBand);
        QVERIFY(!report->sides[0].floorNs && report->sides[0].floorReason.find("calibrate") != std::string::npos);
        const auto stored = m_golden->registry->results(m_golden->registry->resolve("golden::linear")->id, "benchmark");
        QCOMPARE(stored->size(), 1U);
        const json document = json::parse(stored->front().json);
        QCOMPARE(document["mode"].get<std::string>(), std::string("hot"));
        QCOMPARE(document["sides"][0]["samples_ns"].size(), 30U);
        QVERIFY(document["aa_band"].is_number());
        // What is not known is null, never 0.
        for (const char* key : {"governor", "clock_hz_before", "clock_locked", "driver", "device_uuid", "load_average"}) {
            QVERIFY2(document["sides"][0]["environment"].contains(key), key);
            QVERIFY2(document["sides"][0]["environment"][key].is_null(), key);
        }
        QVERIFY(document["sides"][0]["first_call_ns"].is_null());
        QVERIFY(document["sides"][0]["device_ns"].is_null());
        QVERIFY(document["sides"][0]["device_reason"].is_string());
    }

    void calibrationBesideOtherWork_saysThatItMayBeTooLow() {
        json busy = environment();
        busy["cpus"] = 2;
        busy["other_cpus"] = 1.5;
        const json calibrated = {{"read_bytes_per_second", 5}, {"copy_bytes_per_second", 6}, {"triad_bytes_per_second", 4},
                                 {"array_bytes", 1},           {"peaks", json::array()},     {"timer_ns", 20},
                                 {"null_operator_ns", 100},    {"environment", busy}};
        const auto calibration = scripted({{"calibrate", replying(calibrated)}})->calibrate({}, 100, {});
        QVERIFY2(calibration.hasValue(), calibration.hasValue() ? "" : calibration.error().message.c_str());
        QCOMPARE(calibration->warnings.size(), 1U);
        QVERIFY(calibration->warnings.front().find("1.50 of 2 processors") != std::string::npos);
    }

    void calibration_isStoredAndGivesTheFloor() {
        const json peaks = {{{"dtype", "float32"}, {"flops_per_second", 10'000'000'000}, {"size", 512}}};
        const json calibrated = {{"read_bytes_per_second", 5'000'000'000},
                                 {"copy_bytes_per_second", 6'000'000'000},
                                 {"triad_bytes_per_second", 4'000'000'000},
                                 {"array_bytes", 1},
                                 {"peaks", peaks},
                                 {"timer_ns", 20},
                                 {"null_operator_ns", 100},
                                 {"environment", environment()}};
        const auto operations = scripted(
            {{"load", replying(kLoaded)},
             {"calibrate", replying(calibrated)},
             {"benchmark",
              {{{{"reply", benchmarked({side(times(150'000))})}}}, {{{"reply", benchmarked({side(times(50'000))})}}}}}});
        const auto calibration = operations->calibrate({}, 100, {});
        QVERIFY2(calibration.hasValue(), calibration.hasValue() ? "" : calibration.error().message.c_str());
        QVERIFY(std::filesystem::exists(calibration->file));
        QVERIFY(calibration->warnings.empty());
        const auto found = findCalibration(calibrationFolder(), "test-host", "cpu", 2);
        QVERIFY(found.has_value());
        QCOMPARE(peakBytesPerSecond(*found), 6'000'000'000);
        QCOMPARE(peakFacts(*found).at("peak_flops_per_second.float32"), std::string("10000000000"));
        QVERIFY(!findCalibration(calibrationFolder(), "test-host", "cpu", 1));
        QVERIFY(!findCalibration(calibrationFolder(), "other-host", "cpu", 2));
        // A million FLOPs at 10 GFLOP/s take 100 microseconds.
        const auto possible = operations->benchmark({"golden::linear"}, {}, {});
        QCOMPARE(possible->sides[0].floorNs.value_or(-1), 100'000);
        QVERIFY(possible->sides[0].flags.empty());
        const auto impossible = operations->benchmark({"golden::linear"}, {}, {});
        QCOMPARE(names(impossible->sides[0].flags), std::vector<std::string>{"impossible"});
    }

    void damagedCalibration_isNone() {
        const std::filesystem::path folder = m_golden->folder.filePath(QStringLiteral("damaged")).toStdString();
        protocol::CalibrateResult result;
        result.environment.host = "h";
        result.environment.device = "cpu";
        const auto file = storeCalibration(folder, result);
        QVERIFY(file.hasValue() && findCalibration(folder, "h", "cpu", 1));
        QVERIFY(storeCalibration(folder, result).hasValue());
        std::filesystem::resize_file(*file, std::filesystem::file_size(*file) / 2);
        QVERIFY(!findCalibration(folder, "h", "cpu", 1));
    }

    void twoVersions_areMeasuredInOneWorker() {
        const json answer = benchmarked({side(times(200'000)), side(times(100'000))}, times(200'000));
        const auto operations =
            scripted({{"load", {{{{"reply", kLoaded}}}, {{{"reply", {{"handle", 2}, {"load_ns", 1}, {"operator_count", 4}}}}}}},
                      {"benchmark", replying(answer)}});
        const auto report = operations->benchmark({"golden::linear", "golden::activation"}, {}, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->ratio->ratio, 2.0);
        QVERIFY(*report->verdict == profile::Verdict::Faster);
        for (const char* version : {"golden::linear", "golden::activation"}) {
            const auto stored = m_golden->registry->results(m_golden->registry->resolve(version)->id, "benchmark");
            QCOMPARE(json::parse(stored->front().json)["verdict"].get<std::string>(), std::string("faster"));
        }
    }

    void anotherModeThanAskedFor_isRefused() {
        const auto operations =
            scripted({{"load", replying(kLoaded)}, {"benchmark", replying(benchmarked({side(times(1000))}))}});
        BenchmarkSettings settings;
        settings.mode = "cold";
        QCOMPARE(operations->benchmark({"golden::linear"}, settings, {}).error().code, ErrorCode::InvalidArgument);
    }

    void twoWorkers_takeTurns() {
        const json first = {{"load", replying(kLoaded)}, {"benchmark", replying(turn(2000))}};
        const json second = {{"load", replying(kLoaded)}, {"benchmark", replying(turn(1000))}};
        const auto operations = scripted(first);
        BenchmarkSettings settings;
        settings.againstWorker = {test::programPath("scripted-worker").string(), second.dump()};
        settings.repetitions = 6;
        const auto report = operations->benchmark({"golden::linear"}, settings, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->sides.size(), 2U);
        QCOMPARE(report->samplesPerTurn, 5);
        QCOMPARE(report->ratio->ratio, 2.0);
        QCOMPARE(report->ratio->pairs, 6);
        QCOMPARE(report->sameSide->ratio, 1.0);
        QCOMPARE(report->sides[0].measured.samplesNs, std::vector<std::int64_t>(30, 2000));
        QCOMPARE(report->sides[1].measured.samplesNs, std::vector<std::int64_t>(30, 1000));
        QCOMPARE(report->againNs.size(), 6U);
        QVERIFY(*report->verdict == profile::Verdict::Faster);
    }

    void deadSecondWorker_isNamedAndTheFirstStaysUsable() {
        const json first = {{"load", replying(kLoaded)}, {"benchmark", replying(turn(2000))}};
        const json second = {{"load", replying(kLoaded)}, {"benchmark", {{{{"crash", SIGKILL}}}}}};
        const auto operations = scripted(first);
        BenchmarkSettings settings;
        settings.againstWorker = {test::programPath("scripted-worker").string(), second.dump()};
        QCOMPARE(operations->benchmark({"golden::linear"}, settings, {}).error().code, ErrorCode::WorkerCrashed);
        settings.againstWorker = {"/nowhere/worker"};
        QCOMPARE(operations->benchmark({"golden::linear"}, settings, {}).error().code, ErrorCode::EnvironmentMissing);
        settings.againstWorker.clear();
        QVERIFY(operations->benchmark({"golden::linear"}, settings, {}).hasValue());
    }

    void killedWorker_hasASuccessor() {
        const std::string marker = m_golden->folder.filePath(QStringLiteral("killed")).toStdString();
        const auto operations = scripted(
            {{"load", replying(kLoaded)},
             {"benchmark", {{{{"crash", SIGKILL}, {"once", marker}}, {{"reply", benchmarked({side(times(1000))})}}}}}});
        QCOMPARE(operations->benchmark({"golden::linear"}, {}, {}).error().code, ErrorCode::WorkerCrashed);
        QVERIFY(operations->benchmark({"golden::linear"}, {}, {}).hasValue());
    }

    void cancelledBenchmark_ends() {
        const auto operations =
            scripted({{"load", replying(kLoaded)},
                      {"benchmark", {{{{"progress", {{"stage", "timing"}}}}, {{"until_cancelled", true}}}}}});
        std::stop_source stop;
        OperationContext context;
        context.stop = stop.get_token();
        context.progress = [&](const protocol::Progress& progress) {
            if (progress.stage == "timing") {
                stop.request_stop();
            }
        };
        QCOMPARE(operations->benchmark({"golden::linear"}, {}, context).error().code, ErrorCode::Cancelled);
    }

    void badSettings_areRefused() {
        const auto operations = scripted(json::object());
        BenchmarkSettings settings;
        QCOMPARE(operations->benchmark({}, settings, {}).error().code, ErrorCode::InvalidArgument);
        QCOMPARE(operations->benchmark({"a", "b", "c"}, settings, {}).error().code, ErrorCode::InvalidArgument);
        settings.repetitions = 0;
        QCOMPARE(operations->benchmark({"golden::linear"}, settings, {}).error().code, ErrorCode::InvalidArgument);
        QCOMPARE(operations->benchmark({"golden::none"}, {}, {}).error().code, ErrorCode::NotFound);
    }

private:
    /// What a worker answers for a turn: five samples.
    static json turn(std::int64_t ns) {
        json answer = benchmarked({side(times(ns, 0, 5))});
        answer["median_ns"] = ns;
        // No work, no floor: another test keeps the peaks of this host.
        answer["sides"][0].erase("flops");
        return answer;
    }

    std::unique_ptr<Operations> scripted(const json& script) const {
        return std::make_unique<Operations>(
            m_golden->registry, std::vector<std::string>{test::programPath("scripted-worker").string(), script.dump()});
    }

    std::unique_ptr<test::GoldenRegistry> m_golden;
};

ML_TEST_MAIN(Benchmarking)
#include "tst_Benchmarking.moc"
