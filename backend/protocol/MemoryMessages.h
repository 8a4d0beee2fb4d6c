// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/WorkerMessages.h"

/// The messages of `memory` (docs/formats/worker-protocol.md).
namespace modulelens::protocol {

struct MemoryParams {
    CallParams call;
    std::string name;                    ///< Class or module name for the root scope.
    std::string train;                   ///< The step includes this optimizer (OptimizerSettings.h); empty: none.
};

/// An absent number is unknown, never 0; `reasons` says why, by the number's wire name.
struct MemoryResult {
    std::string file;                    ///< Profile file in the scratch folder, with memory columns alone.
    std::string timelineFile;            ///< docs/formats/memory-timeline.md, in the scratch folder.
    std::int64_t events = 0;             ///< In the timeline.
    std::string loss;                    ///< What was differentiated.
    std::optional<std::int64_t> parameterBytes;        ///< Distinct storage of parameters, by the extent of the views.
    std::optional<std::int64_t> bufferBytes;           ///< Of buffers, without what parameters hold already.
    std::optional<std::int64_t> gradientBytes;         ///< After one backward pass.
    std::map<std::string, std::int64_t> optimizerStateBytes;          ///< By optimizer.
    std::map<std::string, std::string> optimizerStateFormulas;
    std::optional<std::int64_t> activationBytes;       ///< Views that autograd keeps for backward.
    std::optional<std::int64_t> activationHeldBytes;   ///< The whole storages behind them.
    std::optional<std::int64_t> peakBytes;             ///< Allocated by one run as captured, at most at one time.
    std::optional<std::int64_t> trainingPeakBytes;     ///< By forward and backward, gradients undefined at the start.
    std::optional<std::int64_t> stepPeakBytes;         ///< And the optimizer's first step.
    std::optional<std::int64_t> reservedPeakBytes;     ///< What the allocator took from the device at most.
    std::optional<std::int64_t> deviceUsedBytes;       ///< What the driver says is in use, by all processes.
    std::map<std::string, std::string> reasons;
};

#define MODULELENS_MESSAGE(Type)                      \
    [[nodiscard]] nlohmann::json toJson(const Type&); \
    [[nodiscard]] base::Result<Type> parse##Type(const nlohmann::json& json)

MODULELENS_MESSAGE(MemoryParams);
MODULELENS_MESSAGE(MemoryResult);
#undef MODULELENS_MESSAGE

}  // namespace modulelens::protocol
