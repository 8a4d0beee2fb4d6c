// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Operations.h"

#include "backend/base/FileSystem.h"
#include "backend/base/Guarded.h"
#include "backend/capture/Bundle.h"
#include "backend/graph/ProgramArchive.h"
#include "backend/operations/Benchmarking.h"
#include "backend/operations/Calibrating.h"
#include "backend/operations/CalibrationStore.h"
#include "backend/operations/DeviceLock.h"
#include "backend/operations/ForeignImport.h"
#include "backend/operations/MemoryOperation.h"
#include "backend/operations/ModuleTreeProfile.h"
#include "backend/operations/OperationSteps.h"
#include "backend/operations/Permissions.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/SourceInput.h"
#include "backend/operations/StaticProfile.h"
#include "backend/operations/Sweep.h"
#include "backend/operations/SweepInputs.h"
#include "backend/operations/TensorStatistics.h"
#include "backend/operations/Validating.h"
#include "backend/operations/Verifying.h"
#include "backend/operations/VersionInput.h"
#include "backend/operations/WorkerCommand.h"
#include "backend/operations/WorkerJobs.h"
#include "backend/profile/ProfileFile.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace modulelens::operations {

namespace {

/// The measured peaks of the worker's machine, as facts of a profile; empty when they were not measured.
std::map<std::string, std::string> peaksOf(workerclient::WorkerClient& client, const RunSettings& settings,
                                           const workerclient::RequestContext& request) {
    const base::Result<protocol::InitializeResult> worker = client.initialize(request);
    if (!worker) {
        return {};
    }
    const auto calibration =
        findCalibration(calibrationFolder(), worker->host, settings.device, settings.threads.value_or(worker->threads));
    return calibration ? peakFacts(*calibration) : std::map<std::string, std::string>();
}

} // namespace

struct Operations::Data {
    std::shared_ptr<registry::Registry> registry;
    Permissions permissions;
    WorkerJobs worker;
    std::mutex pythonMutex;
    std::vector<std::string> pythonCommand;
    std::unique_ptr<WorkerJobs> pythonWorker;
    std::vector<std::unique_ptr<WorkerJobs>> formerPythonWorkers;   ///< Jobs may be running in them.

    Data(std::shared_ptr<registry::Registry> store, std::vector<std::string> command)
        : registry(std::move(store)), worker(command.empty() ? defaultWorkerCommand() : std::move(command), permissions) {}

    /// The worker of an engine; the Python one is made on first use.
    WorkerJobs& jobs(const std::string& engine) {
        if (engine != protocol::engine_name::kSource) {
            return worker;
        }
        const std::lock_guard lock(pythonMutex);
        if (!pythonWorker) {
            if (pythonCommand.empty()) {
                pythonCommand = pythonWorkerCommand({}, {});
            }
            pythonWorker = std::make_unique<WorkerJobs>(pythonCommand, permissions);
        }
        return *pythonWorker;
    }

    base::Result<graph::ProgramArchive> readProgram(const std::string& digest) {
        const base::Result<registry::FileExtent> place = registry->program(digest);
        if (!place) {
            return place.error();
        }
        base::Result<std::shared_ptr<const base::MappedFile>> file = base::realFileSystem().map(place->file);
        if (!file) {
            return file.error();
        }
        const base::Result<std::shared_ptr<const base::MappedFile>> slice =
            base::sliceOf(*std::move(file), place->offset, place->sizeBytes);
        if (!slice) {
            return slice.error();
        }
        return graph::readProgramArchive(*slice, place->file.string());
    }

    /// What tells which sizes the version's program leaves open.
    base::Result<std::shared_ptr<const graph::Program>> sweptProgram(const VersionInput& input) {
        const ProgramFormat format = programFormat(input.programHow);
        if (std::string_view(format.name) == protocol::program_format::kTorchScript) {
            return std::make_shared<const graph::Program>(openProgram(input.call()));
        }
        if (!format.isExported) {
            return base::Error{
                base::ErrorCode::InvalidArgument,
                "'" + input.address() +
                    "' is a compiled package, which does not say the sizes that it takes, so there is nothing to "
                    "sweep",
                "Import the same module as a .pt2 of torch.export.save with dynamic sizes."};
        }
        const base::Result<graph::ProgramArchive> archive = readProgram(input.program);
        if (!archive) {
            return archive.error();
        }
        return archive->program;
    }
};

Operations::Operations(std::shared_ptr<registry::Registry> registry, std::vector<std::string> workerCommand)
    : m_data(std::make_unique<Data>(std::move(registry), std::move(workerCommand))) {}

Operations::~Operations() = default;

registry::Registry& Operations::registry() const {
    return *m_data->registry;
}

