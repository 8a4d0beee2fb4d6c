// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/CallBinding.h"
#include "backend/protocol/WorkerMessages.h"

namespace modulelens::engine {

/// Runs the call forward and backward and compares the gradient of each input and parameter with the captured one. A gradient where the
/// capture has none, or none where it has one, fails. "not_comparable" when the call has no captured gradients. Throws Failure.
[[nodiscard]] protocol::ValidateResult checkGradients(CallBinding& binding, const std::atomic<bool>& stop);

}  // namespace modulelens::engine
