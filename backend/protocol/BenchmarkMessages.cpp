// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/BenchmarkMessages.h"

#include "backend/protocol/CallFields.h"
#include "backend/protocol/EnvironmentFields.h"

namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<BenchmarkParams> message) {
    visit.required("call", message.call);
    visit.optional("against", message.against);
    visit.optional("mode", message.mode);
    visit.optional("warmup_runs", message.warmupRuns);
    visit.optional("repetitions", message.repetitions);
    visit.optional("budget_ms", message.budgetMs);
    visit.optional("seed", message.seed);
    visit.optional("count", message.count);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<BenchmarkSide> message) {
    visit.required("samples_ns", message.samplesNs);
    visit.optional("device_ns", message.deviceNs);
    visit.optional("order", message.order);
    visit.required("median_ns", message.medianNs);
    visit.optional("first_call_ns", message.firstCallNs);
    visit.optional("warmup_runs", message.warmupRuns);
    visit.optional("warmup_capped", message.warmupCapped);
    visit.optional("runs_per_sample", message.runsPerSample);
    visit.optional("operators", message.operators);
    visit.optional("outputs", message.outputs);
    visit.optional("outputs_pointer", message.outputsPointer);
    visit.optional("flops", message.flops);
    visit.optional("unknown_operators", message.unknownOperators);
    visit.optional("bytes_least", message.bytesLeast);
    visit.optional("dtypes", message.dtypes);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<BenchmarkResult> message) {
    visit.required("mode", message.mode);
    visit.required("median_ns", message.medianNs);
    visit.required("sides", message.sides);
    visit.optional("again_ns", message.againNs);
    visit.optional("again_order", message.againOrder);
    visit.optional("device_reason", message.deviceReason);
    visit.optional("timer_ns", message.timerNs);
    visit.optional("null_operator_ns", message.nullOperatorNs);
    visit.optional("flushed_bytes", message.flushedBytes);
    visit.required("environment", message.environment);
}

MODULELENS_DEFINE_MESSAGE(BenchmarkParams)
MODULELENS_DEFINE_MESSAGE(BenchmarkSide)
MODULELENS_DEFINE_MESSAGE(MeasuringEnvironment)
MODULELENS_DEFINE_MESSAGE(BenchmarkResult)

}  // namespace modulelens::protocol
