// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/BackwardPass.h"

#include "backend/engine/Modes.h"
#include "backend/engine/OperatorCounter.h"
#include "backend/graph/CostLedger.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t since(Clock::time_point start) {
    return std::chrono::nanoseconds(Clock::now() - start).count();
}

/// While it exists, gives the wall time of every operator call that no other operator made, by this thread and the autograd
/// threads that work for it. One exists at a time.
class CallTimes {
public:
    using Sink = std::function<void(std::int64_t ns)>;

    explicit CallTimes(Sink sink) : m_sink(std::move(sink)) {
        s_current = this;
        m_callback = at::addThreadLocalCallback(
            at::RecordFunctionCallback(&CallTimes::onStart, &CallTimes::onStop).scopes({at::RecordScope::FUNCTION}));
    }
    ~CallTimes() {
        at::removeCallback(m_callback);
        s_current = nullptr;
    }
    CallTimes(const CallTimes&) = delete;
    CallTimes& operator=(const CallTimes&) = delete;

private:
    struct Call : at::ObserverContext {
        Clock::time_point begun = Clock::now();
    };

    static std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction& function) {
        // The autograd engine wraps each of its nodes in a range that is no operator.
        if (s_current == nullptr || std::string_view(function.name()).starts_with("autograd::engine::")) {
            return nullptr;
        }
        ++s_current->m_depth;
        return std::make_unique<Call>();
    }

    static void onStop(const at::RecordFunction&, at::ObserverContext* context) {
        if (s_current != nullptr && context != nullptr && --s_current->m_depth == 0) {
            s_current->m_sink(since(static_cast<const Call*>(context)->begun));
        }
    }

    inline static CallTimes* s_current = nullptr;

    Sink m_sink;
    int m_depth = 0;
    at::CallbackHandle m_callback = 0;
};

void waitFor(c10::Device device) {
    if (!device.is_cpu()) {
        synchronize(device);
    }
}

}  // namespace

void SequenceMarks::mark(int row) {
    m_marks.emplace_back(at::sequence_number::peek(), row);
}

int SequenceMarks::rowOf(std::int64_t sequence) const {
    if (sequence < 0) {
        return -1;
    }
    const auto after =
        std::upper_bound(m_marks.begin(), m_marks.end(), static_cast<std::uint64_t>(sequence),
                         [](std::uint64_t value, const std::pair<std::uint64_t, int>& mark) { return value < mark.first; });
    return after == m_marks.begin() ? -1 : std::prev(after)->second;
}

struct BackwardNodes::Data {
    const TrainingRun& run;
    const SequenceMarks& marks;
    Callback begin;
    Callback end;

    // Callbacks are plain functions. LibTorch gives them to autograd's threads as well, so this is not thread-local.
    inline static Data* s_current = nullptr;

    struct Node : at::ObserverContext {
        explicit Node(int owner) : row(owner) {}
        int row;
    };

    static std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction& function) {
        if (s_current == nullptr) {
            return nullptr;
        }
        auto node = std::make_unique<Node>(s_current->marks.rowOf(function.seqNr()));
        s_current->begin(node->row >= 0 ? node->row : s_current->run.rows().summation());
        return node;
    }

    static void onStop(const at::RecordFunction&, at::ObserverContext* context) {
        if (s_current != nullptr && context != nullptr) {
            const int row = static_cast<const Node*>(context)->row;
            s_current->end(row >= 0 ? row : s_current->run.lastAccumulatedRow());
        }
    }
};

BackwardNodes::BackwardNodes(const TrainingRun& run, const SequenceMarks& marks, Callback begin, Callback end)
    : m_data(new Data{run, marks, std::move(begin), std::move(end)}) {
    Data::s_current = m_data.get();
    m_callback = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&Data::onStart, &Data::onStop).scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

BackwardNodes::~BackwardNodes() {
    at::removeCallback(m_callback);
    Data::s_current = nullptr;
}

