// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Executor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace modulelens::engine {

class TrainingRun;

/// What the work of a training step is counted under: a row for each step of the plan (its own work and that of the autograd
/// nodes that it recorded), one for each module whose parameters get gradients, and a few for what belongs to no operator.
/// Immutable after construction.
class TrainingRows {
public:
    TrainingRows(std::size_t stepCount, std::vector<std::string> owners)
        : m_stepCount(static_cast<int>(stepCount)), m_owners(std::move(owners)) {}

    [[nodiscard]] bool isStep(int row) const { return row >= 0 && row < m_stepCount; }
    /// Giving gradients to the parameters of owners()[owner].
    [[nodiscard]] int gradientsOf(int owner) const { return m_stepCount + owner; }
    /// What makes one number of the outputs, and its gradient.
    [[nodiscard]] int loss() const { return m_stepCount + static_cast<int>(m_owners.size()); }
    /// Adding up the gradients of a value that several operators read, between two autograd nodes.
    [[nodiscard]] int summation() const { return loss() + 1; }
    [[nodiscard]] int optimizer() const { return loss() + 2; }
    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(loss()) + 3; }
    /// Modules, in the order of their first gradient target; "" is the program itself and its inputs.
    [[nodiscard]] const std::vector<std::string>& owners() const { return m_owners; }

private:
    int m_stepCount = 0;
    std::vector<std::string> m_owners;
};

/// Notes with which sequence number of autograd each step of a run begins, so that a node of the backward pass can be given
/// to the step that recorded it. Confined to its thread.
class SequenceMarks : public StepObserver {
public:
    void onBegin(const Step& step) override { mark(step.id); }
    void onEnd(const Step& step) override {
        // What follows inside a higher-order operator is its own work, not that of the last step of its sub-graph.
        if (step.kind != StepKind::Operator) {
            mark(step.id);
        }
    }
    /// What autograd records from now on belongs to `row`.
    void mark(int row);
    /// The row that recorded the node, or -1.
    [[nodiscard]] int rowOf(std::int64_t sequence) const;
    void clear() { m_marks.clear(); }

private:
    std::vector<std::pair<std::uint64_t, int>> m_marks;
};

/// While it exists, follows the autograd nodes of a backward pass. One exists at a time. `begin` and `end` are called on the
/// thread that runs the node, while the thread that owns this object waits. A node that gives a leaf its gradient knows its
/// row only at its end; at its beginning its row is that of `TrainingRows::summation()`.
class BackwardNodes {
public:
    using Callback = std::function<void(int row)>;

    BackwardNodes(const TrainingRun& run, const SequenceMarks& marks, Callback begin, Callback end);
    ~BackwardNodes();
    BackwardNodes(const BackwardNodes&) = delete;
    BackwardNodes& operator=(const BackwardNodes&) = delete;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
    std::uint64_t m_callback = 0;
};

}  // namespace modulelens::engine
