// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/TrainingRun.h"

#include "backend/engine/ForeignProgram.h"
#include "backend/engine/Modes.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;

class ObserverPair : public StepObserver {
public:
    ObserverPair(StepObserver* first, StepObserver* second) : m_first(first), m_second(second) {}
    void onBegin(const Step& step) override {
        m_first->onBegin(step);
        m_second->onBegin(step);
    }
    void onEnd(const Step& step) override {
        m_first->onEnd(step);
        m_second->onEnd(step);
    }

private:
    StepObserver* m_first;
    StepObserver* m_second;
};

void call(const std::function<void()>& hook) {
    if (hook) {
        hook();
    }
}

bool canDifferentiate(const c10::IValue& value) {
    return value.isTensor() && value.toTensor().defined() && value.toTensor().requires_grad();
}

std::string moduleOf(const std::string& parameter) {
    const std::size_t dot = parameter.rfind('.');
    return dot == std::string::npos ? std::string() : parameter.substr(0, dot);
}

/// The tensors of the program's signature that require a gradient, each once, and the modules that own them.
std::vector<GradientTarget> findTargets(CallBinding& binding, std::vector<std::string>& owners) {
    std::vector<GradientTarget> targets;
    std::map<const c10::TensorImpl*, bool> isListed;
    owners.emplace_back();
    const auto add = [&](const std::string& name, bool isParameter, const at::Tensor& tensor, const std::string& module) {
        if (!tensor.defined() || !tensor.requires_grad() || !tensor.is_leaf() ||
            !isListed.emplace(tensor.unsafeGetTensorImpl(), true).second) {
            return;
        }
        auto owner = std::find(owners.begin(), owners.end(), module);
        if (owner == owners.end()) {
            owner = owners.insert(owners.end(), module);
        }
        targets.push_back({name, isParameter, tensor, static_cast<int>(owner - owners.begin())});
    };
    for (const graph::InputSpec& spec : binding.program().program().inputs) {
        if (spec.kind == graph::InputKind::Parameter) {
            add(spec.target, true, binding.program().inputTensor(spec), moduleOf(spec.target));
        }
    }
    if (binding.program().foreign() != nullptr) {
        // Its signature does not name the parameters that it reads.
        for (const Leaf& leaf : binding.program().state().all()) {
            add(leaf.name, true, leaf.tensor, moduleOf(leaf.name));
        }
    }
    for (const Leaf& leaf : binding.inputLeaves().all()) {
        add(leaf.name, false, leaf.tensor, std::string());
    }
    return targets;
}

}  // namespace

/// Called by autograd when a leaf has its gradient.
class TrainingRun::AccumulationHook : public torch::autograd::PostAccumulateGradHook {
public:
    AccumulationHook(int owner, int& lastOwner, const std::atomic<bool>& stop)
        : m_owner(owner), m_lastOwner(lastOwner), m_stop(stop) {}

    void operator()(const at::Tensor&) override {
        m_lastOwner = m_owner;
        if (m_stop.load(std::memory_order_relaxed)) {
            throw Failure({base::ErrorCode::Cancelled, "the run was cancelled", ""});
        }
    }

private:
    int m_owner;
    int& m_lastOwner;
    const std::atomic<bool>& m_stop;
};

class TrainingRun::InstalledHooks {
public:
    InstalledHooks(const std::vector<GradientTarget>& targets, int& lastOwner, const std::atomic<bool>& stop)
        : m_targets(targets) {
        for (const GradientTarget& target : targets) {
            torch::autograd::impl::set_post_acc_grad_hooks(target.tensor,
                                                           std::make_unique<AccumulationHook>(target.owner, lastOwner, stop));
        }
    }
    ~InstalledHooks() {
        for (const GradientTarget& target : m_targets) {
            torch::autograd::impl::set_post_acc_grad_hooks(target.tensor, nullptr);
        }
    }
    InstalledHooks(const InstalledHooks&) = delete;
    InstalledHooks& operator=(const InstalledHooks&) = delete;

private:
    const std::vector<GradientTarget>& m_targets;
};

TrainingRun::TrainingRun(CallBinding& binding) : m_binding(binding), m_rows(0, {}) {
    std::vector<std::string> owners;
    m_targets = findTargets(binding, owners);
    m_rows = TrainingRows(binding.program().plan().steps.size(), std::move(owners));
    readSeeds();
}

TrainingRun::~TrainingRun() {
    clearGradients();
}

const char* TrainingRun::lossName() const {
    return m_seeds.empty() ? "sum of the outputs" : "captured gradients of the outputs";
}

