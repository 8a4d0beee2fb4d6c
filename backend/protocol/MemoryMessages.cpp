// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/MemoryMessages.h"

#include "backend/protocol/CallFields.h"
#include "backend/protocol/MessageFields.h"

namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<MemoryParams> message) {
    visit.required("call", message.call);
    visit.optional("name", message.name);
    visit.optional("train", message.train);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<MemoryResult> message) {
    visit.required("file", message.file);
    visit.required("timeline_file", message.timelineFile);
    visit.required("events", message.events);
    visit.optional("loss", message.loss);
    visit.optional("parameter_bytes", message.parameterBytes);
    visit.optional("buffer_bytes", message.bufferBytes);
    visit.optional("gradient_bytes", message.gradientBytes);
    visit.optional("optimizer_state_bytes", message.optimizerStateBytes);
    visit.optional("optimizer_state_formulas", message.optimizerStateFormulas);
    visit.optional("activation_bytes", message.activationBytes);
    visit.optional("activation_held_bytes", message.activationHeldBytes);
    visit.optional("peak_bytes", message.peakBytes);
    visit.optional("training_peak_bytes", message.trainingPeakBytes);
    visit.optional("step_peak_bytes", message.stepPeakBytes);
    visit.optional("reserved_peak_bytes", message.reservedPeakBytes);
    visit.optional("device_used_bytes", message.deviceUsedBytes);
    visit.optional("reasons", message.reasons);
}

MODULELENS_DEFINE_MESSAGE(MemoryParams)
MODULELENS_DEFINE_MESSAGE(MemoryResult)

}  // namespace modulelens::protocol
