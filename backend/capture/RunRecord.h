// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/TensorReference.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::capture {

/// Shape and dtype of one tensor that a call saw.
struct TensorShape {
    std::string pointer;
    ScalarType dtype = ScalarType::Float32;
    std::vector<std::int64_t> shape;
};

/// One module call of a traced step.
struct RunCall {
    int parent = -1;                                  ///< Index in RunRecord::calls; -1 for the top.
    std::string module;
    std::string className;
    int call = 0;
    std::string method;
    std::vector<TensorShape> inputs;
    std::vector<TensorShape> outputs;
    std::int64_t parameterBytes = 0;
    std::int64_t ownParameterBytes = 0;
    std::optional<std::int64_t> startNs;
    std::optional<std::int64_t> hostNs;               ///< Measured in the run; unknown when absent.
    std::optional<std::int64_t> deviceNs;             ///< Likewise, on the device's stream.
    std::optional<std::int64_t> allocatedBytes;       ///< Of the device's allocator when the call began.
    std::optional<std::int64_t> peakBytes;            ///< The most that the allocator had given out during the call.
    bool isDirect = false;                            ///< `module.forward(x)`: the module's own hooks did not run.
    bool isRecompute = false;                         ///< Computed again in a backward pass; lies outside its parent's time.
    std::string version;                              ///< Version digest, or empty when tensors were not kept.
    int versionCall = 0;
    std::string exceptionType;
};

/// What one top-level trace execution recorded (docs/formats/bundle.md, "runs"). Immutable after construction.
struct RunRecord {
    std::string digest;                               ///< sha256 of the file.
    std::string model;
    std::string collection;
    std::int64_t step = 0;
    std::string started;
    std::optional<std::int64_t> durationNs;
    std::string device;
    std::vector<RunCall> calls;                       ///< In the order in which they began; parents before children.
    std::shared_ptr<const nlohmann::json> environment;
};

/// Parses a run file. Corrupt: not the documented form, a parent that does not stand before its child. Unsupported: newer.
[[nodiscard]] base::Result<RunRecord> parseRunRecord(std::string_view text, const std::string& digest);

}  // namespace modulelens::capture
