// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/MemoryPass.h"

#include <ATen/Functions.h>
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/version.h>
#include <algorithm>
#include <chrono>
#include <mutex>
#include <unordered_map>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;

/// Notes every allocation and release on one kind of device, by this thread and the autograd threads that work for it.
class AllocationLog : public c10::MemoryReportingInfoBase {
public:
    explicit AllocationLog(c10::DeviceType device) : m_device(device) {}

    void reportMemoryUsage(void* pointer, std::int64_t bytes, std::size_t, std::size_t, c10::Device device) override {
        const std::lock_guard lock(m_mutex);
        if (device.type() == m_device) {
            m_pointers.push_back(pointer);
            m_events.push_back({(Clock::now() - m_start).count(), bytes, 0, row, 0, phase});
        }
    }
    bool memoryProfilingEnabled() const override { return true; }

    /// The log begins now.
    void start() {
        m_events.clear();
        m_pointers.clear();
        m_start = Clock::now();
    }
    [[nodiscard]] std::size_t size() const { return m_events.size(); }
    /// Gives the events since `first` to `row`.
    void assign(std::size_t first, int newRow) {
        for (std::size_t i = first; i < m_events.size(); ++i) {
            m_events[i].row = newRow;
        }
    }
    [[nodiscard]] MemoryHistory history(std::size_t rowCount) const;

    int row = 0;                             ///< Who is at work.
    MemoryPhase phase = MemoryPhase::Forward;

private:
    std::mutex m_mutex;
    c10::DeviceType m_device;
    Clock::time_point m_start;
    std::vector<MemoryEvent> m_events;
    std::vector<void*> m_pointers;           ///< One for each event.
};

MemoryHistory AllocationLog::history(std::size_t rowCount) const {
    MemoryHistory history;
    history.atPeak.resize(rowCount);
    history.highWater.resize(rowCount);
    std::unordered_map<void*, MemoryEvent> alive;
    std::int64_t bytes = 0;
    int blocks = 0;
    for (std::size_t i = 0; i < m_events.size(); ++i) {
        MemoryEvent event = m_events[i];
        if (event.bytes > 0) {
            event.block = blocks++;
            alive[m_pointers[i]] = event;
        } else {
            const auto found = alive.find(m_pointers[i]);
            if (found == alive.end()) {
                continue;
            }
            event.bytes = -found->second.bytes;
            event.block = found->second.block;
            alive.erase(found);
        }
        bytes += event.bytes;
        event.alive = bytes;
        if (bytes > history.peakBytes) {
            history.peakBytes = bytes;
            history.peakEvent = history.events.size();
        }
        std::int64_t& highest = history.highWater[static_cast<std::size_t>(event.row)];
        highest = std::max(highest, bytes);
        history.events.push_back(event);
    }
    std::unordered_map<int, const MemoryEvent*> atPeak;
    for (std::size_t i = 0; history.peakBytes > 0 && i <= history.peakEvent; ++i) {
        const MemoryEvent& event = history.events[i];
        if (event.bytes > 0) {
            atPeak[event.block] = &event;
        } else {
            atPeak.erase(event.block);
        }
    }
    for (const auto& [block, event] : atPeak) {
        history.atPeak[static_cast<std::size_t>(event->row)] += event->bytes;
    }
    return history;
}

/// What the device's own allocator and its driver say of one run.
class DeviceCounters {
public:
    explicit DeviceCounters(c10::Device device)
        : m_index(device.has_index() ? device.index() : c10::DeviceIndex{0}),
          m_allocator(device.is_cpu() ? nullptr : dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()))) {
        if (m_allocator != nullptr) {
            m_allocator->resetPeakStats(m_index);
        }
    }
    void readInto(MemoryHistory& history) const {
        if (m_allocator == nullptr) {
            return;
        }
        const auto aggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
        history.reservedPeakBytes = m_allocator->getDeviceStats(m_index).reserved_bytes[aggregate].peak;
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10
        try {
            const auto [freeBytes, totalBytes] = m_allocator->getMemoryInfo(m_index);
            history.deviceUsedBytes = static_cast<std::int64_t>(totalBytes - freeBytes);
        } catch (const c10::Error&) {
            // The allocator has no driver to ask; the field stays unknown.
            history.deviceUsedBytes.reset();
        }
#endif
    }

