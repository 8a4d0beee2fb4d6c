// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/CalibrateMessages.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <map>
#include <string>

using nlohmann::json;
using namespace modulelens::protocol;

namespace {

const std::string kEnvironment =
    R"({"host":"h","device":"cpu","device_name":"A CPU","device_uuid":"u","driver":"d","clock_locked":true,
        "clock_hz_before":1,"clock_hz_after":2,"governor":"performance","throttle_reasons":"none","power_limit_watts":300.5,
        "cpus":8,"load_average":0.5,"other_cpus":0.25,"other_device_processes":1,"memory_available_bytes":9,
        "last_level_cache_bytes":33554432,"threads":2,"interop_threads":1,"torch_version":"2.13.0",
        "float32_matmul_precision":"highest","reduced_precision_reduction":false,"deterministic_algorithms":true})";

const std::string kSide =
    R"({"samples_ns":[5,6],"device_ns":[4,4],"order":[0,2],"median_ns":5,"first_call_ns":90,"warmup_runs":16,
        "warmup_capped":true,"runs_per_sample":8,"operators":7,"outputs":"exact","outputs_pointer":"","flops":96,"unknown_operators":["x::y"],
        "bytes_least":64,"dtypes":["float32"]})";

/// Every message of the benchmark and the calibration in its documented form, with every key.
std::map<std::string, std::string> documented() {
    return {
        {"BenchmarkParams", R"({"call":{"handle":1,"call":{"args":[]},"tensors":[]},"against":{"handle":2,"call":{"args":[]},
            "tensors":[]},"mode":"cold","warmup_runs":3,"repetitions":50,"budget_ms":3000,"seed":18446744073709551615,
            "count":true})"},
        {"BenchmarkSide", kSide},
        {"MeasuringEnvironment", kEnvironment},
        {"BenchmarkResult", R"({"mode":"hot","median_ns":5,"sides":[)" + kSide +
                                R"(],"again_ns":[5],"again_order":[1],"device_reason":"r","timer_ns":20,"null_operator_ns":300,
                 "flushed_bytes":268435456,"environment":)" +
                                kEnvironment + "}"},
        {"CalibrateParams", R"({"device":"cpu","threads":2,"budget_ms":10000,"timeout_ms":5})"},
        {"PeakRate", R"({"dtype":"float32","flops_per_second":100000000000,"size":1024})"},
        {"CalibrateResult",
         R"({"read_bytes_per_second":1,"copy_bytes_per_second":2,"triad_bytes_per_second":3,"array_bytes":4,
             "peaks":[{"dtype":"float32","flops_per_second":5,"size":6}],"unmeasured":["float16: no"],"timer_ns":7,
             "null_operator_ns":8,"environment":)" +
             kEnvironment + "}"},
    };
}

template <class Message>
std::string readAndWrite(const modulelens::base::Result<Message>& message) {
    return message ? toJson(*message).dump() : message.error().message;
}

std::string roundTrip(const std::string& name, const json& document) {
#define MODULELENS_CASE(Type)                       \
    if (name == #Type) {                            \
        return readAndWrite(parse##Type(document)); \
    }
    MODULELENS_CASE(BenchmarkParams)
    MODULELENS_CASE(BenchmarkSide)
    MODULELENS_CASE(MeasuringEnvironment)
    MODULELENS_CASE(BenchmarkResult)
    MODULELENS_CASE(CalibrateParams)
    MODULELENS_CASE(PeakRate)
    MODULELENS_CASE(CalibrateResult)
#undef MODULELENS_CASE
    return "no such message";
}

} // namespace

class BenchmarkMessages : public QObject {
    Q_OBJECT

private slots:
    void documentedForm_roundTrips() {
        for (const auto& [name, text] : documented()) {
            const json document = json::parse(text);
            QCOMPARE(roundTrip(name, document), document.dump());
        }
    }

    void mistypedKey_isNamed() {
        for (const auto& [name, text] : documented()) {
            const json document = json::parse(text);
            for (const auto& [key, value] : document.items()) {
                json damaged = document;
                damaged[key] = value.is_string() ? json(1) : json("wrong");
                const std::string message = roundTrip(name, damaged);
                QVERIFY2(message.find('\'' + key + '\'') != std::string::npos, (name + ": " + message).c_str());
            }
        }
    }

    void unknownNumbers_areAbsentAndNeverZero() {
        MeasuringEnvironment environment;
        const json written = toJson(environment);
        for (const char* key : {"clock_hz_before", "governor", "other_cpus", "device_uuid", "memory_available_bytes"}) {
            QVERIFY2(!written.contains(key), key);
        }
        QVERIFY(!toJson(BenchmarkSide{}).contains("first_call_ns"));
        QVERIFY(!toJson(BenchmarkSide{}).contains("flops"));
    }
};

ML_TEST_MAIN(BenchmarkMessages)
#include "tst_BenchmarkMessages.moc"
