// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/MemoryMessages.h"

#include "tests/support/TestMain.h"

#include <QTest>

using nlohmann::json;
using namespace modulelens::protocol;

namespace {

/// As the documentation shows them, all keys present.
constexpr const char* kParams = R"({"call":{"handle":1,"call":{},"tensors":[]},"name":"BertLayer","train":"adam"})";
constexpr const char* kResult =
    R"({"file":"/f","timeline_file":"/t","events":9,"loss":"sum of the outputs","parameter_bytes":1,"buffer_bytes":2,
        "gradient_bytes":3,"optimizer_state_bytes":{"adam":6,"sgd":0},"optimizer_state_formulas":{"adam":"2 x","sgd":"0"},
        "activation_bytes":4,"activation_held_bytes":5,"peak_bytes":6,"training_peak_bytes":7,"step_peak_bytes":8,
        "reserved_peak_bytes":9,"device_used_bytes":10,"reasons":{"step_peak_bytes":"r"}})";
constexpr const char* kTraining =
    R"({"loss":"l","forward_ns":1,"backward_ns":2,"optimizer_ns":3,"step_ns":6,"step_samples_ns":[6],"backward_samples_ns":[2],
        "node_sum_ns":1,"summation_ns":0,"flops":5,"peak_bytes":6,"step_peak_bytes":7,"gradient_bytes":8,"optimizer":"sgd",
        "optimizer_state_bytes":0,"optimizer_state_formula":"0","counted":["aten::mm"],"zero":[],"unknown":[],
        "reasons":{"backward":"r"}})";

}  // namespace

class MemoryMessages : public QObject {
    Q_OBJECT

private slots:
    void documentedForms_roundTrip() {
        const auto params = parseMemoryParams(json::parse(kParams));
        QVERIFY(params);
        QCOMPARE(toJson(*params).dump(), json::parse(kParams).dump());
        const auto result = parseMemoryResult(json::parse(kResult));
        QVERIFY(result);
        QCOMPARE(toJson(*result).dump(), json::parse(kResult).dump());
        const json profile = {{"file", "/f"}, {"training", json::parse(kTraining)}};
        const auto read = parseProfileResult(profile);
        QVERIFY(read);
        QCOMPARE(toJson(*read)["training"].dump(), profile["training"].dump());
    }

    void absentNumbers_stayAbsent() {
        const auto result = parseMemoryResult({{"file", "/f"}, {"timeline_file", "/t"}, {"events", 1}});
        QVERIFY(result && !result->peakBytes && !result->trainingPeakBytes);
        QVERIFY(!toJson(*result).contains("peak_bytes"));
        QVERIFY(!parseProfileResult({{"file", "/f"}})->training);
    }

    void mistypedKey_isNamed() {
        const json document = json::parse(kResult);
        for (const auto& [key, value] : document.items()) {
            json damaged = document;
            damaged[key] = value.is_string() ? json(1) : json("wrong");
            const auto read = parseMemoryResult(damaged);
            QVERIFY(!read);
            QVERIFY2(read.error().message.find("'" + key + "'") != std::string::npos, read.error().message.c_str());
        }
    }
};

ML_TEST_MAIN(MemoryMessages)
#include "tst_MemoryMessages.moc"
