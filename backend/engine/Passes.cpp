// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Passes.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <chrono>
#include <map>
#include <set>
#include <tuple>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;

class StepTimer : public StepObserver {
public:
    StepTimer(StepTimes& times, c10::Device device) : m_times(times), m_device(device) {}

    void start() { m_last = Clock::now(); }

    void onBegin(const Step& step) override {
        if (step.kind != StepKind::Operator) {
            take(step);
        }
    }
    void onEnd(const Step& step) override {
        if (!m_device.is_cpu()) {
            synchronize(m_device);
        }
        take(step);
        ++m_times.executions[static_cast<std::size_t>(step.id)];
    }

private:
    void take(const Step& step) {
        const Clock::time_point now = Clock::now();
        m_times.ns[static_cast<std::size_t>(step.id)] += (now - m_last).count();
        m_last = now;
    }

    StepTimes& m_times;
    c10::Device m_device;
    Clock::time_point m_last;
};

// Which step is running, for events that come from inside LibTorch.
class StepTracker : public StepObserver {
public:
    void onBegin(const Step& step) override { current = step.id; }
    void onEnd(const Step& step) override { current = step.id; }
    int current = -1;
};

/// Collects what autograd saves while it exists.
class SavedTensorLog {
public:
    SavedTensorLog(const StepTracker& tracker, StepActivations& result) : m_tracker(tracker), m_result(result) {
        s_current = this;
    }
    ~SavedTensorLog() { s_current = nullptr; }
    SavedTensorLog(const SavedTensorLog&) = delete;
    SavedTensorLog& operator=(const SavedTensorLog&) = delete;

    [[nodiscard]] static SavedTensorLog* current() { return s_current; }

    void exclude(const at::Tensor& tensor) { m_excluded.insert(tensor.storage().unsafeGetStorageImpl()); }

    /// The captured storage behind `tensor` was larger than the one that it has here.
    void setCapturedStorage(const at::Tensor& tensor, std::int64_t bytes) {
        std::int64_t& largest = m_capturedBytes[tensor.storage().unsafeGetStorageImpl()];
        largest = std::max(largest, bytes);
    }

    void add(const at::Tensor& tensor) {
        ++m_result.savedTensors;
        if (!tensor.has_storage() || m_excluded.count(tensor.storage().unsafeGetStorageImpl()) != 0) {
            return;
        }
        Kept& kept = m_kept[tensor.storage().unsafeGetStorageImpl()];
        if (!kept.storage) {
            kept.storage = tensor.storage();
            const auto captured = m_capturedBytes.find(kept.storage.unsafeGetStorageImpl());
            m_result.heldBytes += std::max(static_cast<std::int64_t>(kept.storage.nbytes()),
                                           captured == m_capturedBytes.end() ? std::int64_t{0} : captured->second);
        }
        if (!kept.views.insert({tensor.storage_offset(), tensor.sizes().vec(), tensor.strides().vec()}).second) {
            return;
        }
        std::int64_t bytes = static_cast<std::int64_t>(tensor.element_size());
        for (std::int64_t i = 0; i < tensor.dim(); ++i) {
            bytes *= tensor.stride(i) == 0 && tensor.size(i) > 1 ? 1 : tensor.size(i);
        }
        bytes = std::min(bytes, static_cast<std::int64_t>(kept.storage.nbytes()) - kept.bytes);
        kept.bytes += bytes;
        m_result.liveBytes += bytes;
        if (m_tracker.current >= 0) {
            m_result.live[static_cast<std::size_t>(m_tracker.current)] += bytes;
        }
    }

private:
    /// The storage is held, so that its address stays its own.
    struct Kept {
        c10::Storage storage;
        std::set<std::tuple<std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>> views;
        std::int64_t bytes = 0;
    };

    inline static thread_local SavedTensorLog* s_current = nullptr;

    const StepTracker& m_tracker;
    StepActivations& m_result;
    std::set<const c10::StorageImpl*> m_excluded;
    std::map<const c10::StorageImpl*, std::int64_t> m_capturedBytes;
    std::map<const c10::StorageImpl*, Kept> m_kept;
};

class SavedTensorHook : public torch::autograd::SavedVariableHooks {
public:
    void call_pack_hook(const at::Tensor& tensor) override {
        m_saved = tensor.detach();
        if (SavedTensorLog* log = SavedTensorLog::current()) {
            log->add(m_saved);
        }
    }
    at::Tensor call_unpack_hook() override { return m_saved; }

private:
    at::Tensor m_saved;
};

/// The usual autograd engine, but that it shows what is saved for backward.
class ObservingEngine : public torch::autograd::Engine {
public:
    static torch::autograd::Engine& instance() {
        // Never destroyed: autograd threads may outlive main().
        static auto* engine = new ObservingEngine;
        return *engine;
    }
    std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
        return SavedTensorLog::current() != nullptr ? std::make_unique<SavedTensorHook>() : nullptr;
    }
};

}  // namespace

StepTimes timeSteps(CallBinding& binding, const std::atomic<bool>& stop) {
    StepTimes times;
    const std::size_t count = binding.program().plan().steps.size();
    times.ns.resize(count);
    times.executions.resize(count);
    StepTimer timer(times, binding.program().devices().to);
    CallBinding::RunOptions options;
    options.observer = &timer;
    options.beforeRun = [&] { timer.start(); };
    times.runNs = binding.run(stop, options).hostNs;
    return times;
}

StepActivations recordActivations(CallBinding& binding, const std::atomic<bool>& stop) {
    StepActivations activations;
    activations.live.resize(binding.program().plan().steps.size());
    StepTracker tracker;
    std::optional<SavedTensorLog> log;
    CallBinding::RunOptions options;
    options.observer = &tracker;
    options.forceGrad = true;
    options.beforeRun = [&] {
        log.emplace(tracker, activations);
        for (const Leaf& leaf : binding.program().state().all()) {
            log->exclude(leaf.tensor);
        }
        for (const Leaf& leaf : binding.inputLeaves().all()) {
            if (leaf.reference.storageBytes > 0 && leaf.tensor.has_storage()) {
                log->setCapturedStorage(leaf.tensor, leaf.reference.storageBytes);
            }
        }
    };
    {
        const CallBinding::Outcome outcome = binding.run(stop, options);
    }
    return activations;
}

void installAutogradObserver() {
    torch::autograd::set_default_engine_stub(&ObservingEngine::instance);
}

}  // namespace modulelens::engine
