// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/operations/Operations.h"
#include "backend/operations/Permissions.h"
#include "backend/operations/VersionInput.h"
#include "backend/workerclient/WorkerClient.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>

namespace modulelens::operations {

/// The time limit of a whole operation, spent over its requests. Immutable after construction.
class Deadline {
public:
    explicit Deadline(std::optional<std::chrono::milliseconds> timeout);
    /// At least 1 ms, so that a request that is out of time still fails as Timeout.
    [[nodiscard]] std::optional<std::chrono::milliseconds> remaining() const;

private:
    std::optional<std::chrono::steady_clock::time_point> m_end;
};

/// A worker with the programs that it holds: a few stay loaded, so that validating and then profiling one version loads
/// it once. One job at a time. Thread-safe.
class WorkerJobs {
public:
    /// `permissions` must outlive this object.
    WorkerJobs(std::vector<std::string> command, Permissions& permissions);

    /// Starts the worker in the background.
    void prepare() { m_client.prepare(); }
    [[nodiscard]] base::Result<protocol::InitializeResult> facts(const OperationContext& context);

    /// What a job works with.
    struct Loaded {
        protocol::LoadResult load;
        std::vector<std::string> warnings;    ///< Of the environment and of loading.
        protocol::SourceLoadResult source;    ///< How it came about, and what the source engine says of it.
    };
    using Job = std::function<base::Result<void>(workerclient::WorkerClient& client, const Loaded& loaded,
                                                 const workerclient::RequestContext& request)>;
    /// Waits for its turn, loads the program of `input` unless it is loaded, and runs `job` once. Blocks.
    [[nodiscard]] base::Result<void> run(registry::Registry& registry, const VersionInput& input, const std::string& device,
                                         const OperationContext& context, const Job& job);

    /// The same for several programs at once; `job` gets them in the order of `inputs`. Two inputs of one program and
    /// state that differ in the call are loaded once for each.
    using ManyJob = std::function<base::Result<void>(workerclient::WorkerClient& client, const std::vector<Loaded>& loaded,
                                                     const workerclient::RequestContext& request)>;
    [[nodiscard]] base::Result<void> runAll(registry::Registry& registry, const std::vector<const VersionInput*>& inputs,
                                            const std::string& device, const OperationContext& context, const ManyJob& job);

    /// Waits for its turn and runs `job` once, with nothing loaded for it. Blocks.
    using PlainJob =
        std::function<base::Result<void>(workerclient::WorkerClient& client, const workerclient::RequestContext& request)>;
    [[nodiscard]] base::Result<void> use(const OperationContext& context, const PlainJob& job);
    /// Waits for its turn and has the worker inspect a file; libraries and consent are added here. Blocks.
    [[nodiscard]] base::Result<protocol::InspectResult> inspect(protocol::InspectParams params,
                                                                const OperationContext& context);

private:
    struct Entry {
        std::string key;
        int generation = 0;
        protocol::SourceLoadResult result;
    };

    [[nodiscard]] base::Result<void> inTurn(const OperationContext& context,
                                            const std::function<base::Result<void>(const Deadline&)>& work);
    [[nodiscard]] base::Result<void> takeTurn(const OperationContext& context, const Deadline& deadline);
    void giveTurn();
    /// `copy` above 0 asks for another load of what may be loaded already.
    [[nodiscard]] base::Result<protocol::SourceLoadResult> loaded(registry::Registry& registry, const VersionInput& input,
                                                                  int copy, const std::string& device,
                                                                  const workerclient::RequestContext& request);

    [[nodiscard]] base::Result<protocol::SourceLoadResult> loadProgram(registry::Registry& registry, const VersionInput& input,
                                                                       const std::string& device,
                                                                       const workerclient::RequestContext& request);
    [[nodiscard]] base::Result<protocol::SourceLoadResult> loadSource(registry::Registry& registry, const VersionInput& input,
                                                                      const std::string& device,
                                                                      const workerclient::RequestContext& request);

    Permissions& m_permissions;

    std::mutex m_turnMutex;
    std::condition_variable_any m_turnChanged;
    bool m_busy = false;

    // Touched only by whose turn it is; newest first.
    std::list<Entry> m_entries;

    workerclient::WorkerClient m_client;
};

} // namespace modulelens::operations
