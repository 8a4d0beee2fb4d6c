// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// The bytes that a worker or its client reads: framing, messages, parameters. The stream arrives in pieces.
#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/WorkerMessages.h"
#include "backend/rpc/Framing.h"
#include "backend/rpc/Message.h"
#include "tests/fuzz/FuzzInput.h"

using namespace modulelens;

namespace {

void readParameters(const nlohmann::json& json) {
    (void)protocol::parseInitializeParams(json);
    (void)protocol::parseInitializeResult(json);
    (void)protocol::parseLoadParams(json);
    (void)protocol::parseLoadResult(json);
    (void)protocol::parseUnloadParams(json);
    (void)protocol::parseCallParams(json);
    (void)protocol::parseRunResult(json);
    (void)protocol::parseValidateResult(json);
    (void)protocol::parseBenchmarkParams(json);
    (void)protocol::parseBenchmarkResult(json);
    (void)protocol::parseProfileParams(json);
    (void)protocol::parseProfileResult(json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t sizeBytes) {
    const std::string_view text = fuzz::textOf(data, sizeBytes);
    constexpr std::size_t kPieceBytes = 37;
    rpc::FrameReader reader;
    for (std::size_t at = 0; at < text.size(); at += kPieceBytes) {
        reader.append(text.substr(at, kPieceBytes));
        while (true) {
            const auto body = reader.next();
            if (!body || !body->has_value()) {
                break;
            }
            if (const auto message = rpc::parseMessage(**body)) {
                const std::string again = rpc::serializeMessage(*message);
                fuzz::require(rpc::parseMessage(again).operator bool());
                if (const auto* request = std::get_if<rpc::Request>(&*message)) {
                    readParameters(request->params);
                }
                if (const auto* response = std::get_if<rpc::Response>(&*message); response != nullptr && response->result) {
                    readParameters(*response->result);
                }
            }
        }
    }
    return 0;
}