Permissions& Operations::permissions() const {
    return m_data->permissions;
}

base::Result<registry::ImportReport> Operations::import(const std::filesystem::path& path, const ImportSettings& settings,
                                                        const OperationContext& context) {
    return base::guarded("import", [&]() -> base::Result<registry::ImportReport> {
        auto* local = dynamic_cast<registry::LocalRegistry*>(m_data->registry.get());
        if (local == nullptr) {
            return base::Error{base::ErrorCode::Unsupported, "only a registry in a folder can import files",
                               "Import into a local registry first."};
        }
        const base::Result<ImportKind> kind = identifyImport(path);
        if (!kind) {
            return kind.error();
        }
        if (*kind != ImportKind::Bundle) {
            return importForeignFile(*local, m_data->worker, m_data->permissions, *kind, path, settings, context);
        }
        if (!settings.model.empty() || !settings.inputs.empty()) {
            return base::Error{base::ErrorCode::InvalidArgument,
                               "'" + path.filename().string() + "' is a capture, which has its own model name and inputs",
                               "Leave out --model and --input."};
        }
        const registry::ByteProgress progress = [&context](std::uint64_t bytes, std::uint64_t total) {
            if (context.progress) {
                context.progress({0, "import", static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(total)});
            }
        };
        return local->import(path, context.stop, progress);
    });
}

void Operations::usePython(const std::string& python, const std::vector<std::string>& pythonPath) {
    const std::lock_guard lock(m_data->pythonMutex);
    std::vector<std::string> command = pythonWorkerCommand(python, pythonPath);
    if (m_data->pythonWorker && command != m_data->pythonCommand) {
        m_data->formerPythonWorkers.push_back(std::move(m_data->pythonWorker));
    }
    m_data->pythonCommand = std::move(command);
}

void Operations::prepareWorker(const std::string& engine) {
    m_data->jobs(engine).prepare();
}

base::Result<protocol::InitializeResult> Operations::workerInfo(const OperationContext& context) {
    return m_data->worker.facts(context);
}

base::Result<RebuildReport> Operations::rebuild(const std::string& addressOrId, const RunSettings& settings,
                                                const OperationContext& context) {
    return base::guarded("rebuild", [&]() -> base::Result<RebuildReport> {
        const base::Result<VersionInput> input = readRunInput(registry(), addressOrId, settings);
        if (!input) {
            return input.error();
        }
        base::Result<protocol::CallParams> call =
            programCall(registry(), *input, "Its hierarchy, tensors and source can still be seen.");
        if (!call) {
            return call.error();
        }
        call->threads = settings.threads;
        RebuildReport report;
        report.version = input->summary;
        report.engine = settings.engine;
        const auto job = [&](workerclient::WorkerClient& client, const WorkerJobs::Loaded& loaded,
                             const workerclient::RequestContext& request) -> base::Result<void> {
            call->handle = loaded.load.handle;
            const base::Result<protocol::RunResult> result = client.run(*call, request);
            if (!result) {
                return result.error();
            }
            removeScratchFile(result->file);
            report.how = loaded.source.how;
            report.reasons = loaded.source.reasons;
            report.differences = loaded.source.differences;
            report.loadNs = loaded.load.loadNs;
            report.operatorCount = loaded.load.operatorCount;
            report.hostNs = result->hostNs;
            report.outputs = result->outputs;
            report.warnings = loaded.warnings;
            return {};
        };
        if (base::Result<void> done = m_data->jobs(settings.engine).run(registry(), *input, settings.device, context, job);
            !done) {
            return done.error();
        }
        return report;
    });
}

base::Result<ValidationReport> Operations::validate(const std::string& addressOrId, const RunSettings& settings,
                                                    const OperationContext& context) {
    return base::guarded("validate", [&] {
        return runValidation(registry(), m_data->jobs(settings.engine), addressOrId, settings, context, Storing::Yes);
    });
}

