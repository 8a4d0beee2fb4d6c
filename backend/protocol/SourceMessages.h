// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/WorkerMessages.h"

/// What the source engine needs beyond the program engine, in `load` and in its own method `code`
/// (docs/formats/worker-protocol.md). Parsing as in WorkerMessages.h.
namespace modulelens::protocol {

/// Names of engines, as initialize gives them.
namespace engine_name {
inline constexpr const char* kProgram = "program";
inline constexpr const char* kSource = "source";
}  // namespace engine_name

/// A Python file whose classes take the place of captured ones of the same name.
struct EditedSource {
    std::string file;
    std::string sha256;                  ///< Of the bytes that the user consented to.
    std::string className;               ///< The class for the module itself; empty: the captured class's name.
};

/// What a module is rebuilt from.
struct ModuleSource {
    std::string root;                    ///< Digest of its node.
    std::string module;                  ///< Its name in the model.
    nlohmann::json nodes;                ///< {digest: node document}.
    std::vector<nlohmann::json> values;  ///< Captured calls.
    std::map<std::string, std::string> sources;   ///< Digest to text, as captured.
    std::string capturedDevice = "cpu";
    std::vector<std::string> rungs;      ///< Ways to try in this order; empty: all.
    std::optional<EditedSource> edited;
};

struct CodeParams {
    ModuleSource source;
};

struct CodeResult {
    std::string sha256;                  ///< What consent is given for; empty: nothing that needs it.
    std::vector<std::string> names;
    std::vector<std::string> packages;
    std::string sentence;                ///< The names, shortened.
};

/// Params of load for the source engine; a program is only sent when load.program names a file.
struct SourceLoadParams {
    LoadParams load;
    ModuleSource source;
};

struct SourceDifference {
    std::string className;
    std::string difference;              ///< Unified difference, captured to now; empty when the captured text is unknown.
};

struct SourceLoadResult {
    LoadResult load;
    std::string how;                     ///< "structure", "init" or "program".
    std::vector<std::string> reasons;    ///< Why the ways before it did not work.
    std::vector<SourceDifference> differences;
};

#define MODULELENS_MESSAGE(Type)                      \
    [[nodiscard]] nlohmann::json toJson(const Type&); \
    [[nodiscard]] base::Result<Type> parse##Type(const nlohmann::json& json)

MODULELENS_MESSAGE(CodeParams);
MODULELENS_MESSAGE(CodeResult);
MODULELENS_MESSAGE(SourceLoadResult);
#undef MODULELENS_MESSAGE
[[nodiscard]] nlohmann::json toJson(const SourceLoadParams&);

namespace method {
inline constexpr const char* kCode = "code";
}  // namespace method

}  // namespace modulelens::protocol
