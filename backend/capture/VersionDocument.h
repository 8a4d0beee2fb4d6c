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

/// A tensor found in a value tree, and the JSON Pointer (RFC 6901, relative to the call) where it stands.
struct LocatedTensor {
    std::string pointer;
    TensorReference tensor;
};

/// A parameter or buffer of a version's state, by its name relative to the module.
struct StateTensor {
    TensorReference tensor;
    bool isBuffer = false;
    bool isPersistent = true;
};

/// Values that differed from the state when a call began or ended, by name.
using StateChanges = std::map<std::string, TensorReference>;

/// One program that a version has.
struct ProgramReference {
    std::string digest;
    bool training = false;
    int call = 0;              ///< Index of the call it was exported with.
    std::string how;           ///< "non_strict", "strict" or "draft".
};

struct AutocastState {
    std::string device;
    ScalarType dtype = ScalarType::BFloat16;
    bool cacheEnabled = true;
};

/// Gradients of a call, as eager PyTorch gives them. What got none is absent from `outputs`, and std::nullopt in the others.
struct CallGradients {
    bool isOfCaptured = false;               ///< For the captured gradients of the outputs; else for the sum of the outputs.
    std::map<std::string, TensorReference> outputs;   ///< By pointer.
    std::map<std::string, std::optional<TensorReference>> inputs;   ///< By pointer.
    std::map<std::string, std::optional<TensorReference>> parameters;   ///< By name.
};

/// One captured execution. `json` is the call object that JSON Pointers address; it holds "args", "kwargs", "output".
struct CallDocument {
    std::string method;                      ///< "forward", or the method that was traced by name.
    bool isDirect = false;                   ///< `module.forward(x)`: the module's own hooks did not run.
    std::string node;                        ///< Node as it was before the call; empty: the version's, tensors aside.
    bool training = false;
    bool gradMode = false;
    bool inferenceMode = false;
    std::vector<AutocastState> autocast;
    std::vector<LocatedTensor> inputs;       ///< Tensors of args and kwargs, in document order.
    std::vector<LocatedTensor> outputs;
    std::map<std::string, TensorReference> mutated;   ///< By pointer: the input after the call.
    StateChanges stateBefore;
    StateChanges stateAfter;
    std::optional<TensorReference> cpuGeneratorState;
    std::string exceptionType;               ///< Empty when the call returned.
    std::string exceptionMessage;
    std::string program;                     ///< Digest, or empty.
    std::optional<CallGradients> gradients;
    std::shared_ptr<const nlohmann::json> json;
};

/// A captured module as its file says (docs/formats/bundle.md, "versions"). Immutable after construction.
struct VersionDocument {
    std::string digest;
    std::string model;
    std::string module;
    std::vector<std::string> aliases;
    std::string className;                   ///< "package.module:QualName".
    std::string collection;
    std::string stateDigest;                 ///< Digest of the root node.
    std::map<std::string, StateTensor> stateTensors;
    std::shared_ptr<const nlohmann::json> stateJson;   ///< "state.tensors" as written, as a worker gets it.
    std::int64_t parameterBytes = 0;
    std::int64_t parameterCount = 0;
    std::vector<ProgramReference> programs;
    std::string noProgramReason;             ///< Why there is none; empty when there is one.
    std::string noProgramSource;
    std::vector<CallDocument> calls;
    std::shared_ptr<const nlohmann::json> environment;
    /// Every tensor that the version refers to (state, calls, generator, parts of sparse and other values) whose data was
    /// kept, by digest; references that share a digest stand once each.
    std::vector<TensorReference> references;

    /// Digests of `references`, sorted, each once.
    [[nodiscard]] std::vector<std::string> tensorDigests() const;
};

/// Parses a version file. `digest` is the sha256 of `text`, already verified by the caller.
/// Corrupt: not the documented form (the message names the key). Unsupported: a newer schema_version.
[[nodiscard]] base::Result<VersionDocument> parseVersionDocument(std::string_view text, const std::string& digest);

/// Parses one call object of a version file, as a worker gets it. Corrupt: not the documented form.
[[nodiscard]] base::Result<CallDocument> parseCallDocument(const nlohmann::json& call);

/// Parses the object "state.tensors" of a version file. Corrupt: not the documented form.
[[nodiscard]] base::Result<std::map<std::string, StateTensor>> parseStateTensors(const nlohmann::json& tensors);

/// Collection id of a module: lower-case hex MD5 of model name, NUL, module name.
[[nodiscard]] std::string collectionId(std::string_view model, std::string_view module);
/// Collection of a model's run records: "registered_model_" rule of docs/formats/bundle.md.
[[nodiscard]] std::string runCollectionId(std::string_view model);

}  // namespace modulelens::capture