base::Result<ProfileReport> Operations::profile(const std::string& addressOrId, const RunSettings& settings,
                                                const OperationContext& context) {
    return base::guarded("profile", [&]() -> base::Result<ProfileReport> {
        const base::Result<VersionInput> input = readRunInput(registry(), addressOrId, settings);
        if (!input) {
            return input.error();
        }
        base::Result<protocol::CallParams> call =
            programCall(registry(), *input, "Its hierarchy with the times of the traced run can still be seen.");
        if (!call) {
            return call.error();
        }
        protocol::ProfileParams params;
        params.call = *std::move(call);
        params.call.threads = settings.threads;
        params.name = lastClassSegment(input->document.className);
        params.backward = settings.backward;
        params.train = settings.train;
        ProfileReport report;
        report.version = input->summary;
        report.device = settings.device;
        report.engine = settings.engine;
        const base::Result<DeviceLock> lock = DeviceLock::acquire(settings.device, context);
        if (!lock) {
            return lock.error();
        }
        const auto job = [&](workerclient::WorkerClient& client, const WorkerJobs::Loaded& loaded,
                             const workerclient::RequestContext& request) -> base::Result<void> {
            params.call.handle = loaded.load.handle;
            params.facts = peaksOf(client, settings, request);
            base::Result<protocol::ProfileResult> result = client.profile(params, request);
            if (!result) {
                return result.error();
            }
            base::Result<std::shared_ptr<const profile::Profile>> tree =
                profile::readProfile(base::realFileSystem(), result->file);
            if (!tree) {
                return tree.error();
            }
            report.profile = *std::move(tree);
            report.result = *std::move(result);
            report.warnings = loaded.warnings;
            return {};
        };
        if (base::Result<void> done = m_data->jobs(settings.engine).run(registry(), *input, settings.device, context, job);
            !done) {
            return done.error();
        }
        report.threads = settings.threads.value_or(0);
        if (const auto fact = report.profile->facts().find("threads"); fact != report.profile->facts().end()) {
            std::from_chars(fact->second.data(), fact->second.data() + fact->second.size(), report.threads);
        }
        report.resultId =
            storeResult(
                registry(), report.version.id,
                {{}, "profile", {}, settings.device, report.engine, serialized(profileDocument(report)), report.result.file},
                report.warnings)
                .id;
        removeScratchFile(report.result.file);
        report.result.file.clear();
        return report;
    });
}

base::Result<BenchmarkReport> Operations::benchmark(const std::vector<std::string>& addresses,
                                                    const BenchmarkSettings& settings, const OperationContext& context) {
    return base::guarded("benchmark", [&]() -> base::Result<BenchmarkReport> {
        std::unique_ptr<WorkerJobs> other;
        if (!settings.againstWorker.empty()) {
            other = std::make_unique<WorkerJobs>(settings.againstWorker, m_data->permissions);
        }
        base::Result<BenchmarkReport> report =
            runBenchmark(registry(), m_data->jobs(settings.run.engine), other.get(), addresses, settings, context);
        if (!report) {
            return report;
        }
        const std::string document = serialized(benchmarkDocument(*report));
        std::set<std::string> stored;
        for (const BenchmarkSideReport& side : report->sides) {
            if (stored.insert(side.version.id).second) {
                report->resultId =
                    storeResult(registry(), side.version.id,
                                {{}, "benchmark", {}, settings.run.device, side.engine, document, {}}, report->warnings)
                        .id;
            }
        }
        return report;
    });
}

base::Result<VerifyReport> Operations::verify(const std::string& addressOrId, const VerifySettings& settings,
                                              const OperationContext& context) {
    return base::guarded("verify", [&]() -> base::Result<VerifyReport> {
        WorkerJobs& unedited = m_data->jobs(protocol::engine_name::kSource);
        std::unique_ptr<WorkerJobs> changed;
        if (!settings.pythonPath.empty()) {
            changed =
                std::make_unique<WorkerJobs>(pythonWorkerCommand(settings.python, settings.pythonPath), m_data->permissions);
        }
        return runVerification(registry(), unedited, changed.get(), addressOrId, settings, context);
    });
}

base::Result<CalibrationReport> Operations::calibrate(const RunSettings& settings, std::int64_t budgetMs,
                                                      const OperationContext& context) {
    return base::guarded("calibrate", [&] { return runCalibration(m_data->worker, settings, budgetMs, context); });
}

base::Result<SweepReport> Operations::sweep(const std::string& addressOrId, const SweepSettings& settings,
                                            const OperationContext& context) {
    return base::guarded("sweep", [&]() -> base::Result<SweepReport> {
        const base::Result<VersionInput> input = readVersionInput(registry(), addressOrId, settings.run.call);
        if (!input) {
            return input.error();
        }
        if (input->program.empty()) {
            return base::Error{base::ErrorCode::Unsupported,
                               "'" + input->address() + "' has no program: " + input->noProgramReason,
                               "Only what has a program can be measured."};
        }
        const base::Result<std::shared_ptr<const graph::Program>> program = m_data->sweptProgram(*input);
        if (!program) {
            return program.error();
        }
        base::Result<SweepReport> report = runSweep(registry(), m_data->worker, **program, *input, settings, context);
        if (report) {
            report->resultId =
                storeResult(registry(), report->version.id,
                            {{}, "benchmark", {}, settings.run.device, "program", serialized(sweepDocument(*report)), {}},
                            report->warnings)
                    .id;
        }
        return report;
    });
}

