// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/HigherOrder.h"

#include "backend/engine/Executor.h"
#include "backend/engine/FunctionTransforms.h"
#include "backend/engine/Loops.h"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <utility>

namespace modulelens::engine {

namespace {

// Autocast of one device type, put back at the end.
class AutocastScope {
public:
    AutocastScope(c10::DeviceType device, bool isEnabled, std::optional<c10::ScalarType> dtype)
        : m_device(device),
          m_wasEnabled(at::autocast::is_autocast_enabled(device)),
          m_dtype(at::autocast::get_autocast_dtype(device)) {
        at::autocast::set_autocast_enabled(device, isEnabled);
        if (dtype) {
            at::autocast::set_autocast_dtype(device, *dtype);
        }
        at::autocast::increment_nesting();
    }
    ~AutocastScope() {
        if (at::autocast::decrement_nesting() == 0) {
            at::autocast::clear_cache();
        }
        at::autocast::set_autocast_enabled(m_device, m_wasEnabled);
        at::autocast::set_autocast_dtype(m_device, m_dtype);
    }
    AutocastScope(const AutocastScope&) = delete;
    AutocastScope& operator=(const AutocastScope&) = delete;

private:
    c10::DeviceType m_device;
    bool m_wasEnabled;
    c10::ScalarType m_dtype;
};

void runAutocast(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner) {
    // Operands: device type, dtype, enabled, cache enabled, graph, and the graph's own.
    const c10::IValue dtype = load(step.arguments[1], frame);
    const AutocastScope scope(c10::Device(step.arguments[0].constant.toStringRef()).type(),
                              load(step.arguments[2], frame).toBool(),
                              dtype.isNone() ? std::nullopt : std::optional(static_cast<c10::ScalarType>(dtype.toInt())));
    storeFlat(step, runner.runSubGraph(*step.arguments[4].graph, flatOperands(step, 5, frame)), frame);
}

// A copy with the strides of the original, gaps included: views of it stand where views of the original stood.
at::Tensor cloneWithStrides(const at::Tensor& tensor) {
    // PyTorch hides these views from autograd's bookkeeping as well.
    const c10::impl::ExcludeDispatchKeyGuard hidden(c10::DispatchKey::ADInplaceOrView);
    std::int64_t length = tensor.storage_offset();
    for (std::int64_t i = 0; i < tensor.dim(); ++i) {
        length += (tensor.size(i) - 1) * tensor.stride(i);
    }
    const at::Tensor whole = tensor.as_strided({tensor.numel() == 0 ? 0 : length + 1}, {1}, 0).clone();
    return whole.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

}  // namespace

bool isTrue(const c10::IValue& value) {
    if (value.isTensor()) {
        return value.toTensor().item().toBool();
    }
    return value.isBool() ? value.toBool() : value.toInt() != 0;
}

void appendFlat(const ArgumentSource& source, std::vector<c10::IValue>& frame, std::vector<c10::IValue>& values) {
    if (source.kind == SourceKind::Tensors || source.kind == SourceKind::OptionalTensors) {
        for (const int slot : source.slots) {
            values.push_back(slot < 0 ? c10::IValue() : frame[static_cast<std::size_t>(slot)]);
        }
    } else {
        values.push_back(load(source, frame));
    }
}

std::vector<c10::IValue> flatOperands(const Step& step, std::size_t first, std::vector<c10::IValue>& frame) {
    std::vector<c10::IValue> values;
    for (std::size_t i = first; i < step.arguments.size(); ++i) {
        appendFlat(step.arguments[i], frame, values);
    }
    return values;
}

void storeFlat(const Step& step, std::vector<c10::IValue> values, std::vector<c10::IValue>& frame) {
    std::size_t next = 0;
    const auto store = [&](int slot) {
        if (next >= values.size()) {
            throw Failure({base::ErrorCode::Corrupt, "a sub-graph returns fewer values than its operator names", ""});
        }
        if (slot >= 0) {
            frame[static_cast<std::size_t>(slot)] = std::move(values[next]);
        }
        ++next;
    };
    for (const StepResult& result : step.results) {
        if (result.isList) {
            std::for_each(result.elements.begin(), result.elements.end(), store);
        } else {
            store(result.slot);
        }
    }
}

void runHigherOrder(const Step& step, std::vector<c10::IValue>& frame, SubGraphRunner& runner) {
    switch (step.kind) {
        case StepKind::Cond: {
            const bool isTaken = isTrue(load(step.arguments[0], frame));
            storeFlat(step, runner.runSubGraph(*step.arguments[isTaken ? 1 : 2].graph, flatOperands(step, 3, frame)), frame);
            return;
        }
        case StepKind::SetGrad: {
            const at::AutoGradMode mode(load(step.arguments[0], frame).toBool());
            storeFlat(step, runner.runSubGraph(*step.arguments[1].graph, flatOperands(step, 2, frame)), frame);
            return;
        }
        case StepKind::Autocast:
            runAutocast(step, frame, runner);
            return;
        case StepKind::WhileLoop:
        case StepKind::WhileLoopStackOutput:
            runWhile(step, frame, runner);
            return;
        case StepKind::Wrap:
            storeFlat(step, runner.runSubGraph(*step.arguments[0].graph, flatOperands(step, 1, frame)), frame);
            return;
        case StepKind::Map:
        case StepKind::Scan:
            runMapOrScan(step, frame, runner);
            return;
        case StepKind::AssociativeScan:
            runAssociativeScan(step, frame, runner);
            return;
        case StepKind::CloneWithStrides:
            storeFlat(step, {cloneWithStrides(load(step.arguments[0], frame).toTensor())}, frame);
            return;
        default: {
            std::vector<c10::IValue> results = runFunctionTransform(step.kind, flatOperands(step, 0, frame));
            if (!results.empty()) {
                storeFlat(step, std::move(results), frame);
            }
            return;
        }
    }
}

}  // namespace modulelens::engine