BackwardTimes timeBackward(TrainingRun& run, const std::atomic<bool>& stop) {
    BackwardTimes times;
    times.ns.resize(run.rows().count());
    const c10::Device device = run.binding().program().devices().to;
    SequenceMarks marks;
    Clock::time_point begun;
    std::optional<BackwardNodes> nodes;
    TrainingRun::Hooks hooks;
    hooks.marks = &marks;
    hooks.beforeBackward = [&] {
        nodes.emplace(
            run, marks, [&](int) { begun = Clock::now(); },
            [&](int row) {
                waitFor(device);
                times.ns[static_cast<std::size_t>(row)] += since(begun);
            });
    };
    hooks.beforeOptimizer = [&] { nodes.reset(); };
    times.wall = run.run(stop, hooks);
    times.ns[static_cast<std::size_t>(run.rows().optimizer())] = times.wall.optimizerNs;
    return times;
}

std::int64_t timeSummation(TrainingRun& run, const std::atomic<bool>& stop) {
    std::int64_t ns = 0;
    bool isInNode = false;
    const c10::Device device = run.binding().program().devices().to;
    SequenceMarks marks;
    std::optional<BackwardNodes> nodes;
    std::optional<CallTimes> calls;
    TrainingRun::Hooks hooks;
    hooks.marks = &marks;
    hooks.beforeBackward = [&] {
        nodes.emplace(run, marks, [&](int) { isInNode = true; }, [&](int) { isInNode = false; });
        calls.emplace([&](std::int64_t callNs) {
            waitFor(device);
            ns += isInNode ? 0 : callNs;
        });
    };
    hooks.beforeOptimizer = [&] {
        calls.reset();
        nodes.reset();
    };
    (void)run.run(stop, hooks);
    return ns;
}

BackwardCosts countBackward(TrainingRun& run, const std::atomic<bool>& stop) {
    BackwardCosts costs;
    costs.flops.resize(run.rows().count());
    costs.bytes.resize(run.rows().count());
    graph::CostLedger ledger;
    // A node that gives a leaf its gradient knows its row at its end, so costs wait until then.
    struct Sums {
        std::optional<std::int64_t> flops;
        std::optional<std::int64_t> bytes;
    };
    Sums waiting;
    const auto settle = [&](int row) {
        const auto add = [row](std::vector<std::optional<std::int64_t>>& to, std::optional<std::int64_t>& from) {
            if (from) {
                std::optional<std::int64_t>& sum = to[static_cast<std::size_t>(row)];
                sum = sum.value_or(0) + *from;
                from.reset();
            }
        };
        add(costs.flops, waiting.flops);
        add(costs.bytes, waiting.bytes);
    };
    const int summation = run.rows().summation();
    SequenceMarks marks;
    std::optional<BackwardNodes> nodes;
    std::optional<OperatorCounter> calls;
    TrainingRun::Hooks hooks;
    hooks.marks = &marks;
    hooks.beforeBackward = [&] {
        nodes.emplace(run, marks, [&](int) { settle(summation); }, [&](int row) { settle(row); });
        calls.emplace([&](std::string_view name, const graph::OperatorCost& cost) {
            costs.totalFlops += cost.flops;
            if (cost.coverage != graph::Coverage::Unknown || cost.flops > 0) {
                waiting.flops = waiting.flops.value_or(0) + cost.flops;
            }
            if (cost.bytesMoved) {
                waiting.bytes = waiting.bytes.value_or(0) + *cost.bytesMoved;
            }
            ledger.add(name, cost);
        });
    };
    hooks.beforeOptimizer = [&] {
        calls.reset();
        nodes.reset();
        settle(summation);
    };
    (void)run.run(stop, hooks);
    costs.coverage = {ledger.namesOf(graph::Coverage::Counted), ledger.namesOf(graph::Coverage::ZeroByDefinition),
                      ledger.namesOf(graph::Coverage::Unknown)};
    return costs;
}

}  // namespace modulelens::engine
