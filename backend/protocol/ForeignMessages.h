// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/protocol/WorkerMessages.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// The method `inspect`: what only LibTorch can read of a file that no tracer wrote (docs/formats/worker-protocol.md).
namespace modulelens::protocol {

/// What an inspected file is.
namespace inspection {
inline constexpr const char* kSampleInputs = "sample_inputs";   ///< torch.save((args, kwargs)), as torch.export keeps it.
inline constexpr const char* kTorchScript = program_format::kTorchScript;
inline constexpr const char* kAotInductor = program_format::kAotInductor;
}  // namespace inspection

struct InspectParams {
    std::string name;                    ///< For messages.
    std::string kind;                    ///< One of `inspection`.
    std::string file;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::string sha256;                  ///< Of those bytes; the worker compares it before it reads on.
    std::vector<OperatorLibrary> libraries;
    std::vector<std::string> consent;    ///< As in LoadParams.
};

/// One module of a TorchScript archive.
struct InspectedModule {
    std::string path;                    ///< Name in the tree; empty for the top module.
    std::string className;               ///< "package.module:QualName".
    bool training = false;
};

/// One input of the program, in order.
struct InspectedArgument {
    std::string name;
    std::string pointer;                 ///< Where it stands in the call: "/args/0".
    std::string type;                    ///< "Tensor", "int", "Optional[Tensor]", ...
    bool hasDefault = false;
    nlohmann::json defaultValue;         ///< Encoded as in docs/formats/bundle.md, "Values".
};

struct InspectResult {
    std::string file;                    ///< safetensors in the scratch folder, keys are tensor digests; empty: no tensors.
    nlohmann::json call;                 ///< {"args": [...], "kwargs": {...}}: sample inputs, else null at every input.
    nlohmann::json state;                ///< {FQN: tensor reference}, else null.
    nlohmann::json output;               ///< The form of the result, with null at every tensor.
    std::vector<InspectedModule> modules;
    std::vector<InspectedArgument> arguments;
    std::vector<std::string> warnings;
};

#define MODULELENS_MESSAGE(Type)                      \
    [[nodiscard]] nlohmann::json toJson(const Type&); \
    [[nodiscard]] base::Result<Type> parse##Type(const nlohmann::json& json)

MODULELENS_MESSAGE(InspectParams);
MODULELENS_MESSAGE(InspectResult);
#undef MODULELENS_MESSAGE

namespace method {
inline constexpr const char* kInspect = "inspect";
}  // namespace method

}  // namespace modulelens::protocol
