// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/protocol/ForeignMessages.h"
#include "backend/protocol/WorkerMessages.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::protocol {
struct BenchmarkParams;
struct BenchmarkResult;
struct CalibrateParams;
struct CalibrateResult;
struct MemoryParams;
struct MemoryResult;
struct CodeParams;
struct CodeResult;
struct SourceLoadParams;
struct SourceLoadResult;
}  // namespace modulelens::protocol

namespace modulelens::workerclient {

/// How a worker is started.
struct LaunchCommand {
    std::vector<std::string> arguments;  ///< Program and arguments; "ssh", "host", "modulelens-worker" is as good as a path.
    std::string scratchFolder;  ///< Created when absent; emptied of this client's files at the end.
    std::optional<int> threads;
    /// How long a start may take while no request in wait has a time limit of its own.
    std::chrono::milliseconds startLimit = std::chrono::minutes(2);
};

/// What a caller gives along with a request.
struct RequestContext {
    std::stop_token stop;
    std::function<void(const protocol::Progress&)> progress;  ///< Called on the client's own thread.
    std::optional<std::chrono::milliseconds> timeout;
    std::function<void(const std::string&)> log;   ///< What the worker logs or prints meanwhile; the client's own thread.
};

/// One worker process and the requests under way in it. The process starts with the first request and again after it
/// died. A request completes exactly once: result, error, Cancelled, Timeout or WorkerCrashed (signal or exit code and the
/// last stderr lines in the message). Cancelling is cooperative; a worker that has not answered two seconds later is
/// killed. Blocking calls, never on the GUI thread. Thread-safe; requests of several threads are queued by the worker.
class WorkerClient {
public:
    explicit WorkerClient(LaunchCommand command);
    /// Blocks until the worker has ended (shutdown, then kill after two seconds); open requests complete as Cancelled.
    ~WorkerClient();
    WorkerClient(const WorkerClient&) = delete;
    WorkerClient& operator=(const WorkerClient&) = delete;

    /// Starts the worker in the background, so that it gets ready while the caller does something else. Does not block.
    void prepare();

    /// EnvironmentMissing: the program cannot be started (the message names it).
    [[nodiscard]] base::Result<protocol::InitializeResult> initialize(const RequestContext& context);
    /// Handles belong to one process life: generation() tells whether the worker was restarted since.
    [[nodiscard]] base::Result<protocol::LoadResult> load(const protocol::LoadParams& params, const RequestContext& context);
    /// Of the source engine: which code loading would run, and loading.
    [[nodiscard]] base::Result<protocol::CodeResult> code(const protocol::CodeParams& params, const RequestContext& context);
    [[nodiscard]] base::Result<protocol::SourceLoadResult> load(const protocol::SourceLoadParams& params,
                                                                const RequestContext& context);
    [[nodiscard]] base::Result<protocol::InspectResult> inspect(const protocol::InspectParams& params,
                                                                const RequestContext& context);
    [[nodiscard]] base::Result<void> unload(int handle, const RequestContext& context);
    [[nodiscard]] base::Result<protocol::RunResult> run(const protocol::CallParams& params, const RequestContext& context);
    [[nodiscard]] base::Result<protocol::ValidateResult> validate(const protocol::ValidateParams& params,
                                                                  const RequestContext& context);
    [[nodiscard]] base::Result<protocol::ProfileResult> profile(const protocol::ProfileParams& params,
                                                                const RequestContext& context);
    [[nodiscard]] base::Result<protocol::ProfileResult> memory(const protocol::ProfileParams& params,
                                                               const RequestContext& context);
    [[nodiscard]] base::Result<protocol::BenchmarkResult> benchmark(const protocol::BenchmarkParams& params,
                                                                    const RequestContext& context);
    [[nodiscard]] base::Result<protocol::CalibrateResult> calibrate(const protocol::CalibrateParams& params,
                                                                    const RequestContext& context);

    [[nodiscard]] base::Result<protocol::MemoryResult> memory(const protocol::MemoryParams& params,
                                                              const RequestContext& context);
    [[nodiscard]] base::Result<protocol::ValidateResult> gradients(const protocol::CallParams& params,
                                                                   const RequestContext& context);

    /// Counts worker starts.
    [[nodiscard]] int generation() const;
    /// Process id of the running worker, or 0.
    [[nodiscard]] std::int64_t processId() const;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

}  // namespace modulelens::workerclient
