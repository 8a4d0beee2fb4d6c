// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/operations/VersionInput.h"
#include "backend/registry/Registry.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// Steps that several use cases share.
namespace modulelens::operations {

/// "BertLayer" of "transformers.models.bert:BertLayer".
[[nodiscard]] std::string lastClassSegment(const std::string& className);

/// Stores a measurement and returns it with its id and where its file lies now. A registry that cannot be written costs the history, not
/// the answer: a warning, and an empty result.
registry::StoredResult storeResult(registry::Registry& registry, const std::string& id, const registry::StoredResult& result,
                                   std::vector<std::string>& warnings);

/// The captured call, ready for a worker. Unsupported: the version has no program; `stillPossible` says what works without.
[[nodiscard]] base::Result<protocol::CallParams> programCall(registry::Registry& registry, const VersionInput& input,
                                                             const char* stillPossible);

/// Removes a result file of the worker; what is left goes with the scratch folder at the end.
void removeScratchFile(const std::string& file);

/// Without bytes that are no UTF-8.
[[nodiscard]] std::string serialized(const nlohmann::ordered_json& document);

} // namespace modulelens::operations
