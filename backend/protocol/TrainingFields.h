// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/MessageFields.h"
#include "backend/protocol/TrainingResult.h"

/// Wire names of a message that stands inside another. For the .cpp files of messages only.
namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<TrainingResult> message) {
    visit.optional("loss", message.loss);
    visit.optional("forward_ns", message.forwardNs);
    visit.optional("backward_ns", message.backwardNs);
    visit.optional("optimizer_ns", message.optimizerNs);
    visit.optional("step_ns", message.stepNs);
    visit.optional("step_samples_ns", message.stepSamplesNs);
    visit.optional("backward_samples_ns", message.backwardSamplesNs);
    visit.optional("node_sum_ns", message.nodeSumNs);
    visit.optional("summation_ns", message.summationNs);
    visit.optional("flops", message.flops);
    visit.optional("peak_bytes", message.peakBytes);
    visit.optional("step_peak_bytes", message.stepPeakBytes);
    visit.optional("gradient_bytes", message.gradientBytes);
    visit.optional("optimizer", message.optimizer);
    visit.optional("optimizer_state_bytes", message.optimizerStateBytes);
    visit.optional("optimizer_state_formula", message.optimizerStateFormula);
    visit.optional("counted", message.counted);
    visit.optional("zero", message.zero);
    visit.optional("unknown", message.unknown);
    visit.optional("reasons", message.reasons);
}

}  // namespace modulelens::protocol
