// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/WorkerMessages.h"

#include "backend/rpc/Dispatcher.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <limits>

using modulelens::base::ErrorCode;
using nlohmann::json;
using namespace modulelens::protocol;

namespace {

/// Every message as the documentation shows it, all keys present.
const std::map<std::string, const char*> kDocumented = {
    {"InitializeParams", R"({"protocol_version":1,"client":"modulelens 0.1.0","scratch_folder":"/tmp/s","threads":2})"},
    {"InitializeResult",
     R"({"protocol_version":1,"worker":"modulelens-worker 0.1.0","engine":"program","torch_version":"2.13.0","threads":2,
         "devices":[{"name":"cpu","description":"A CPU","memory_bytes":17179869184,"capability":"AVX2"}],
         "capabilities":["load","run"],"float32_matmul_precision":"highest","host":"h"})"},
    {"LoadParams",
     R"({"name":"m::a@v0","program":{"digest":"d","file":"/f","offset":64,"length":10},
         "tensors":[{"digest":"t","file":"/p","offset":0,"length":4}],"state":{"w":{"$t":"tensor"}},"device":"cpu",
         "format":"torchscript","libraries":[{"file":"/o.so","sha256":"aa"}],"consent":["aa"]})"},
    {"LoadResult", R"({"handle":1,"load_ns":1000,"operator_count":12,"warnings":["w"]})"},
    {"UnloadParams", R"({"handle":1})"},
    {"CallParams", R"({"handle":1,"call":{"args":[]},"tensors":[],"threads":1,"timeout_ms":500})"},
    {"RunResult",
     R"({"file":"/tmp/s/1.safetensors","outputs":[{"pointer":"/output","dtype":"float32","shape":[2,3],"key":"0"}],"host_ns":5})"},
    {"LeafResult",
     R"({"pointer":"/output","dtype":"float32","shape":[2],"verdict":"fail","reason":"r","max_abs_diff":0.5,"max_rel_diff":0.25,
         "mismatched":1,"elements":2,"worst_index":[1],"expected":"1","got":"1.5","relative_tolerance":1e-06,
         "absolute_tolerance":1e-05,"failed_check":"values","max_ulp":7,"cosine":0.5,"norm_relative_error":0.25,"first_bad_index":[1],
         "nan_expected":0,"nan_got":1,"nan_mismatched":1,"infinite_expected":2,"infinite_got":2,"infinite_mismatched":0,"spread":0.0,
         "reference_spread":0.125,"oracle":{"verdict":"fail","reason":"","error_ours":0.5,"error_captured":0.125,"bound":0.25}})"},
    {"ValidateParams",
     R"({"handle":1,"call":{"args":[]},"tensors":[],"threads":1,"timeout_ms":500,"repeats":7,"oracle":true,"same_calls":[{"args":[]}]})"},
    {"ValidateResult",
     R"({"verdict":"pass","exact":true,"max_abs_diff":0.0,"leaves":[],"threads":1,"reason":"","warnings":[],
         "repeats":{"runs":5,"nondeterministic":true,"stochastic":false,"spread":0.5,"reference_runs":2,"reference_spread":0.25},
         "oracle":{"verdict":"pass","reason":"","dtype":"float64","factor":2.0}})"},
    {"ProfileParams",
     R"({"call":{"handle":1,"call":{},"tensors":[]},"warmup_runs":3,"repetitions":20,"budget_ms":3000,"name":"BertLayer",
         "backward":true,"train":"adam","facts":{"k":"v"}})"},
    {"ProfileResult",
     R"({"file":"/f","latency_ns":1,"operator_sum_ns":2,"timed_run_ns":3,"flops":4,"parameter_bytes":5,"activation_bytes":6,
         "peak_bytes":7,"samples_ns":[1,2],"counted":["aten::mm"],"zero":["aten::relu"],"unknown":["x::y"],"reasons":{"peak":"r"},
         "costs":{"bytes":8,"is_lower_bound":true,"causal_convention":"dense","causal_exact_flops":3,"all_operations_flops":5,"static_flops":4,
         "static_difference":[{"name":"aten::mm","observed":1,"other":2,"reason":"r"}],
         "operators":[{"name":"aten::mm","coverage":"counted","calls":1,"flops":4,"bytes":8,"other_flops":1,"latency_ns":2}],
         "torch_flops":2,"torch_version":"2.13.0","torch_difference":[{"name":"attention","observed":2,"other":0,"reason":"r"}]}})"},
    {"Progress", R"({"request_id":4,"stage":"timing","done":1,"total":2})"},
    {"LogEntry", R"({"level":"info","text":"t"})"},
};

template <class Message>
std::string readAndWrite(const modulelens::base::Result<Message>& message) {
    return message ? toJson(*message).dump() : message.error().message;
}

