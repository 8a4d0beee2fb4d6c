// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/BackwardNodes.h"
#include "backend/engine/CallBinding.h"
#include "backend/engine/Optimizer.h"

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace modulelens::engine {

/// A tensor that gets a gradient: a parameter by its name, or an input by its JSON Pointer.
struct GradientTarget {
    std::string name;
    bool isParameter = false;
    at::Tensor tensor;
    int owner = 0;                           ///< In TrainingRows::owners().
};

/// Wall times of the parts of one training step.
struct TrainingTimes {
    std::int64_t forwardNs = 0;
    std::int64_t backwardNs = 0;
    std::int64_t optimizerNs = 0;
    [[nodiscard]] std::int64_t stepNs() const { return forwardNs + backwardNs + optimizerNs; }
};

/// Runs a bound call with autograd on, then backward, then the optimizer if there is one. What is differentiated is the sum of
/// the outputs, or, when the capture has gradients of the outputs, the outputs with those. Gradients begin undefined in
/// every run. Nothing of it is left in the program afterwards: neither gradients nor hooks, and the weights are restored with
/// the binding's next run or its end. Confined to its thread.
class TrainingRun {
public:
    /// The binding must outlive it. Throws Failure (NotFound, Corrupt) when a captured gradient's data is missing.
    explicit TrainingRun(CallBinding& binding);
    ~TrainingRun();
    TrainingRun(const TrainingRun&) = delete;
    TrainingRun& operator=(const TrainingRun&) = delete;

    /// Parameters and inputs that require a gradient, each tensor once. Empty: there is nothing to differentiate.
    [[nodiscard]] const std::vector<GradientTarget>& targets() const { return m_targets; }
    [[nodiscard]] const TrainingRows& rows() const { return m_rows; }
    [[nodiscard]] CallBinding& binding() const { return m_binding; }
    /// "sum of the outputs" or "captured gradients of the outputs".
    [[nodiscard]] const char* lossName() const;

    /// A step with `optimizer`, which must outlive this object; null for none. Its
    /// state goes on from run to run, the parameters begin anew in each.
    void setOptimizer(Optimizer* optimizer) { m_optimizer = optimizer; }

    struct Hooks {
        SequenceMarks* marks = nullptr;      ///< Observes the forward pass.
        StepObserver* observer = nullptr;    ///< As well; called after the marks.
        std::function<void()> beforeForward;
        std::function<void()> beforeLoss;
        std::function<void()> beforeBackward;
        std::function<void()> beforeOptimizer;  ///< After backward, also when there is no optimizer.
        std::function<void()> atEnd;
    };
    /// Leaves the gradients in the targets until the next run or clearGradients(). Throws Failure: Unsupported when nothing can
    /// be differentiated, Cancelled, or what made the forward or backward pass fail.
    TrainingTimes run(const std::atomic<bool>& stop, const Hooks& hooks);

    void clearGradients();

    /// The row of the leaf that last got its gradient. For BackwardNodes.
    [[nodiscard]] int lastAccumulatedRow() const { return m_rows.gradientsOf(m_lastOwner); }

private:
    class AccumulationHook;
    class InstalledHooks;

    void readSeeds();
    void backward(std::vector<c10::IValue>& outputs, const std::atomic<bool>& stop, const Hooks& hooks, TrainingTimes& times);
    void makeRoots(const std::vector<c10::IValue>& outputs, std::vector<at::Tensor>& roots,
                   std::vector<at::Tensor>& gradients) const;

    CallBinding& m_binding;
    std::map<std::string, at::Tensor> m_seeds;   ///< Captured gradients of the outputs, by pointer.
    std::vector<GradientTarget> m_targets;
    TrainingRows m_rows;
    Optimizer* m_optimizer = nullptr;
    int m_lastOwner = 0;
};

}  // namespace modulelens::engine
