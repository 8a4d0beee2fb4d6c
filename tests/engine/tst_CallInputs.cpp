// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ScalarType.h"
#include "backend/capture/Bundle.h"
#include "backend/engine/CallBinding.h"
#include "backend/engine/Engine.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

using namespace modulelens;
using base::ErrorCode;
using nlohmann::json;
using test::CapturedModule;

/// Calls that do not fit the program, which was exported for float32 [batch, 8] with a batch of 2 or more.
class CallInputsTest : public QObject {
    Q_OBJECT

    void refuses(const std::function<void(json&)>& change, const char* sentence) {
        const CapturedModule module("linear");
        const auto loaded = m_engine.load(module.loadParams(), {});
        QVERIFY(loaded);
        auto params = module.callParams(loaded.value().handle);
        const std::string captured = params.call["args"][0]["ref"].get<std::string>();
        change(params.call);
        referAnew(params, captured);
        const auto result = m_engine.validate(params, {});
        QVERIFY(!result);
        QCOMPARE(QString::fromStdString(result.error().message), QString(sentence));
        QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
        // The program is as usable as before.
        const auto again = m_engine.validate(module.callParams(loaded.value().handle), {});
        QVERIFY(again && again.value().exact);
        QVERIFY(m_engine.unload({loaded.value().handle}));
    }

    /// Gives the first input, whose form was changed, the digest of its bytes in that form.
    static void referAnew(protocol::CallParams& params, const std::string& captured) {
        const auto place = std::find_if(params.tensors.begin(), params.tensors.end(),
                                        [&](const protocol::Extent& extent) { return extent.digest == captured; });
        if (params.call["args"].empty() || !params.call["args"][0].is_object() || place == params.tensors.end()) {
            return;
        }
        std::ifstream file(place->file, std::ios::binary);
        file.seekg(static_cast<std::streamoff>(place->offset));
        std::string bytes(static_cast<std::size_t>(place->length), '\0');
        file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        json& input = params.call["args"][0];
        const std::string digest =
            capture::tensorDigest(*base::scalarTypeFromName(input["dtype"].get<std::string>()),
                                  input["shape"].get<std::vector<std::int64_t>>(), std::as_bytes(std::span(bytes)));
        input["ref"] = digest;
        protocol::Extent extent = *place;
        extent.digest = digest;
        params.tensors.push_back(extent);
    }

    static void reshape(json& call, const std::vector<std::int64_t>& shape) {
        call["args"][0]["shape"] = shape;
        call["args"][0].erase("stride");
    }

private Q_SLOTS:
    void initTestCase() {
        if (test::capturedModules().empty()) {
            QSKIP("no captures: ctest makes them in engine.captures");
        }
        protocol::InitializeParams params;
        params.scratchFolder = m_scratch.path().toStdString();
        QVERIFY(m_engine.initialize(params));
    }

    void batchOutsideTheRange_isNamed() {
        refuses([](json& call) { reshape(call, {1, 40}); },
                "dimension 0 of the input at /args/0 is 1, and the program takes sizes of 2 or more");
    }
    void fixedDimension_isNamed() {
        refuses([](json& call) { reshape(call, {8, 5}); },
                "dimension 1 of the input at /args/0 is 5, and the program was exported for 8 alone");
    }
    void otherRank_isNamed() {
        refuses([](json& call) { reshape(call, {40}); }, "the input at /args/0 has 1 dimensions, and the program takes 2");
    }
    void otherDtype_isNamed() {
        refuses([](json& call) { call["args"][0]["dtype"] = "int32"; },
                "the input at /args/0 is int32, and the program takes float32");
    }
    void otherDevice_isNamed() {
        refuses([](json& call) { call["args"][0]["device"] = "cuda:0"; },
                "the input at /args/0 was captured on cuda, and the program takes it on cpu");
    }
    void missingInput_isNamed() {
        refuses([](json& call) { call["args"].erase(0); }, "the call has no value at /args/0, which the program reads");
    }
    void furtherInput_isNamed() {
        refuses([](json& call) { call["args"].push_back(json(call["args"][0])); },
                "the call has an input at /args/1, which the program does not take");
    }
    void furtherNumber_isNamed() {
        refuses([](json& call) { call["args"].push_back(3); },
                "the call has an input at /args/1, which the program does not take");
    }
    void furtherKeyword_isNamed() {
        refuses([](json& call) { call["kwargs"]["scale"] = 2.0; },
                "the call has the keyword 'scale', which the program does not take; it takes none");
        refuses([](json& call) { call["kwargs"]["mask"] = call["args"][0]; },
                "the call has the keyword 'mask', which the program does not take; it takes none");
    }
    void numberForATensor_isNamed() {
        refuses([](json& call) { call["args"][0] = 3; }, "the input at /args/0 is no tensor, and the program takes one");
    }

private:
    QTemporaryDir m_scratch;
    engine::Engine m_engine;
};

ML_TEST_MAIN(CallInputsTest)
#include "tst_CallInputs.moc"
