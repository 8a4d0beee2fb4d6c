// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

namespace modulelens::engine {
class Engine;
}
namespace modulelens::rpc {
class Dispatcher;
}

namespace modulelens::worker {

class Faults;

/// Adds the protocol's methods to `dispatcher`: typed parameters in, the engine's answer out. All handlers run on the
/// dispatcher's executor thread. `engine`, `faults` and `dispatcher` must outlive the last request.
void addMethods(rpc::Dispatcher& dispatcher, engine::Engine& engine, Faults& faults);

}  // namespace modulelens::worker