void TrainingRun::readSeeds() {
    if (!m_binding.call().gradients) {
        return;
    }
    for (const auto& [pointer, reference] : m_binding.call().gradients->outputs) {
        const base::Result<StoredData> data = m_binding.store().find(reference);
        if (!data) {
            throw Failure(data.error().within("the gradient of " + pointer));
        }
        at::Tensor seed =
            at::empty_strided(reference.shape, reference.stride, at::TensorOptions().dtype(torchType(reference.dtype)));
        assign(seed, reference, data.value().pristine);
        m_seeds[pointer] = seed.to(m_binding.program().devices().to);
    }
}

void TrainingRun::clearGradients() {
    for (GradientTarget& target : m_targets) {
        target.tensor.mutable_grad() = at::Tensor();
    }
}

TrainingTimes TrainingRun::run(const std::atomic<bool>& stop, const Hooks& hooks) {
    if (m_targets.empty()) {
        throw Failure({base::ErrorCode::Unsupported, "no parameter or input requires a gradient", ""});
    }
    clearGradients();
    if (hooks.marks != nullptr) {
        hooks.marks->clear();
    }
    const InstalledHooks installed(m_targets, m_lastOwner, stop);
    ObserverPair both(hooks.marks, hooks.observer);
    TrainingTimes times;
    CallBinding::RunOptions options;
    options.forceGrad = true;
    options.observer = hooks.marks != nullptr && hooks.observer != nullptr ? &both
                       : hooks.marks != nullptr                            ? static_cast<StepObserver*>(hooks.marks)
                                                                           : hooks.observer;
    options.beforeRun = hooks.beforeForward;
    options.withOutputs = [&](std::vector<c10::IValue>& outputs) { backward(outputs, stop, hooks, times); };
    times.forwardNs = m_binding.run(stop, options).hostNs;
    return times;
}

void TrainingRun::makeRoots(const std::vector<c10::IValue>& outputs, std::vector<at::Tensor>& roots,
                            std::vector<at::Tensor>& gradients) const {
    const graph::Program& program = m_binding.program().program();
    std::set<const c10::TensorImpl*> isTaken;
    at::Tensor sum;
    std::size_t next = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (program.outputs[i].kind != graph::OutputKind::UserOutput) {
            continue;
        }
        const std::string pointer = next < program.outputPointers.size() ? program.outputPointers[next] : std::string();
        ++next;
        if (!canDifferentiate(outputs[i]) || !isTaken.insert(outputs[i].toTensor().unsafeGetTensorImpl()).second) {
            continue;
        }
        const at::Tensor& output = outputs[i].toTensor();
        if (m_seeds.empty()) {
            const at::Tensor part = (output.is_complex() ? at::real(output) : output).sum();
            sum = sum.defined() ? sum + part : part;
        } else if (const auto seed = m_seeds.find(pointer); seed != m_seeds.end()) {
            roots.push_back(output);
            gradients.push_back(seed->second);
        }
    }
    if (sum.defined()) {
        roots.push_back(sum);
    }
    if (roots.empty()) {
        throw Failure(
            {base::ErrorCode::Unsupported, "no output depends on a parameter or an input that requires a gradient", ""});
    }
}

void TrainingRun::backward(std::vector<c10::IValue>& outputs, const std::atomic<bool>& stop, const Hooks& hooks,
                           TrainingTimes& times) {
    const c10::Device device = m_binding.program().devices().to;
    // A training loop leaves autocast before it makes the loss, and the weights that autocast keeps converted go with it.
    const c10::impl::ExcludeDispatchKeyGuard noAutocast(c10::autocast_dispatch_keyset);
    at::autocast::clear_cache();
    if (hooks.marks != nullptr) {
        hooks.marks->mark(m_rows.loss());
    }
    call(hooks.beforeLoss);
    std::vector<at::Tensor> roots;
    std::vector<at::Tensor> gradients;
    makeRoots(outputs, roots, gradients);
    synchronize(device);
    call(hooks.beforeBackward);
    const Clock::time_point start = Clock::now();
    torch::autograd::backward(roots, gradients);
    synchronize(device);
    const Clock::time_point done = Clock::now();
    times.backwardNs = std::chrono::nanoseconds(done - start).count();
    if (stop.load(std::memory_order_relaxed)) {
        throw Failure({base::ErrorCode::Cancelled, "the run was cancelled", ""});
    }
    call(hooks.beforeOptimizer);
    if (m_optimizer != nullptr) {
        std::vector<at::Tensor> parameters;
        for (const GradientTarget& target : m_targets) {
            if (target.isParameter) {
                parameters.push_back(target.tensor);
            }
        }
        const Clock::time_point begin = Clock::now();
        m_optimizer->step(parameters);
        synchronize(device);
        times.optimizerNs = std::chrono::nanoseconds(Clock::now() - begin).count();
    }
    call(hooks.atEnd);
}

}  // namespace modulelens::engine
