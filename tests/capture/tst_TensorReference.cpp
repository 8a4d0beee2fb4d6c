// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/TensorReference.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <nlohmann/json.hpp>

using namespace modulelens;
using nlohmann::json;

namespace {

base::Result<capture::TensorReference> read(const json& source) {
    return capture::tensorReferenceFromJson(source, "state.weight");
}

json plain() {
    return {{"dtype", "float32"}, {"shape", {2, 3}}, {"ref", std::string(64, 'a')}};
}

} // namespace

class TensorReferenceTest : public QObject {
    Q_OBJECT

    void refuses(const json& change, const char* part) {
        json source = plain();
        source.update(change);
        const auto tensor = read(source);
        QVERIFY2(!tensor, part);
        QVERIFY2(tensor.error().code == base::ErrorCode::Corrupt, tensor.error().text().c_str());
        QVERIFY2(tensor.error().message.find(part) != std::string::npos, tensor.error().text().c_str());
        QVERIFY(tensor.error().message.find("state.weight") != std::string::npos);
    }

private slots:
    void plainTensor_isContiguousOnCpu() {
        const auto tensor = read(plain());
        QVERIFY(tensor);
        QCOMPARE(tensor->stride, (std::vector<std::int64_t>{3, 1}));
        QCOMPARE(tensor->storedShape, tensor->shape);
        QCOMPARE(tensor->device, std::string("cpu"));
        QCOMPARE(tensor->viewBytes(), 24);
        QVERIFY(!tensor->object);
    }

    void expandedTensor_isStoredOnce() {
        json source = plain();
        source.update({{"shape", {5, 2, 3}}, {"stride", {0, 3, 1}}, {"stored_shape", {1, 2, 3}}});
        const auto tensor = read(source);
        QVERIFY2(tensor, tensor ? "" : tensor.error().text().c_str());
        QCOMPARE(tensor->elementCount(), 30);
        QCOMPARE(tensor->viewBytes(), 24);
        QCOMPARE(tensor->storedBytes(), 24);
    }

    void emptyAndScalarTensors_haveSizes() {
        json source = plain();
        source["shape"] = {0, 3};
        QCOMPARE(read(source)->storedBytes(), 0);
        source["shape"] = json::array();
        QCOMPARE(read(source)->storedBytes(), 4);
    }

    void tensorWithoutData_saysWhy() {
        json source = plain();
        source.erase("ref");
        QCOMPARE(read(source)->gap, std::string("not kept"));
        source["gap"] = "max_bytes";
        QCOMPARE(read(source)->gap, std::string("max_bytes"));
    }

    void malformedReferences_areCorrupt() {
        refuses({{"dtype", "float31"}}, "element type");
        refuses({{"dtype", 7}}, "no text");
        refuses({{"shape", {2, -3}}}, "negative");
        refuses({{"shape", {std::int64_t{1} << 40, std::int64_t{1} << 40}}}, "2^60");
        refuses({{"shape", {std::int64_t{1} << 62}}}, "2^60");
        refuses({{"shape", {0, std::int64_t{1} << 62}}}, "2^60");
        refuses({{"shape", std::vector<int>(65, 1)}}, "64 dimensions");
        refuses({{"shape", {2.5}}}, "integer");
        refuses({{"stride", {1}}}, "strides");
        refuses({{"stride", {-3, 1}}}, "leaves its storage");
        refuses({{"stride", {std::int64_t{1} << 62, 1}}}, "leaves its storage");
        refuses({{"offset", -1}}, "negative");
        refuses({{"offset", std::int64_t{1} << 62}}, "leaves its storage");
        refuses({{"stored_shape", {2}}}, "rank");
        refuses({{"stored_shape", {1, 3}}}, "expand");
        refuses({{"ref", "xyz"}}, "sha256");
        refuses({{"ref", std::string(64, 'A')}}, "sha256");
        refuses({{"requires_grad", "yes"}}, "neither true nor false");
    }

    void kinds_areTold() {
        QVERIFY(capture::isTensorReference({{"$t", "tensor"}}));
        QVERIFY(!capture::isTensorReference({{"$t", "gap"}}));
        QVERIFY(!capture::isTensorReference(json::array()));
        QVERIFY(!capture::isTensorReference(nullptr));
    }
};

ML_TEST_MAIN(TensorReferenceTest)
#include "tst_TensorReference.moc"
