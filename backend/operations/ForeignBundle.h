// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/Bundle.h"
#include "backend/capture/Safetensors.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace modulelens::operations {

/// A module that no tracer captured, as a bundle of one version (docs/formats/foreign.md). Byte spans must outlive writing.
struct ForeignBundle {
    std::string model;
    std::string created;                                    ///< UTC.
    std::map<std::string, std::string> modules;             ///< Class by module name, "" for the top module.
    bool training = false;
    nlohmann::json environment;
    nlohmann::json state = nlohmann::json::object();        ///< "state.tensors".
    nlohmann::json call;                                    ///< "args", "kwargs" and "output".
    std::string how;                                        ///< "foreign", "torchscript" or "aotinductor".
    std::span<const std::byte> program;
    std::map<std::string, capture::SafetensorsInput> tensors;   ///< By digest.
    std::map<std::string, capture::AttributeValue> attributes;
};

/// Writes the bundle into the new folder `folder`. Equal content gives equal bytes. StorageFull, PermissionDenied; what was
/// written then is the caller's to remove.
[[nodiscard]] base::Result<void> writeForeignBundle(const ForeignBundle& bundle, const std::filesystem::path& folder);

} // namespace modulelens::operations