private:
    c10::DeviceIndex m_index;
    c10::DeviceAllocator* m_allocator;
};

/// The log in force while it exists.
class Recording {
public:
    Recording(const std::shared_ptr<AllocationLog>& log, c10::Device device)
        : m_guard(c10::DebugInfoKind::PROFILER_STATE, log) {
        // A log that stays empty must not be taken for a run without allocations.
        (void)at::empty({1}, at::TensorOptions().device(device));
        if (log->size() == 0) {
            throw Failure({base::ErrorCode::Unsupported,
                           "the allocator of " + device.str() + " does not report allocations, so there is no history", ""});
        }
        log->start();
    }

private:
    c10::DebugInfoGuard m_guard;
};

class RowTracker : public StepObserver {
public:
    explicit RowTracker(AllocationLog& log) : m_log(log) {}
    void onBegin(const Step& step) override { m_log.row = step.id; }
    void onEnd(const Step& step) override { m_log.row = step.id; }

private:
    AllocationLog& m_log;
};

}  // namespace

std::int64_t MemoryHistory::peakBeforeOptimizer() const {
    std::int64_t peak = 0;
    for (const MemoryEvent& event : events) {
        if (event.phase != MemoryPhase::Optimizer) {
            peak = std::max(peak, event.alive);
        }
    }
    return peak;
}

MemoryHistory trackMemory(CallBinding& binding, const std::atomic<bool>& stop) {
    const c10::Device device = binding.program().devices().to;
    const DeviceCounters counters(device);
    const auto log = std::make_shared<AllocationLog>(device.type());
    RowTracker tracker(*log);
    std::optional<Recording> recording;
    CallBinding::RunOptions options;
    options.observer = &tracker;
    options.beforeRun = [&] { recording.emplace(log, device); };
    options.afterRun = [&] { recording.reset(); };
    (void)binding.run(stop, options);
    recording.reset();
    // A program without steps does nothing, but its row must exist.
    MemoryHistory history = log->history(std::max<std::size_t>(binding.program().plan().steps.size(), 1));
    counters.readInto(history);
    return history;
}

MemoryHistory trackTraining(TrainingRun& run, const std::atomic<bool>& stop) {
    const c10::Device device = run.binding().program().devices().to;
    const DeviceCounters counters(device);
    const auto log = std::make_shared<AllocationLog>(device.type());
    const TrainingRows& rows = run.rows();
    RowTracker tracker(*log);
    SequenceMarks marks;
    std::optional<Recording> recording;
    std::optional<BackwardNodes> nodes;
    std::size_t begun = 0;
    TrainingRun::Hooks hooks;
    hooks.marks = &marks;
    hooks.observer = &tracker;
    const auto enter = [&](MemoryPhase phase, int row) {
        log->phase = phase;
        log->row = row;
    };
    hooks.beforeForward = [&] { recording.emplace(log, device); };
    hooks.beforeLoss = [&] { enter(MemoryPhase::Loss, rows.loss()); };
    hooks.beforeBackward = [&] {
        enter(MemoryPhase::Backward, rows.summation());
        nodes.emplace(
            run, marks,
            [&](int row) {
                log->row = row;
                begun = log->size();
            },
            [&](int row) {
                log->assign(begun, row);
                log->row = rows.summation();
            });
    };
    hooks.beforeOptimizer = [&] {
        nodes.reset();
        enter(MemoryPhase::Optimizer, rows.optimizer());
    };
    hooks.atEnd = [&] { recording.reset(); };
    (void)run.run(stop, hooks);
    recording.reset();
    MemoryHistory history = log->history(rows.count());
    counters.readInto(history);
    return history;
}

}  // namespace modulelens::engine