base::Result<MemoryReport> Operations::memory(const std::string& addressOrId, const RunSettings& settings,
                                              const OperationContext& context) {
    return base::guarded(
        "memory", [&] { return measureMemory(registry(), m_data->jobs(settings.engine), addressOrId, settings, context); });
}

base::Result<std::shared_ptr<const profile::Profile>> Operations::staticProfile(const std::string& addressOrId) {
    return base::guarded("static profile", [&]() -> base::Result<std::shared_ptr<const profile::Profile>> {
        const base::Result<VersionInput> input = readVersionInput(registry(), addressOrId, 0);
        if (!input) {
            return input.error();
        }
        if (!programFormat(input->programHow).isExported) {
            return buildModuleTreeProfile(registry(), input->document);
        }
        std::shared_ptr<const graph::Program> program;
        if (!input->program.empty()) {
            base::Result<graph::ProgramArchive> archive = m_data->readProgram(input->program);
            if (!archive) {
                return archive.error();
            }
            program = archive->program;
        }
        const base::Result<std::optional<registry::RunSummary>> run = registry().runOf(input->summary.id);
        if (!run) {
            return run.error();
        }
        std::optional<capture::RunRecord> record;
        if (*run) {
            base::Result<capture::RunRecord> read = registry().runRecord((*run)->digest);
            if (!read) {
                return read.error();
            }
            record = *std::move(read);
        }
        return buildStaticProfile(input->document, 0, program.get(), record ? &*record : nullptr);
    });
}

base::Result<std::shared_ptr<const profile::Profile>> Operations::storedProfile(const std::string& addressOrId) {
    return base::guarded("stored profile", [&]() -> base::Result<std::shared_ptr<const profile::Profile>> {
        const base::Result<registry::VersionSummary> version = registry().resolve(addressOrId);
        if (!version) {
            return version.error();
        }
        const base::Result<std::vector<registry::StoredResult>> results = registry().results(version->id, "profile");
        if (!results) {
            return results.error();
        }
        if (results->empty() || results->front().file.empty()) {
            return std::shared_ptr<const profile::Profile>();
        }
        return profile::readProfile(base::realFileSystem(), results->front().file);
    });
}

base::Result<std::vector<TensorStatistics>> Operations::tensorStatistics(const std::string& addressOrId, int call,
                                                                         const OperationContext& context) {
    return base::guarded("tensor statistics", [&]() -> base::Result<std::vector<TensorStatistics>> {
        const base::Result<VersionInput> input = readVersionInput(registry(), addressOrId, call);
        if (!input) {
            return input.error();
        }
        std::vector<capture::LocatedTensor> located = input->call().inputs;
        located.insert(located.end(), input->call().outputs.begin(), input->call().outputs.end());
        std::vector<std::string> digests;
        for (const capture::LocatedTensor& item : located) {
            if (!item.tensor.digest.empty()) {
                digests.push_back(item.tensor.digest);
            }
        }
        const base::Result<std::map<std::string, registry::FileExtent>> places = registry().tensors(digests);
        if (!places) {
            return places.error();
        }
        std::map<std::filesystem::path, std::shared_ptr<const base::MappedFile>> files;
        std::vector<TensorStatistics> all;
        for (const capture::LocatedTensor& item : located) {
            if (context.progress) {
                context.progress(
                    {0, "statistics", static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(located.size())});
            }
            TensorStatistics statistics;
            if (item.tensor.digest.empty()) {
                statistics.tensor = item.tensor;
                statistics.elements = item.tensor.elementCount();
                statistics.gap = "not captured" + (item.tensor.gap.empty() ? std::string() : ": " + item.tensor.gap);
            } else {
                const registry::FileExtent& place = places->at(item.tensor.digest);
                std::shared_ptr<const base::MappedFile>& file = files[place.file];
                if (!file) {
                    base::Result<std::shared_ptr<const base::MappedFile>> mapped = base::realFileSystem().map(place.file);
                    if (!mapped) {
                        return mapped.error();
                    }
                    file = *std::move(mapped);
                }
                const base::Result<std::shared_ptr<const base::MappedFile>> slice =
                    base::sliceOf(file, place.offset, place.sizeBytes);
                if (!slice) {
                    return slice.error();
                }
                if (base::Result<void> checked = capture::checkTensorData(item.tensor, (*slice)->bytes()); !checked) {
                    return checked.error();
                }
                base::Result<TensorStatistics> computed = computeStatistics(item.tensor, (*slice)->bytes(), context.stop);
                if (!computed) {
                    return computed.error();
                }
                statistics = *std::move(computed);
            }
            statistics.pointer = item.pointer;
            all.push_back(std::move(statistics));
        }
        return all;
    });
}

} // namespace modulelens::operations
