// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/JobQueue.h"

#include "backend/base/Guarded.h"
#include "backend/base/Mutex.h"
#include "backend/operations/Sentences.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <thread>

namespace modulelens::operations {

namespace {

constexpr std::size_t kMaximumLogLines = 500;

std::string lastSegment(const std::string& module) {
    const std::size_t dot = module.rfind('.');
    return dot == std::string::npos ? module : module.substr(dot + 1);
}

/// "Profile bert::encoder.layer.0@v1", or the title with the module's last segment when the address is long.
std::string titleFor(const std::string& verb, const std::string& addressOrId) {
    constexpr std::size_t kLongest = 60;
    return verb + ' ' + (addressOrId.size() <= kLongest ? addressOrId : lastSegment(addressOrId));
}

} // namespace

std::string jobStateName(JobState state) {
    switch (state) {
        case JobState::Queued:
            return "queued";
        case JobState::Running:
            return "running";
        case JobState::Done:
            return "done";
        case JobState::Failed:
            return "failed";
        case JobState::Cancelled:
            return "cancelled";
    }
    return "failed";
}

struct JobQueue::Data {
    struct Job {
        JobRequest request;
        JobSnapshot snapshot;
        std::stop_source stop;
    };

    Observer observer;
    base::Mutex mutex;
    std::condition_variable_any changed;
    std::map<int, Job> jobs ML_GUARDED_BY(mutex);
    int nextId ML_GUARDED_BY(mutex) = 1;
    bool ending ML_GUARDED_BY(mutex) = false;
    std::thread thread ML_GUARDED_BY(mutex);

    void notify(int id) {
        changed.notify_all();
        if (observer) {
            static_cast<void>(base::guarded("job observer", [&] { observer(id); }));
        }
    }

    int firstInLocked(JobState state) ML_REQUIRES(mutex) {
        const auto found =
            std::find_if(jobs.begin(), jobs.end(), [state](const auto& entry) { return entry.second.snapshot.state == state; });
        return found == jobs.end() ? 0 : found->first;
    }

    /// Changes a job under the lock, then tells the observer.
    template <class Change>
    void update(int id, Change change) {
        {
            const base::MutexLock lock(mutex);
            const auto found = jobs.find(id);
            if (found == jobs.end()) {
                return;
            }
            change(found->second.snapshot);
        }
        notify(id);
    }

    void serve() {
        while (const int id = waitForJob()) {
            run(id);
        }
    }

    /// 0 when the queue ends.
    int waitForJob() {
        const base::MutexLock lock(mutex);
        while (true) {
            if (ending) {
                return 0;
            }
            if (const int id = firstInLocked(JobState::Queued)) {
                return id;
            }
            changed.wait(mutex);
        }
    }

    OperationContext contextFor(int id, std::stop_token stop) {
        OperationContext context;
        context.stop = std::move(stop);
        context.progress = [this, id](const protocol::Progress& progress) {
            update(id, [&](JobSnapshot& job) {
                job.stage = progress.stage;
                job.done = progress.done;
                job.total = progress.total;
            });
        };
        context.log = [this, id](const std::string& line) {
            update(id, [&](JobSnapshot& job) {
                job.log.push_back(line);
                if (job.log.size() > kMaximumLogLines) {
                    job.log.erase(job.log.begin());
                }
            });
        };
        return context;
    }

    void run(int id) {
        std::function<base::Result<std::string>(const OperationContext&)> work;
        std::stop_token stop;
        bool starts = false;
        update(id, [&](JobSnapshot& job) ML_REQUIRES(mutex) {
            // It may have been cancelled since it was found.
            if (job.state == JobState::Queued) {
                starts = true;
                job.state = JobState::Running;
                job.started = std::chrono::system_clock::now();
                work = jobs.at(id).request.work;
                stop = jobs.at(id).stop.get_token();
            }
        });
        if (!starts) {
            return;
        }
        const OperationContext context = contextFor(id, stop);
        const base::Result<std::string> result =
            base::guarded("job", [&]() -> base::Result<std::string> { return work(context); });
        update(id, [&](JobSnapshot& job) {
            job.finished = std::chrono::system_clock::now();
            if (result) {
                job.state = JobState::Done;
                job.sentence = *result;
            } else {
                job.error = result.error();
                job.state = result.error().code == base::ErrorCode::Cancelled ? JobState::Cancelled : JobState::Failed;
                job.sentence = errorSentence(result.error());
            }
        });
    }

