// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/graph/OperatorCost.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace modulelens::engine {

/// Counts every dispatcher operator that runs on the constructing thread, and on threads that autograd starts for it, while it
/// is alive. The outermost call that has a formula counts, and nothing inside it; one without a formula counts what the
/// operators that it calls count. One counter at a time in a process. Construct and destroy on one thread.
class OperatorCounter {
public:
    /// An outermost call that ended, with its cost. Never called by two threads at once.
    using Sink = std::function<void(std::string_view name, const graph::OperatorCost& cost)>;

    /// `sink` gets the outermost calls; `innermost`, if given, every counted call that calls no counted one, which is what
    /// counters below autograd see.
    explicit OperatorCounter(Sink sink, Sink innermost = {});
    ~OperatorCounter();
    OperatorCounter(const OperatorCounter&) = delete;
    OperatorCounter& operator=(const OperatorCounter&) = delete;

private:
    struct State;
    std::unique_ptr<State> m_state;
    std::uint64_t m_handle = 0;
};

}  // namespace modulelens::engine
