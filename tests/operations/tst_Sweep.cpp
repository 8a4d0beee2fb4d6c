// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Sweep.h"

#include <QTest>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/operations/GoldenRegistry.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using modulelens::base::ErrorCode;
using nlohmann::json;
using namespace modulelens;
using namespace modulelens::operations;

namespace {

const json kLoaded = {{"handle", 1}, {"load_ns", 1000}, {"operator_count", 4}};

json environment(std::int64_t availableBytes) {
    return {{"host", "h"},
            {"device", "cpu"},
            {"threads", 1},
            {"interop_threads", 1},
            {"torch_version", "2.13.0"},
            {"float32_matmul_precision", "highest"},
            {"memory_available_bytes", availableBytes}};
}

json timed(std::int64_t ns, std::int64_t availableBytes = 1'000'000'000) {
    const json side = {{"samples_ns", {ns, ns, ns}}, {"median_ns", ns}, {"operators", 1}, {"outputs", "exact"}};
    return {{"mode", "hot"}, {"median_ns", ns}, {"sides", {side}}, {"environment", environment(availableBytes)}};
}

json remembered(std::int64_t peak) {
    return {{"file", ""}, {"timeline_file", ""}, {"peak_bytes", peak}, {"reasons", {{"activation", "no gradients"}}}};
}

json replies(const std::vector<json>& results) {
    json calls = json::array();
    for (const json& result : results) {
        calls.push_back({{{"reply", result}}});
    }
    return calls;
}

SweepSettings batches(std::vector<std::int64_t> values) {
    SweepSettings settings;
    settings.dimensions = {{"batch", std::move(values)}};
    return settings;
}

} // namespace