    int add(JobRequest request) {
        int id = 0;
        {
            const base::MutexLock lock(mutex);
            id = nextId++;
            Job& job = jobs[id];
            job.snapshot.id = id;
            job.snapshot.kind = request.kind;
            job.snapshot.title = request.title;
            job.snapshot.version = request.version;
            job.snapshot.queued = std::chrono::system_clock::now();
            job.request = std::move(request);
            if (!thread.joinable()) {
                thread = std::thread([this] { serve(); });
            }
        }
        notify(id);
        return id;
    }
};

JobQueue::JobQueue(Observer observer) : m_data(std::make_unique<Data>()) {
    m_data->observer = std::move(observer);
}

JobQueue::~JobQueue() {
    std::thread thread;
    {
        const base::MutexLock lock(m_data->mutex);
        m_data->ending = true;
        for (auto& [id, job] : m_data->jobs) {
            job.stop.request_stop();
        }
        thread = std::move(m_data->thread);
    }
    m_data->changed.notify_all();
    if (thread.joinable()) {
        thread.join();
    }
}

int JobQueue::add(JobRequest request) {
    return m_data->add(std::move(request));
}

bool JobQueue::cancel(int id) {
    std::optional<std::stop_source> running;
    {
        const base::MutexLock lock(m_data->mutex);
        const auto found = m_data->jobs.find(id);
        if (found == m_data->jobs.end()) {
            return false;
        }
        Data::Job& job = found->second;
        if (job.snapshot.state == JobState::Queued) {
            job.snapshot.state = JobState::Cancelled;
            job.snapshot.finished = std::chrono::system_clock::now();
            job.snapshot.error = base::Error{base::ErrorCode::Cancelled, "the job was cancelled before it began", {}};
            job.snapshot.sentence = errorSentence(*job.snapshot.error);
        } else if (job.snapshot.state == JobState::Running) {
            job.snapshot.cancelRequested = true;
            running = job.stop;
        } else {
            return false;
        }
    }
    if (running) {
        running->request_stop();
    }
    m_data->notify(id);
    return true;
}

std::optional<int> JobQueue::rerun(int id) {
    JobRequest request;
    {
        const base::MutexLock lock(m_data->mutex);
        const auto found = m_data->jobs.find(id);
        if (found == m_data->jobs.end()) {
            return std::nullopt;
        }
        request = found->second.request;
    }
    return m_data->add(std::move(request));
}

void JobQueue::clearFinished() {
    std::vector<int> gone;
    {
        const base::MutexLock lock(m_data->mutex);
        for (const auto& [id, job] : m_data->jobs) {
            if (job.snapshot.finished) {
                gone.push_back(id);
            }
        }
        for (const int id : gone) {
            m_data->jobs.erase(id);
        }
    }
    for (const int id : gone) {
        m_data->notify(id);
    }
}

std::vector<JobSnapshot> JobQueue::jobs() const {
    const base::MutexLock lock(m_data->mutex);
    std::vector<JobSnapshot> snapshots;
    for (const auto& [id, job] : m_data->jobs) {
        snapshots.push_back(job.snapshot);
    }
    return snapshots;
}

std::optional<JobSnapshot> JobQueue::job(int id) const {
    const base::MutexLock lock(m_data->mutex);
    const auto found = m_data->jobs.find(id);
    return found == m_data->jobs.end() ? std::nullopt : std::optional(found->second.snapshot);
}

void JobQueue::waitUntilIdle() {
    const base::MutexLock lock(m_data->mutex);
    while (m_data->firstInLocked(JobState::Queued) != 0 || m_data->firstInLocked(JobState::Running) != 0) {
        m_data->changed.wait(m_data->mutex);
    }
}

namespace {

/// The sentence of a result after `done` was told of it.
template <class Report, class Sentence>
base::Result<std::string> concluded(const base::Result<Report>& report,
                                    const std::function<void(const base::Result<Report>&)>& done, Sentence sentence) {
    if (done) {
        done(report);
    }
    if (!report) {
        return report.error();
    }
    return sentence(*report);
}

} // namespace

JobRequest validateJob(Operations& operations, const std::string& addressOrId, const RunSettings& settings,
                       std::function<void(const base::Result<ValidationReport>&)> done) {
    return {"validate", titleFor("Validate", addressOrId), addressOrId,
            [&operations, addressOrId, settings, done = std::move(done)](const OperationContext& context) {
                return concluded(operations.validate(addressOrId, settings, context), done, verdictSentence);
            }};
}

JobRequest profileJob(Operations& operations, const std::string& addressOrId, const RunSettings& settings,
                      std::function<void(const base::Result<ProfileReport>&)> done) {
    return {"profile", titleFor("Profile", addressOrId), addressOrId,
            [&operations, addressOrId, settings, done = std::move(done)](const OperationContext& context) {
                return concluded(operations.profile(addressOrId, settings, context), done, profileSentence);
            }};
}

JobRequest rebuildJob(Operations& operations, const std::string& addressOrId, const RunSettings& settings,
                      std::function<void(const base::Result<RebuildReport>&)> done) {
    return {"rebuild", titleFor("Rebuild", addressOrId), addressOrId,
            [&operations, addressOrId, settings, done = std::move(done)](const OperationContext& context) {
                return concluded(operations.rebuild(addressOrId, settings, context), done, rebuildSentence);
            }};
}

JobRequest importJob(Operations& operations, const std::filesystem::path& path, const ImportSettings& settings,
                     std::function<void(const base::Result<registry::ImportReport>&)> done) {
    return {"import",
            "Import " + path.filename().string(),
            {},
            [&operations, path, settings, done = std::move(done)](const OperationContext& context) {
                return concluded(operations.import(path, settings, context), done, importSentence);
            }};
}

} // namespace modulelens::operations
