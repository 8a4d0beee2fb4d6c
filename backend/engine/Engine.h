// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

namespace modulelens::protocol {
struct InitializeParams;
struct InitializeResult;
struct LoadParams;
struct LoadResult;
struct UnloadParams;
struct CallParams;
struct RunResult;
struct ValidateParams;
struct ValidateResult;
struct ProfileParams;
struct ProfileResult;
struct MemoryParams;
struct MemoryResult;
struct BenchmarkParams;
struct BenchmarkResult;
struct CalibrateParams;
struct CalibrateResult;
struct InspectParams;
struct InspectResult;
}  // namespace modulelens::protocol

namespace modulelens::engine {

/// How a caller follows and ends a job.
struct JobContext {
    /// Cooperative: looked at between two operators. The job then fails as Cancelled.
    std::stop_token stop;
    /// Stage, steps done, steps in all (0: unknown). Called on the engine's thread; may be empty.
    std::function<void(std::string_view, std::int64_t, std::int64_t)> progress;
};

/// The program engine: runs exported programs operator by operator through LibTorch's dispatcher. What the jobs mean is
/// written in docs/formats/worker-protocol.md. No function throws. Confined to its thread, since LibTorch keeps the
/// thread count, the modes and the generator by thread.
class Engine {
public:
    Engine();
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Must come first. InvalidArgument: another protocol version. NotFound: no such scratch folder.
    [[nodiscard]] base::Result<protocol::InitializeResult> initialize(const protocol::InitializeParams& params);
    /// Blocks on disk. Corrupt, NotFound, Unsupported (naming every operator that cannot run), EnvironmentMissing, OutOfMemory.
    [[nodiscard]] base::Result<protocol::LoadResult> load(const protocol::LoadParams& params, const JobContext& job);
    /// Reads what only LibTorch can of a file that no tracer wrote. ConsentNeeded, Corrupt, Unsupported.
    [[nodiscard]] base::Result<protocol::InspectResult> inspect(const protocol::InspectParams& params, const JobContext& job);
    /// NotFound: no such handle.
    [[nodiscard]] base::Result<void> unload(const protocol::UnloadParams& params);
    [[nodiscard]] base::Result<protocol::RunResult> run(const protocol::CallParams& params, const JobContext& job);
    [[nodiscard]] base::Result<protocol::ValidateResult> validate(const protocol::ValidateParams& params,
                                                                  const JobContext& job);
    /// Forward and backward; the gradients compared with captured ones.
    [[nodiscard]] base::Result<protocol::ValidateResult> gradients(const protocol::CallParams& params, const JobContext& job);
    /// Of two sides that name one handle, both must name the same call.
    [[nodiscard]] base::Result<protocol::BenchmarkResult> benchmark(const protocol::BenchmarkParams& params,
                                                                    const JobContext& job);
    /// Peaks of a device. EnvironmentMissing, OutOfMemory.
    [[nodiscard]] base::Result<protocol::CalibrateResult> calibrate(const protocol::CalibrateParams& params,
                                                                    const JobContext& job);
    /// All passes, those over backward when asked for; the profile is written to the scratch folder.
    [[nodiscard]] base::Result<protocol::ProfileResult> profile(const protocol::ProfileParams& params, const JobContext& job);
    /// The memory passes alone; a profile with memory columns and a timeline are written to the scratch folder.
    [[nodiscard]] base::Result<protocol::MemoryResult> memory(const protocol::MemoryParams& params, const JobContext& job);

    /// True after a job met a device that answers nothing any more (it then failed as WorkerCrashed). No later job of this
    /// process can use that device: the process should end, so that a new one begins afresh.
    [[nodiscard]] bool isDeviceLost() const;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

}  // namespace modulelens::engine