std::string roundTrip(const std::string& name, const json& document) {
#define MODULELENS_CASE(Type)                       \
    if (name == #Type) {                            \
        return readAndWrite(parse##Type(document)); \
    }
    MODULELENS_CASE(InitializeParams)
    MODULELENS_CASE(InitializeResult)
    MODULELENS_CASE(LoadParams)
    MODULELENS_CASE(LoadResult)
    MODULELENS_CASE(UnloadParams)
    MODULELENS_CASE(CallParams)
    MODULELENS_CASE(RunResult)
    MODULELENS_CASE(LeafResult)
    MODULELENS_CASE(ValidateParams)
    MODULELENS_CASE(ValidateResult)
    MODULELENS_CASE(ProfileParams)
    MODULELENS_CASE(ProfileResult)
    MODULELENS_CASE(Progress)
    MODULELENS_CASE(LogEntry)
#undef MODULELENS_CASE
    return "no such message";
}

} // namespace

class WorkerMessages : public QObject {
    Q_OBJECT

private slots:
    void documentedForm_roundTrips_data() { everyMessage(); }
    void documentedForm_roundTrips() {
        const json document = json::parse(kDocumented.at(QTest::currentDataTag()));
        QCOMPARE(roundTrip(QTest::currentDataTag(), document), document.dump());
    }

    void unknownKeys_areIgnored_data() { everyMessage(); }
    void unknownKeys_areIgnored() {
        const json document = json::parse(kDocumented.at(QTest::currentDataTag()));
        json extended = document;
        extended["something_newer"] = {1, 2, 3};
        QCOMPARE(roundTrip(QTest::currentDataTag(), extended), document.dump());
    }

    void mistypedKey_isNamed_data() { everyMessage(); }
    void mistypedKey_isNamed() {
        const json document = json::parse(kDocumented.at(QTest::currentDataTag()));
        for (const auto& [key, value] : document.items()) {
            if (key == "state" || (key == "call" && value.contains("args"))) {
                continue; // Any JSON is allowed there; the engine checks it.
            }
            json damaged = document;
            damaged[key] = value.is_string() ? json(1) : json("wrong");
            if (key == "call" && std::string(QTest::currentDataTag()) == "CallParams") {
                continue;
            }
            const std::string message = roundTrip(QTest::currentDataTag(), damaged);
            QVERIFY2(message.find(std::string("'") + key + "'") != std::string::npos, message.c_str());
        }
    }

    void notAnObject_isInvalid() {
        QCOMPARE(parseLoadParams(json::array()).error().code, ErrorCode::InvalidArgument);
        QCOMPARE(parseProgress(nullptr).error().code, ErrorCode::InvalidArgument);
    }

    void missingKey_isNamed() {
        const auto read = parseLoadResult({{"load_ns", 1}, {"operator_count", 1}});
        QCOMPARE(read.error().code, ErrorCode::InvalidArgument);
        QVERIFY(read.error().message.find("'handle'") != std::string::npos);
    }

    void nestedMistake_isNamedWithItsPlace() {
        json document = json::parse(kDocumented.at("LoadParams"));
        document["tensors"][0]["offset"] = -1;
        const auto read = parseLoadParams(document);
        QVERIFY(read.error().message.find("'tensors'") != std::string::npos);
        QVERIFY(read.error().message.find("'offset'") != std::string::npos);
    }

    void integersOutOfRange_areRefused() {
        QVERIFY(!parseUnloadParams({{"handle", 1LL << 40}}).hasValue());
        QVERIFY(!parseUnloadParams({{"handle", 1.5}}).hasValue());
        QVERIFY(!parseUnloadParams({{"handle", -(1LL << 40)}}).hasValue());
        QVERIFY(!parseUnloadParams({{"handle", std::numeric_limits<std::uint64_t>::max()}}).hasValue());
    }

    void absentAndNonFiniteNumbers_areAbsent() {
        ValidateResult result;
        result.verdict = "fail";
        QVERIFY(!toJson(result).contains("max_abs_diff"));
        result.maxAbsDiff = std::numeric_limits<double>::infinity();
        QVERIFY(toJson(result)["max_abs_diff"].is_null());
        QVERIFY(!parseValidateResult(toJson(result))->maxAbsDiff);
    }

    void cancelMethod_isTheDispatchers() {
        QCOMPARE(std::string(method::kCancel), std::string(modulelens::rpc::kCancelMethod));
    }

private:
    static void everyMessage() {
        QTest::addColumn<int>("unused");
        for (const auto& [name, text] : kDocumented) {
            QTest::newRow(name.c_str()) << 0;
        }
    }
};

ML_TEST_MAIN(WorkerMessages)
#include "tst_WorkerMessages.moc"
