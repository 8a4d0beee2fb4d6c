// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/CalibrateMessages.h"

#include "backend/protocol/EnvironmentFields.h"

namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<CalibrateParams> message) {
    visit.required("device", message.device);
    visit.optional("threads", message.threads);
    visit.optional("budget_ms", message.budgetMs);
    visit.optional("timeout_ms", message.timeoutMs);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<PeakRate> message) {
    visit.required("dtype", message.dtype);
    visit.required("flops_per_second", message.flopsPerSecond);
    visit.required("size", message.size);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<CalibrateResult> message) {
    visit.required("read_bytes_per_second", message.readBytesPerSecond);
    visit.required("copy_bytes_per_second", message.copyBytesPerSecond);
    visit.required("triad_bytes_per_second", message.triadBytesPerSecond);
    visit.required("array_bytes", message.arrayBytes);
    visit.required("peaks", message.peaks);
    visit.optional("unmeasured", message.unmeasured);
    visit.required("timer_ns", message.timerNs);
    visit.required("null_operator_ns", message.nullOperatorNs);
    visit.required("environment", message.environment);
}

MODULELENS_DEFINE_MESSAGE(CalibrateParams)
MODULELENS_DEFINE_MESSAGE(PeakRate)
MODULELENS_DEFINE_MESSAGE(CalibrateResult)

}  // namespace modulelens::protocol
