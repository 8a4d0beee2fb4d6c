// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/WorkerMessages.h"

#include "backend/protocol/CallFields.h"
#include "backend/protocol/CostFields.h"
#include "backend/protocol/MessageFields.h"
#include "backend/protocol/TrainingFields.h"
#include "backend/protocol/ValidationFields.h"

namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<InitializeParams> message) {
    visit.required("protocol_version", message.protocolVersion);
    visit.required("client", message.client);
    visit.required("scratch_folder", message.scratchFolder);
    visit.optional("threads", message.threads);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<DeviceInfo> message) {
    visit.required("name", message.name);
    visit.optional("description", message.description);
    visit.optional("memory_bytes", message.memoryBytes);
    visit.optional("capability", message.capability);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<InitializeResult> message) {
    visit.required("protocol_version", message.protocolVersion);
    visit.required("worker", message.worker);
    visit.required("engine", message.engine);
    visit.required("torch_version", message.torchVersion);
    visit.required("threads", message.threads);
    visit.required("devices", message.devices);
    visit.required("capabilities", message.capabilities);
    visit.optional("float32_matmul_precision", message.float32MatmulPrecision);
    visit.optional("host", message.host);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<LoadParams> message) {
    visit.required("name", message.name);
    visit.required("program", message.program);
    visit.required("tensors", message.tensors);
    visit.required("state", message.state);
    visit.required("device", message.device);
    visit.optional("format", message.format);
    visit.optional("libraries", message.libraries);
    visit.optional("consent", message.consent);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<LoadResult> message) {
    visit.required("handle", message.handle);
    visit.required("load_ns", message.loadNs);
    visit.required("operator_count", message.operatorCount);
    visit.optional("warnings", message.warnings);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<UnloadParams> message) {
    visit.required("handle", message.handle);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<OutputTensor> message) {
    visit.required("pointer", message.pointer);
    visit.required("dtype", message.dtype);
    visit.required("shape", message.shape);
    visit.required("key", message.key);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<RunResult> message) {
    visit.required("file", message.file);
    visit.required("outputs", message.outputs);
    visit.required("host_ns", message.hostNs);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<LeafResult> message) {
    visit.required("pointer", message.pointer);
    visit.required("dtype", message.dtype);
    visit.required("shape", message.shape);
    visit.required("verdict", message.verdict);
    visit.optional("reason", message.reason);
    visit.optional("max_abs_diff", message.maxAbsDiff);
    visit.optional("max_rel_diff", message.maxRelDiff);
    visit.optional("mismatched", message.mismatched);
    visit.optional("elements", message.elements);
    visit.optional("worst_index", message.worstIndex);
    visit.optional("expected", message.expected);
    visit.optional("got", message.got);
    visit.optional("relative_tolerance", message.relativeTolerance);
    visit.optional("absolute_tolerance", message.absoluteTolerance);
    fields(visit, message.statistics);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<ValidateParams> message) {
    fields(visit, message.call);
    visit.optional("repeats", message.repeats);
    visit.optional("oracle", message.wantsOracle);
    visit.optional("same_calls", message.sameCalls);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<ValidateResult> message) {
    visit.required("verdict", message.verdict);
    visit.required("exact", message.exact);
    visit.optional("max_abs_diff", message.maxAbsDiff);
    visit.required("leaves", message.leaves);
    visit.required("threads", message.threads);
    visit.optional("reason", message.reason);
    visit.optional("warnings", message.warnings);
    visit.optional("repeats", message.repeats);
    visit.optional("oracle", message.oracle);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<ProfileParams> message) {
    visit.required("call", message.call);
    visit.optional("warmup_runs", message.warmupRuns);
    visit.optional("repetitions", message.repetitions);
    visit.optional("budget_ms", message.budgetMs);
    visit.optional("name", message.name);
    visit.optional("facts", message.facts);
    visit.optional("backward", message.backward);
    visit.optional("train", message.train);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<ProfileResult> message) {
    visit.required("file", message.file);
    visit.optional("latency_ns", message.latencyNs);
    visit.optional("operator_sum_ns", message.operatorSumNs);
    visit.optional("timed_run_ns", message.timedRunNs);
    visit.optional("flops", message.flops);
    visit.optional("parameter_bytes", message.parameterBytes);
    visit.optional("activation_bytes", message.activationBytes);
    visit.optional("peak_bytes", message.peakBytes);
    visit.optional("samples_ns", message.samplesNs);
    visit.optional("counted", message.counted);
    visit.optional("zero", message.zero);
    visit.optional("unknown", message.unknown);
    visit.optional("reasons", message.reasons);
    visit.optional("costs", message.costs);
    visit.optional("training", message.training);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<Progress> message) {
    visit.required("request_id", message.requestId);
    visit.required("stage", message.stage);
    visit.optional("done", message.done);
    visit.optional("total", message.total);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<LogEntry> message) {
    visit.required("level", message.level);
    visit.required("text", message.text);
}

MODULELENS_DEFINE_MESSAGE(InitializeParams)
MODULELENS_DEFINE_MESSAGE(InitializeResult)
MODULELENS_DEFINE_MESSAGE(LoadParams)
MODULELENS_DEFINE_MESSAGE(LoadResult)
MODULELENS_DEFINE_MESSAGE(UnloadParams)
MODULELENS_DEFINE_MESSAGE(CallParams)
MODULELENS_DEFINE_MESSAGE(RunResult)
MODULELENS_DEFINE_MESSAGE(LeafResult)
MODULELENS_DEFINE_MESSAGE(ValidateParams)
MODULELENS_DEFINE_MESSAGE(ValidateResult)
MODULELENS_DEFINE_MESSAGE(ProfileParams)
MODULELENS_DEFINE_MESSAGE(ProfileResult)
MODULELENS_DEFINE_MESSAGE(Progress)
MODULELENS_DEFINE_MESSAGE(LogEntry)

} // namespace modulelens::protocol
