// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/operations/Operations.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::operations {

/// A piece of work for the queue. `work` runs on the queue's thread, may run again (rerun), and returns the sentence that
/// is shown as its result.
struct JobRequest {
    std::string kind;    ///< "validate", "profile", "rebuild", "import", or a caller's own word.
    std::string title;   ///< "Profile encoder.layer.0".
    std::string version; ///< Address or id that the job is about; may be empty.
    std::function<base::Result<std::string>(const OperationContext&)> work;
};

enum class JobState : std::uint8_t { Queued, Running, Done, Failed, Cancelled };

/// "queued", "running", "done", "failed", "cancelled".
[[nodiscard]] std::string jobStateName(JobState state);

/// What is known of a job at one moment.
struct JobSnapshot {
    int id = 0;
    std::string kind;
    std::string title;
    std::string version;
    JobState state = JobState::Queued;
    bool cancelRequested = false; ///< Running, and asked to stop.
    std::string stage;            ///< Of the newest progress message, or empty.
    std::int64_t done = 0;
    std::int64_t total = 0;            ///< 0 when unknown.
    std::string sentence;              ///< Result or error for a person, once finished.
    std::optional<base::Error> error;  ///< When failed or cancelled.
    std::vector<std::string> log;      ///< The newest 500 lines.
    std::chrono::system_clock::time_point queued;
    std::optional<std::chrono::system_clock::time_point> started;
    std::optional<std::chrono::system_clock::time_point> finished;
};

/// Runs jobs one at a time on a background thread of its own, in the order in which they were added, and remembers
/// them. Thread-safe.
class JobQueue {
public:
    /// Told the id of a job that is new, has changed or is gone. Called without a lock held, on the queue's thread or on
    /// the thread that called add(), cancel(), rerun() or clearFinished(); never after the destructor returned.
    using Observer = std::function<void(int id)>;

    explicit JobQueue(Observer observer = {});
    /// Cancels everything and blocks until the running job has ended.
    ~JobQueue();
    JobQueue(const JobQueue&) = delete;
    JobQueue& operator=(const JobQueue&) = delete;

    /// Returns the job's id; ids count from 1.
    int add(JobRequest request);
    /// A queued job ends at once; a running one is asked to stop. False: no such job, or it has ended.
    bool cancel(int id);
    /// Adds the same work as a new job. Absent: no such job.
    std::optional<int> rerun(int id);
    /// Forgets jobs that have ended.
    void clearFinished();

    /// All jobs, oldest first.
    [[nodiscard]] std::vector<JobSnapshot> jobs() const;
    [[nodiscard]] std::optional<JobSnapshot> job(int id) const;

    /// Blocks until nothing is queued or running.
    void waitUntilIdle();

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

/// Jobs for the use cases. `operations` must outlive the queue. `done` (may be empty) receives the typed result on the
/// queue's thread before the job is marked as ended.
[[nodiscard]] JobRequest validateJob(Operations& operations, const std::string& addressOrId, const RunSettings& settings,
                                     std::function<void(const base::Result<ValidationReport>&)> done);
[[nodiscard]] JobRequest profileJob(Operations& operations, const std::string& addressOrId, const RunSettings& settings,
                                    std::function<void(const base::Result<ProfileReport>&)> done);
[[nodiscard]] JobRequest rebuildJob(Operations& operations, const std::string& addressOrId, const RunSettings& settings,
                                    std::function<void(const base::Result<RebuildReport>&)> done);
[[nodiscard]] JobRequest importJob(Operations& operations, const std::filesystem::path& path, const ImportSettings& settings,
                                   std::function<void(const base::Result<registry::ImportReport>&)> done);

} // namespace modulelens::operations
