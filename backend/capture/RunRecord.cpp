// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/RunRecord.h"

#include "backend/capture/JsonView.h"

#include <limits>

namespace modulelens::capture {

namespace {

constexpr std::int64_t kNewestSchema = 1;

int readSmall(const JsonView& view) {
    const std::int64_t value = view.nonNegative();
    if (value > std::numeric_limits<int>::max()) {
        view.fail("is too large");
    }
    return static_cast<int>(value);
}

std::vector<TensorShape> readShapes(const JsonView& list) {
    std::vector<TensorShape> shapes;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonView item = list.element(i);
        TensorShape shape;
        shape.pointer = item.at("path").string();
        const JsonView dtype = item.at("dtype");
        const auto type = scalarTypeFromName(dtype.string());
        if (!type) {
            dtype.fail("is an unknown element type");
        }
        shape.dtype = *type;
        shape.shape = item.at("shape").integers();
        shapes.push_back(std::move(shape));
    }
    return shapes;
}

RunCall readCall(const JsonView& view, std::size_t index) {
    RunCall call;
    const JsonView id = view.at("id");
    if (id.integer() != static_cast<std::int64_t>(index)) {
        id.fail("is not the place of the call in the list");
    }
    if (const auto parent = view.find("parent")) {
        call.parent = readSmall(*parent);
        if (static_cast<std::size_t>(call.parent) >= index) {
            parent->fail("does not stand before its child");
        }
    }
    call.module = view.at("module").string();
    call.className = view.at("class").string();
    call.call = readSmall(view.at("call"));
    call.method = view.stringOr("method", "forward");
    call.inputs = readShapes(view.at("inputs"));
    call.outputs = readShapes(view.at("outputs"));
    call.parameterBytes = view.at("parameter_bytes").nonNegative();
    call.ownParameterBytes = view.at("own_parameter_bytes").nonNegative();
    call.startNs = view.optionalInteger("start_ns");
    call.hostNs = view.optionalInteger("host_ns");
    call.deviceNs = view.optionalInteger("device_ns");
    call.allocatedBytes = view.optionalInteger("allocated_bytes");
    call.peakBytes = view.optionalInteger("peak_bytes");
    call.isDirect = view.booleanOr("direct", false);
    call.isRecompute = view.booleanOr("recompute", false);
    if (const auto version = view.find("version")) {
        call.version = version->digest();
        if (const auto place = view.find("version_call")) {
            call.versionCall = readSmall(*place);
        }
    }
    if (const auto exception = view.find("exception")) {
        call.exceptionType = exception->at("type").string();
    }
    return call;
}

RunRecord readRun(std::string_view text, const std::string& digest, const std::string& document) {
    const nlohmann::json json = parseJson(text, document);
    const JsonView view(json, document);
    checkSchema(view, "modulelens.run", kNewestSchema);
    RunRecord run;
    run.digest = digest;
    run.model = view.at("model").string();
    run.collection = view.at("collection").string();
    run.step = view.integerOr("step", 0);
    run.started = view.at("started").string();
    run.durationNs = view.optionalInteger("duration_ns");
    run.device = view.stringOr("device", "cpu");
    const JsonView calls = view.at("calls");
    for (std::size_t i = 0; i < calls.size(); ++i) {
        run.calls.push_back(readCall(calls.element(i), i));
    }
    const auto environment = view.find("environment");
    run.environment = std::make_shared<const nlohmann::json>(environment ? environment->json() : nlohmann::json::object());
    return run;
}

}  // namespace

base::Result<RunRecord> parseRunRecord(std::string_view text, const std::string& digest) {
    const std::string document = "run record " + digest;
    return readDocument(document, [&] { return readRun(text, digest, document); });
}

}  // namespace modulelens::capture
