// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/VersionDocument.h"
#include "backend/protocol/SourceMessages.h"
#include "backend/registry/Registry.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace modulelens::operations {

/// A version with the call that an operation is about, and the program that computes it.
struct VersionInput {
    registry::VersionSummary summary;
    capture::VersionDocument document;
    std::size_t callIndex = 0;
    std::string program;           ///< Digest, or empty.
    std::string programHow;        ///< "non_strict", "strict", "draft", "foreign", "torchscript", "aotinductor".
    std::string noProgramReason;   ///< Why there is none.
    bool usesSource = false;       ///< The source engine rebuilds it from its class; a program is not needed.
    std::optional<protocol::EditedSource> edited;   ///< Source engine: classes in the place of captured ones.
    bool isTrusted = false;        ///< Source engine: nobody is asked for consent to the code.
    bool needsCode = false;        ///< Source engine: never from the program.

    [[nodiscard]] const capture::CallDocument& call() const { return document.calls[callIndex]; }
    /// "bert::encoder.layer.0@v1".
    [[nodiscard]] std::string address() const;
};

/// How a program that came about in this way is loaded.
struct ProgramFormat {
    const char* name = protocol::program_format::kExported;
    bool isExported = true;        ///< False: a file that is read only with consent.
};
[[nodiscard]] ProgramFormat programFormat(const std::string& how);

/// Resolves and reads. NotFound: no such version. InvalidArgument: it has no such call. Blocks on the registry.
[[nodiscard]] base::Result<VersionInput> readVersionInput(registry::Registry& registry, const std::string& addressOrId,
                                                          int call);

/// The same for an operation, with what its settings say of the engine.
struct RunSettings;
[[nodiscard]] base::Result<VersionInput> readRunInput(registry::Registry& registry, const std::string& addressOrId,
                                                      const RunSettings& settings);

/// Where the data of these tensors lies. NotFound names the first that is missing.
[[nodiscard]] base::Result<std::vector<protocol::Extent>> tensorExtents(registry::Registry& registry,
                                                                        const std::set<std::string>& digests);

/// Everything that the worker needs to load the program of `input`.
[[nodiscard]] base::Result<protocol::LoadParams> loadParams(registry::Registry& registry, const VersionInput& input,
                                                            const std::string& device);

/// The call with the data that it names; handle and threads are left to the caller. ConsentNeeded, InvalidArgument: inputs
/// that an imported file did not bring.
[[nodiscard]] base::Result<protocol::CallParams> callParams(registry::Registry& registry, const VersionInput& input);

/// Intra-op threads of the capture; absent when it does not say.
[[nodiscard]] std::optional<int> capturedThreads(const capture::VersionDocument& document);

/// What makes a difference in bits unsurprising: another torch, another CPU capability, another kind of device.
[[nodiscard]] std::vector<std::string> environmentWarnings(const capture::VersionDocument& document,
                                                           const protocol::InitializeResult& worker, const std::string& device);

} // namespace modulelens::operations
