// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

namespace modulelens::engine {

/// Ends, between two operators, what LibTorch runs as a whole. While one exists, an operator that its thread begins after
/// `stop` became true and request() was called throws std::runtime_error; kernels and interpreters pass that on as they pass
/// on any operator's failure. Costs nothing until then. One exists at a time in a thread. Confined to its thread, request()
/// and withdraw() apart.
class OperatorStop {
public:
    /// `stop` must outlive it.
    explicit OperatorStop(const std::atomic<bool>& stop);
    ~OperatorStop();
    OperatorStop(const OperatorStop&) = delete;
    OperatorStop& operator=(const OperatorStop&) = delete;

    /// Makes threads look at their flags from their next operator on. Thread-safe.
    static void request() noexcept;
    /// Lets them look no more. Thread-safe.
    static void withdraw() noexcept;
};

}  // namespace modulelens::engine
