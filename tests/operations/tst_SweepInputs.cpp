// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/SweepInputs.h"

#include <QTemporaryDir>
#include <QTest>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/TestMain.h"

using modulelens::base::ErrorCode;
using nlohmann::json;
using namespace modulelens;
using namespace modulelens::operations;

namespace {

std::vector<std::int32_t> tiled(const std::vector<std::int32_t>& source, const std::vector<std::int64_t>& from,
                                const std::vector<std::int64_t>& to) {
    std::int64_t count = 1;
    for (const std::int64_t size : to) {
        count *= size;
    }
    std::vector<std::int32_t> target(static_cast<std::size_t>(count), -1);
    tile(std::as_bytes(std::span(source)), from, std::as_writable_bytes(std::span(target)), to, sizeof(std::int32_t));
    return target;
}

graph::SymbolicInteger literal(std::int64_t value) {
    return {value, {}, {}};
}

graph::SymbolicInteger symbol(const std::string& expression) {
    return {std::nullopt, expression, {}};
}

/// x[batch, length, 2], mask[batch, 2 * length], n = length; weights before them.
graph::Program program() {
    graph::Program program;
    const auto add = [&](graph::InputKind kind, std::vector<graph::SymbolicInteger> sizes, base::ScalarType dtype) {
        graph::Value value;
        value.kind = graph::ValueKind::Tensor;
        value.tensor.emplace();
        value.tensor->dtype = dtype;
        value.tensor->sizes = std::move(sizes);
        program.graph.inputs.emplace_back(graph::ValueArgument{static_cast<int>(program.graph.values.size())});
        program.graph.values.push_back(std::move(value));
        program.inputs.push_back({kind, {}, true, {}});
    };
    add(graph::InputKind::Parameter, {literal(2)}, base::ScalarType::Float32);
    add(graph::InputKind::UserInput, {symbol("s0"), symbol("s1"), literal(2)}, base::ScalarType::Float32);
    add(graph::InputKind::UserInput, {symbol("s0"), symbol("Mul(Integer(2), Symbol('s1'))")}, base::ScalarType::Bool);
    graph::Value number;
    number.kind = graph::ValueKind::SymbolicInteger;
    number.integer = symbol("s1");
    program.graph.inputs.emplace_back(graph::ValueArgument{3});
    program.graph.values.push_back(number);
    program.inputs.push_back({graph::InputKind::UserInput, {}, true, {}});
    program.inputPointers = {"/args/0", "/args/1", "/args/2"};
    program.ranges["s0"] = {2, std::nullopt};
    program.ranges["s1"] = {2, 16};
    return program;
}

json tensor(const char* dtype, const json& shape, const char* digit) {
    return {{"$t", "tensor"}, {"dtype", dtype}, {"shape", shape}, {"ref", std::string(64, *digit)},
            {"storage", 0},   {"offset", 0}};
}

json callJson() {
    return {{"method", "forward"},
            {"training", false},
            {"grad_mode", false},
            {"inference_mode", false},
            {"args", {tensor("float32", {2, 2, 2}, "a"), tensor("bool", {2, 4}, "b"), 2}},
            {"kwargs", json::object()},
            {"output", nullptr}};
}

} // namespace

