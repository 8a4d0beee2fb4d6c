// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/TensorReference.h"

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::capture {

/// One module's own state as its file says (docs/formats/bundle.md, "nodes"). Immutable after construction.
struct NodeDocument {
    std::string digest;
    std::string className;
    std::string runtimeClass;                            ///< Empty unless a class made at run time replaced it.
    bool training = false;
    std::string initHow;                                 ///< "captured", "inferred" or "unknown".
    std::shared_ptr<const nlohmann::json> init;          ///< {how, args, kwargs, missing} as written.
    std::shared_ptr<const nlohmann::json> attributes;
    std::map<std::string, std::optional<TensorReference>> parameters;
    std::map<std::string, std::optional<TensorReference>> buffers;
    std::vector<std::string> nonPersistent;
    std::map<std::string, std::string> children;         ///< Name to node digest; empty digest for None.
    std::string source;                                  ///< Digest of the class source, or empty.
    /// Every tensor that the node refers to whose data was kept, also those inside attributes and init arguments.
    std::vector<TensorReference> references;
};

/// Parses a node file. Corrupt and Unsupported as in parseVersionDocument.
[[nodiscard]] base::Result<NodeDocument> parseNodeDocument(std::string_view text, const std::string& digest);

}  // namespace modulelens::capture
