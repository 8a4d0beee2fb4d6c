// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// The JSON documents of a bundle: index, versions with their value trees, nodes, runs.
#include "backend/capture/BundleIndex.h"
#include "backend/capture/NodeDocument.h"
#include "backend/capture/RunRecord.h"
#include "backend/capture/VersionDocument.h"
#include "tests/fuzz/FuzzInput.h"

#include <nlohmann/json.hpp>

using namespace modulelens;

namespace {

void checkReference(const capture::TensorReference& tensor) {
    fuzz::require(tensor.elementCount() >= 0 && tensor.viewBytes() >= 0 && tensor.storedBytes() >= 0);
    fuzz::require(tensor.stride.size() == tensor.shape.size());
}

void checkCall(const capture::CallDocument& call) {
    for (const auto& leaves : {call.inputs, call.outputs}) {
        for (const capture::LocatedTensor& leaf : leaves) {
            checkReference(leaf.tensor);
            fuzz::require(call.json->contains(nlohmann::json::json_pointer(leaf.pointer)));
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t sizeBytes) {
    const std::string_view text = fuzz::textOf(data, sizeBytes);
    const std::string digest(64, '0');
    if (const auto version = capture::parseVersionDocument(text, digest)) {
        for (const capture::CallDocument& call : version->calls) {
            checkCall(call);
        }
        for (const capture::TensorReference& tensor : version->references) {
            checkReference(tensor);
        }
    }
    if (const auto node = capture::parseNodeDocument(text, digest)) {
        for (const capture::TensorReference& tensor : node->references) {
            checkReference(tensor);
        }
    }
    if (const auto run = capture::parseRunRecord(text, digest)) {
        for (std::size_t i = 0; i < run->calls.size(); ++i) {
            fuzz::require(run->calls[i].parent < static_cast<int>(i));
        }
    }
    if (const auto index = capture::parseBundleIndex(text, "fuzz")) {
        (void)capture::filesOf(*index);
    }
    return 0;
}