class TestSweep : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        m_golden = std::make_unique<test::GoldenRegistry>();
        QVERIFY2(m_golden->registry != nullptr, m_golden->error.c_str());
        qputenv("XDG_RUNTIME_DIR", m_golden->folder.path().toUtf8());
    }

    void dimensions_areRead() {
        const auto read = parseSweepDimension("batch=2,4,8");
        QCOMPARE(read->name, std::string("batch"));
        QCOMPARE(read->values, (std::vector<std::int64_t>{2, 4, 8}));
        for (const char* text : {"batch", "=1", "batch=", "batch=1,,2", "batch=1,", "batch=x", "batch=0", "batch=-2",
                                 "batch=1.5", "batch=4,4", "batch=99999999999999999999"}) {
            QVERIFY2(!parseSweepDimension(text).hasValue(), text);
            QCOMPARE(parseSweepDimension(text).error().code, ErrorCode::InvalidArgument);
        }
    }

    void everyPoint_hasItsNumbers() {
        const auto operations = scripted({{"load", replies({kLoaded})},
                                          {"memory", replies({remembered(48), remembered(32), remembered(96)})},
                                          {"benchmark", replies({timed(500), timed(1000), timed(2000)})}});
        const auto report = operations->sweep("golden::linear", batches({2, 6}), {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        const json document = sweepDocument(*report);
        QCOMPARE(document["n_ok"].get<int>(), 2);
        QCOMPARE(document["n_total"].get<int>(), 2);
        const json& first = document["points"][0];
        QCOMPARE(first["dims"].dump(), std::string(R"({"batch":2})"));
        QCOMPARE(first["status"].get<std::string>(), std::string("ok"));
        QCOMPARE(first["latency_ns"].get<int>(), 1000);
        QCOMPARE(first["peak_bytes"].get<int>(), 32);
        QVERIFY(first["activation_bytes"].is_null() && first["reasons"].contains("activation"));
        // 2 rows in a microsecond.
        QCOMPARE(first["items_per_second"].get<double>(), 2e6);
        QCOMPARE(first["inputs"].get<std::string>(), std::string("cut"));
        const json& second = document["points"][1];
        QCOMPARE(second["inputs"].get<std::string>(), std::string("tiled"));
        QCOMPARE(second["items_per_second"].get<double>(), 3e6);
        QCOMPARE(document["dimensions"][0]["name"].get<std::string>(), std::string("batch"));
        QCOMPARE(document["dimensions"][0]["captured"].get<int>(), 3);
        const auto stored = m_golden->registry->results(report->version.id, "benchmark");
        QCOMPARE(stored->size(), 1U);
        QVERIFY(json::parse(stored->front().json).contains("points"));
    }

    void failedPoints_haveNoNumbersAndTheOthersStay() {
        const std::string marker = m_golden->folder.filePath(QStringLiteral("crashed")).toStdString();
        const json memory = {{{{"reply", remembered(48)}}},
                             {{{"reply", remembered(32)}}},
                             {{{"crash", SIGKILL}, {"once", marker}}, {{"reply", remembered(128)}}}};
        const auto operations =
            scripted({{"load", replies({kLoaded})}, {"memory", memory}, {"benchmark", replies({timed(1000)})}});
        // 1 lies below the range; the worker dies on the third; its successor's first answer is that of the captured sizes.
        const auto report = operations->sweep("golden::linear", batches({1, 2, 4, 8}), {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        const json document = sweepDocument(*report);
        QCOMPARE(document["n_ok"].get<int>(), 2);
        QCOMPARE(document["n_total"].get<int>(), 4);
        QCOMPARE(document["points"][0]["error"]["code"].get<std::string>(), std::string("invalid_argument"));
        QCOMPARE(
            document["sentence"].get<std::string>(),
            std::string("2 of 4 points measured. Left out: batch = 1, outside the range 2 and up that the program was exported "
                        "for."));
        QCOMPARE(document["points"][2]["error"]["code"].get<std::string>(), std::string("worker_crashed"));
        for (const std::size_t failed : {0U, 2U}) {
            for (const char* key : {"latency_ns", "items_per_second", "peak_bytes", "flops", "ci95_ns"}) {
                QVERIFY2(document["points"][failed][key].is_null(), key);
            }
        }
        QCOMPARE(document["points"][1]["status"].get<std::string>(), std::string("ok"));
        QCOMPARE(document["points"][3]["status"].get<std::string>(), std::string("ok"));
    }

    void pointThatDoesNotFit_isRefusedBeforeItRuns() {
        // 3 rows of 16 bytes need 480 bytes: ten for each byte of input. A million rows need 192 MB.
        const auto operations = scripted({{"load", replies({kLoaded})},
                                          {"memory", replies({remembered(480), remembered(320), remembered(640)})},
                                          {"benchmark", replies({timed(1000, 100'000'000)})}});
        const auto report = operations->sweep("golden::linear", batches({2, 1'000'000, 4}), {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->okCount(), 2);
        QVERIFY(report->points[1].error.has_value());
        QCOMPARE(report->points[1].error->code, ErrorCode::OutOfMemory);
        QVERIFY(report->points[1].error->message.find("192 MB") != std::string::npos);
    }

    void outOfMemoryInTheWorker_isThePointsOwn() {
        const json outOfMemory = {{{{"reply", timed(500)}}},
                                  {{{"reply", timed(1000)}}},
                                  {{{"error", {{"code", -32009}, {"message", "no memory"}}}}},
                                  {{{"reply", timed(3000)}}}};
        const auto operations =
            scripted({{"load", replies({kLoaded})}, {"memory", replies({remembered(48)})}, {"benchmark", outOfMemory}});
        const auto report = operations->sweep("golden::linear", batches({2, 3, 4}), {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->okCount(), 2);
        QCOMPARE(report->points[1].error->code, ErrorCode::OutOfMemory);
    }

    void sweepWithoutAPointThatRuns_isTheErrorOfTheFirst() {
        const auto operations = scripted(
            {{"load", replies({kLoaded})}, {"memory", replies({remembered(48)})}, {"benchmark", replies({timed(1000)})}});
        const auto report = operations->sweep("golden::linear", batches({1}), {});
        QCOMPARE(report.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(report.error().message.find("batch = 1 lies outside the range 2 and up") != std::string::npos,
                 report.error().message.c_str());
    }

    void unknownDimension_isRefusedWithThoseThereAre() {
        const auto operations = scripted({{"load", replies({kLoaded})}});
        SweepSettings settings;
        settings.dimensions = {{"width", {2}}};
        const auto report = operations->sweep("golden::linear", settings, {});
        QCOMPARE(report.error().code, ErrorCode::InvalidArgument);
        QVERIFY(report.error().fix.find("batch") != std::string::npos);
        settings.dimensions.clear();
        QCOMPARE(operations->sweep("golden::linear", settings, {}).error().code, ErrorCode::InvalidArgument);
        settings.dimensions = {{"batch", {2}}, {"/args/0:0", {3}}};
        QCOMPARE(operations->sweep("golden::linear", settings, {}).error().code, ErrorCode::InvalidArgument);
    }

    void cancel_endsTheSweep() {
        const auto operations =
            scripted({{"load", replies({kLoaded})},
                      {"memory", replies({remembered(48)})},
                      {"benchmark", {{{{"progress", {{"stage", "timing"}}}}, {{"until_cancelled", true}}}}}});
        std::stop_source stop;
        OperationContext context;
        context.stop = stop.get_token();
        context.progress = [&](const protocol::Progress& progress) {
            if (progress.stage == "timing") {
                stop.request_stop();
            }
        };
        QCOMPARE(operations->sweep("golden::linear", batches({2, 4}), context).error().code, ErrorCode::Cancelled);
    }

private:
    std::unique_ptr<Operations> scripted(const json& script) const {
        return std::make_unique<Operations>(
            m_golden->registry, std::vector<std::string>{test::programPath("scripted-worker").string(), script.dump()});
    }

    std::unique_ptr<test::GoldenRegistry> m_golden;
};

ML_TEST_MAIN(TestSweep)
#include "tst_Sweep.moc"
