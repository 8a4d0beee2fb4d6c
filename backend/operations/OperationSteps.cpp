// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/OperationSteps.h"

#include "backend/base/FileSystem.h"

#include <nlohmann/json.hpp>

namespace modulelens::operations {

std::string lastClassSegment(const std::string& className) {
    const std::size_t split = className.find_last_of(":.");
    return split == std::string::npos ? className : className.substr(split + 1);
}

registry::StoredResult storeResult(registry::Registry& registry, const std::string& id, const registry::StoredResult& result,
                                   std::vector<std::string>& warnings) {
    base::Result<registry::StoredResult> stored = registry.storeResult(id, result);
    if (!stored) {
        warnings.push_back("The result was not stored: " + stored.error().message);
        return {};
    }
    return *std::move(stored);
}

base::Result<protocol::CallParams> programCall(registry::Registry& registry, const VersionInput& input,
                                               const char* stillPossible) {
    if (input.program.empty() && !input.usesSource) {
        return base::Error{base::ErrorCode::Unsupported, "'" + input.address() + "' has no program: " + input.noProgramReason,
                           std::string(stillPossible) + " --engine source needs none."};
    }
    return callParams(registry, input);
}

void removeScratchFile(const std::string& file) {
    if (!file.empty()) {
        // What is left goes with the scratch folder at the end.
        static_cast<void>(base::realFileSystem().remove(file));
    }
}

std::string serialized(const nlohmann::ordered_json& document) {
    return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace modulelens::operations
