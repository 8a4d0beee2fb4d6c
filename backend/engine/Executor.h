// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/HigherOrder.h"
#include "backend/engine/Plan.h"

#include <ATen/core/stack.h>
#include <atomic>
#include <vector>

namespace modulelens::engine {

/// Sees every dispatcher operator and higher-order operator as it runs; Python's operators on sizes are not shown.
/// Called on the executor's thread.
class StepObserver {
public:
    virtual ~StepObserver() = default;
    /// Before a step's work. Of a higher-order operator: before its sub-graphs run.
    virtual void onBegin(const Step&) {}
    /// After a step's work, its results stored and dead values freed.
    virtual void onEnd(const Step&) {}
};

/// Runs plans, one operator after the other. Confined to its thread; keeps its buffers from run to run.
class Executor : private SubGraphRunner {
public:
    /// Runs `plan` on one value per graph input and returns one per graph output. Values are freed after their last use.
    /// Throws Failure: Cancelled when `stop` becomes true between two operators or two iterations; else the error of the operator that
    /// failed, with its node, its tensors' shapes and its source line.
    std::vector<c10::IValue> run(const Plan& plan, const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop,
                                 StepObserver* observer);

private:
    using Frame = std::vector<c10::IValue>;

    /// Where the loop stands in a Tape.
    struct Position {
        const TapeLoad* load;
        const std::int32_t* store;
        const std::int32_t* dead;
    };

    void runGraph(const PlanGraph& graph, Frame& frame);
    template <bool IsObserved>
    void runSteps(const PlanGraph& graph, Frame& frame);
    template <bool IsObserved>
    void runOperator(const Tape& tape, const TapeStep& packed, const Step& step, Position& position, Frame& frame);
    void runOther(const Step& step, Frame& frame);
    void storeListResults(const Step& step, Frame& frame);
    std::vector<c10::IValue> runSubGraph(const PlanGraph& graph, const std::vector<c10::IValue>& inputs) override;
    void failIfStopped() const;
    [[noreturn]] void rethrowWithStep(const Step& step, std::size_t argumentCount) const;

    torch::jit::Stack m_stack;
    Frame m_frame;
    const std::atomic<bool>* m_stop = nullptr;
    StepObserver* m_observer = nullptr;
};

/// Evaluates one of Python's operators. Throws Failure (Unsupported) for operands that it is not made for.
[[nodiscard]] c10::IValue evaluate(PythonOperator operation, const std::vector<c10::IValue>& operands);

/// Reads an argument from the frame.
[[nodiscard]] c10::IValue load(const ArgumentSource& source, std::vector<c10::IValue>& frame);

}  // namespace modulelens::engine