class SweepInputs : public QObject {
    Q_OBJECT

private slots:
    void rows_areRepeatedAndCut() {
        const std::vector<std::int32_t> source = {1, 2, 3, 4, 5, 6};   // [3, 2]
        QCOMPARE(tiled(source, {3, 2}, {2, 2}), (std::vector<std::int32_t>{1, 2, 3, 4}));
        QCOMPARE(tiled(source, {3, 2}, {5, 2}), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 1, 2, 3, 4}));
        QCOMPARE(tiled(source, {3, 2}, {2, 3}), (std::vector<std::int32_t>{1, 2, 1, 3, 4, 3}));
        QCOMPARE(tiled(source, {3, 2}, {4, 1}), (std::vector<std::int32_t>{1, 3, 5, 1}));
        QCOMPARE(tiled(source, {3, 2}, {0, 2}), std::vector<std::int32_t>());
        QCOMPARE(tiled({7}, {}, {}), std::vector<std::int32_t>{7});
        QCOMPARE(tiled({1, 2}, {1, 2}, {3, 2}), (std::vector<std::int32_t>{1, 2, 1, 2, 1, 2}));
    }

    void openSizes_areFoundWithTheirPlaces() {
        const auto call = capture::parseCallDocument(callJson());
        QVERIFY2(call.hasValue(), call.hasValue() ? "" : call.error().message.c_str());
        const auto sizes = dynamicSizes(program(), *call);
        QCOMPARE(sizes.size(), 2U);
        QVERIFY(sizes[0].isBatch && !sizes[1].isBatch);
        QCOMPARE(sizes[0].captured, 2);
        QCOMPARE(sizes[0].places, (std::vector<std::string>{"/args/0:0", "/args/1:0"}));
        QCOMPARE(sizes[1].places, (std::vector<std::string>{"/args/0:1", "/args/2"}));
        QCOMPARE(findDynamicSize(sizes, "batch"), &sizes[0]);
        QCOMPARE(findDynamicSize(sizes, "s1"), &sizes[1]);
        QCOMPARE(findDynamicSize(sizes, "/args/0:1"), &sizes[1]);
        QVERIFY(findDynamicSize(sizes, "width") == nullptr);
        QCOMPARE(dynamicSizesText(sizes), std::string("batch (/args/0:0, 2 and up), s1 (/args/0:1, 2 to 16)"));
    }

    void everyInputWithTheSize_follows() {
        const auto call = capture::parseCallDocument(callJson());
        const auto sizes = dynamicSizes(program(), *call);
        const auto inputs = scaledInputs(program(), *call, sizes, {{"s1", 5}});
        QVERIFY2(inputs.hasValue(), inputs.hasValue() ? "" : inputs.error().message.c_str());
        QCOMPARE(inputs->size(), 3U);
        QCOMPARE(inputs->at(0).shape, (std::vector<std::int64_t>{2, 5, 2}));
        QCOMPARE(inputs->at(1).shape, (std::vector<std::int64_t>{2, 10}));
        QCOMPARE(inputs->at(2).number.value_or(-1), 5);
        QCOMPARE(bytesOf(*inputs, *call), 2 * 5 * 2 * 4 + 2 * 10);
    }

    void valueOutsideItsRange_isRefused() {
        const auto call = capture::parseCallDocument(callJson());
        const auto sizes = dynamicSizes(program(), *call);
        for (const std::int64_t value : {1, 17}) {
            const auto inputs = scaledInputs(program(), *call, sizes, {{"s1", value}});
            QCOMPARE(inputs.error().code, ErrorCode::InvalidArgument);
            QVERIFY(inputs.error().message.find("2 to 16") != std::string::npos);
        }
        QVERIFY(scaledInputs(program(), *call, sizes, {{"s1", 16}}).hasValue());
        QVERIFY(scaledInputs(program(), *call, sizes, {{"s0", 1'000'000}}).hasValue());
    }

    void newInputs_areWrittenAndReferredTo() {
        QTemporaryDir folder;
        const std::filesystem::path stored = folder.filePath(QStringLiteral("stored")).toStdString();
        std::array<float, 8> x{};
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<float>(i);
        }
        std::vector<std::byte> content(64 + 8, std::byte{1});
        std::memcpy(content.data(), x.data(), sizeof x);
        auto file = base::realFileSystem().create(stored);
        QVERIFY(file.hasValue() && (*file)->append(content).hasValue() && (*file)->close().hasValue());
        protocol::CallParams captured;
        captured.call = callJson();
        captured.tensors = {{std::string(64, 'a'), stored.string(), 0, 32}, {std::string(64, 'b'), stored.string(), 64, 8}};
        const auto call = capture::parseCallDocument(captured.call);
        const auto sizes = dynamicSizes(program(), *call);
        const std::filesystem::path made = folder.filePath(QStringLiteral("made")).toStdString();
        const auto inputs = scaledInputs(program(), *call, sizes, {{"s0", 3}});
        const auto scaled = scaleCall(captured, *call, *inputs, made);
        QVERIFY2(scaled.hasValue(), scaled.hasValue() ? "" : scaled.error().message.c_str());
        QCOMPARE(scaled->how, std::string("tiled"));
        QCOMPARE(scaled->items, 3);
        QCOMPARE(scaled->tensors.size(), 4U);
        const auto again = capture::parseCallDocument(scaled->call);
        QVERIFY2(again.hasValue(), again.hasValue() ? "" : again.error().message.c_str());
        QCOMPARE(again->inputs[0].tensor.shape, (std::vector<std::int64_t>{3, 2, 2}));
        QVERIFY(!again->inputs[0].tensor.storage);
        QCOMPARE(again->inputs[1].tensor.shape, (std::vector<std::int64_t>{3, 4}));
        const auto place = std::find_if(scaled->tensors.begin(), scaled->tensors.end(), [&](const protocol::Extent& extent) {
            return extent.digest == again->inputs[0].tensor.digest;
        });
        QVERIFY(place != scaled->tensors.end());
        QCOMPARE(place->length, 48U);
        QCOMPARE(place->offset % 64, 0U);
        const auto bytes = base::realFileSystem().read(made, 1000);
        std::array<float, 12> written{};
        std::memcpy(written.data(), bytes->data() + place->offset, sizeof written);
        QCOMPARE(written, (std::array<float, 12>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3}));
    }

    void capturedSizes_needNoFile() {
        protocol::CallParams captured;
        captured.call = callJson();
        const auto call = capture::parseCallDocument(captured.call);
        const auto sizes = dynamicSizes(program(), *call);
        const auto scaled = scaleCall(captured, *call, *scaledInputs(program(), *call, sizes, {{"s0", 2}}), "/nowhere/file");
        QVERIFY(scaled.hasValue());
        QCOMPARE(scaled->how, std::string("captured"));
        QVERIFY(scaled->call == captured.call);
    }

    void inputThatWasNotKept_isNamed() {
        protocol::CallParams captured;
        captured.call = callJson();
        const auto call = capture::parseCallDocument(captured.call);
        const auto sizes = dynamicSizes(program(), *call);
        const auto scaled = scaleCall(captured, *call, *scaledInputs(program(), *call, sizes, {{"s0", 4}}), "/nowhere/file");
        QCOMPARE(scaled.error().code, ErrorCode::NotFound);
        QVERIFY(scaled.error().message.find("/args/0") != std::string::npos);
    }
};

ML_TEST_MAIN(SweepInputs)
#include "tst_SweepInputs.moc"
