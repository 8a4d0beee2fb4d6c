// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Engine.h"

#include "backend/capture/Safetensors.h"
#include "backend/engine/Benchmark.h"
#include "backend/engine/Calibration.h"
#include "backend/engine/CallBinding.h"
#include "backend/engine/Consent.h"
#include "backend/engine/Devices.h"
#include "backend/engine/ForeignProgram.h"
#include "backend/engine/GradientCheck.h"
#include "backend/engine/Interruption.h"
#include "backend/engine/MachineState.h"
#include "backend/engine/MemoryReport.h"
#include "backend/engine/Passes.h"
#include "backend/engine/Profiler.h"
#include "backend/engine/TensorMemory.h"
#include "backend/engine/Validation.h"

#include <ATen/Parallel.h>
#include <torch/version.h>
#include <unistd.h>
#include <chrono>
#include <filesystem>
#include <map>

namespace modulelens::engine {

namespace {

constexpr int kMostThreads = 4096;
constexpr int kMostRepeats = 1000;

base::Result<void> checkThreads(const std::optional<int>& threads) {
    if (threads && (*threads < 1 || *threads > kMostThreads)) {
        return base::Error{base::ErrorCode::InvalidArgument, "the number of threads must be from 1 to 4096", ""};
    }
    return {};
}

}  // namespace

struct Engine::Data {
    std::filesystem::path scratch;
    int defaultThreads = 1;
    bool isInitialized = false;
    bool isDeviceLost = false;
    int nextHandle = 1;
    int resultCount = 0;
    std::map<int, std::unique_ptr<LoadedProgram>> programs;

    [[nodiscard]] base::Result<LoadedProgram*> find(int handle) const {
        const auto found = programs.find(handle);
        if (found == programs.end()) {
            return base::Error{base::ErrorCode::NotFound, "no program is loaded under the handle " + std::to_string(handle),
                               ""};
        }
        return found->second.get();
    }

    [[nodiscard]] std::filesystem::path nextFile(const char* stem, const char* suffix) {
        return scratch / (std::string(stem) + "-" + std::to_string(::getpid()) + "-" + std::to_string(++resultCount) + suffix);
    }

    /// Binds the call of `params` and gives it to `body(binding, stop flag)`.
    template <class T, class Body>
    [[nodiscard]] base::Result<T> withCall(const protocol::CallParams& params, const JobContext& job, Body&& body) {
        const auto program = find(params.handle);
        if (!program) {
            return program.error();
        }
        if (auto checked = checkThreads(params.threads); !checked) {
            return checked.error();
        }
        const Interruption interruption(job.stop, params.timeoutMs);
        base::Result<T> result = torchGuarded(program.value()->name(), [&]() -> base::Result<T> {
            at::set_num_threads(params.threads.value_or(defaultThreads));
            auto binding = CallBinding::bind(*program.value(), params.call, params.tensors, interruption.flag());
            if (!binding) {
                return binding.error();
            }
            return body(*binding.value(), interruption.flag());
        });
        if (!result) {
            return explainDevice(program.value()->devices().to, interruption.explain(result.error()));
        }
        return result;
    }

    /// `error` as it is while `device` still answers.
    [[nodiscard]] base::Error explainDevice(c10::Device device, base::Error error) {
        if (!isLost(device)) {
            return error;
        }
        isDeviceLost = true;
        return {base::ErrorCode::WorkerCrashed, "the device " + device.str() + " was lost: " + error.message,
                "Run it again: a new worker begins afresh."};
    }
};

Engine::Engine() : m_data(std::make_unique<Data>()) {}
Engine::~Engine() = default;

bool Engine::isDeviceLost() const {
    return m_data->isDeviceLost;
}

base::Result<protocol::InitializeResult> Engine::initialize(const protocol::InitializeParams& params) {
    if (params.protocolVersion != protocol::kProtocolVersion) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "this worker speaks protocol version " + std::to_string(protocol::kProtocolVersion) + ", not " +
                               std::to_string(params.protocolVersion),
                           "Install the worker and its client from one release."};
    }
    std::error_code ignored;
    if (!std::filesystem::is_directory(params.scratchFolder, ignored)) {
        return base::Error{base::ErrorCode::NotFound, "there is no scratch folder " + params.scratchFolder, ""};
    }
    if (auto checked = checkThreads(params.threads); !checked) {
        return checked.error();
    }
    return torchGuarded("starting the engine", [&]() -> base::Result<protocol::InitializeResult> {
        installTensorMemory();
        if (!m_data->isInitialized) {
            installAutogradObserver();
        }
        if (params.threads) {
            at::set_num_threads(*params.threads);
        }
        m_data->scratch = params.scratchFolder;
        m_data->defaultThreads = at::get_num_threads();
        m_data->isInitialized = true;
        protocol::InitializeResult result;
        result.worker = "modulelens-worker";
        result.engine = "program";
        result.torchVersion = TORCH_VERSION;
        result.threads = m_data->defaultThreads;
        result.devices = listDevices();
        result.float32MatmulPrecision = float32MatmulPrecision();
        result.host = hostName();
        return result;
    });
}

base::Result<protocol::LoadResult> Engine::load(const protocol::LoadParams& params, const JobContext& job) {
    if (job.progress) {
        job.progress("load", 0, 0);
    }
    const auto start = std::chrono::steady_clock::now();
    auto program = LoadedProgram::load(params, job.stop);
    if (program && job.stop.stop_requested()) {
        return base::Error{base::ErrorCode::Cancelled, "loading was cancelled", ""};
    }
    if (!program) {
        const auto device = findDevice(params.device);
        return device ? m_data->explainDevice(*device, program.error()) : program.error();
    }
    protocol::LoadResult result;
    result.handle = m_data->nextHandle++;
    result.operatorCount = program.value()->plan().operatorCount;
    result.warnings = program.value()->state().warnings();
    m_data->programs[result.handle] = std::move(program).value();
    result.loadNs = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    return result;
}

base::Result<protocol::InspectResult> Engine::inspect(const protocol::InspectParams& params, const JobContext& job) {
    if (job.progress) {
        job.progress("inspect", 0, 0);
    }
    if (auto libraries = loadOperatorLibraries(params.libraries, params.consent); !libraries) {
        return libraries.error();
    }
    const auto file = openWithConsent(params.file, params.offset, params.length, params.sha256, params.consent, params.name);
    if (!file) {
        return file.error();
    }
    const std::string scratchFile = m_data->nextFile("inspect", ".safetensors").string();
    if (params.kind == protocol::inspection::kSampleInputs) {
        return inspectSampleInputs(file.value(), params.name, scratchFile);
    }
    if (params.kind == protocol::inspection::kTorchScript) {
        return inspectScript(file.value(), params.name, scratchFile);
    }
    if (params.kind == protocol::inspection::kAotInductor) {
        return inspectPackage(params.file, params.name);
    }
    return base::Error{base::ErrorCode::InvalidArgument, "nothing is known of files of the kind '" + params.kind + "'", ""};
}

base::Result<void> Engine::unload(const protocol::UnloadParams& params) {
    if (auto found = m_data->find(params.handle); !found) {
        return found.error();
    }
    m_data->programs.erase(params.handle);
    releaseTensorMemory();
    return {};
}

base::Result<protocol::RunResult> Engine::run(const protocol::CallParams& params, const JobContext& job) {
    return m_data->withCall<protocol::RunResult>(
        params, job, [&](CallBinding& binding, const std::atomic<bool>& stop) -> base::Result<protocol::RunResult> {
            if (job.progress) {
                job.progress("run", 0, 0);
            }
            const CallBinding::Outcome outcome = binding.run(stop, {});
            protocol::RunResult result;
            result.hostNs = outcome.hostNs;
            std::vector<at::Tensor> kept;
            std::vector<capture::SafetensorsInput> tensors;
            const graph::Program& program = binding.program().program();
            std::size_t next = 0;
            for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
                if (program.outputs[i].kind != graph::OutputKind::UserOutput || next >= program.outputPointers.size()) {
                    continue;
                }
                const std::string& pointer = program.outputPointers[next++];
                if (!outcome.outputs[i].isTensor() || !outcome.outputs[i].toTensor().defined()) {
                    continue;
                }
                kept.push_back(outcome.outputs[i].toTensor().detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous());
                const at::Tensor& tensor = kept.back();
                const std::string dtype(base::scalarTypeName(captureType(tensor.scalar_type())));
                const std::string stored = capture::safetensorsDtype(dtype);
                const bool isRaw = stored == "U8" && dtype != "uint8";
                const auto size = static_cast<std::int64_t>(tensor.nbytes());
                tensors.push_back({pointer,
                                   stored,
                                   isRaw ? std::vector<std::int64_t>{size} : tensor.sizes().vec(),
                                   {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}});
                result.outputs.push_back({pointer, dtype, tensor.sizes().vec(), pointer});
            }
            const std::filesystem::path file = m_data->nextFile("run", ".safetensors");
            if (auto written = capture::writeSafetensors(base::realFileSystem(), file, tensors, {}); !written) {
                (void)base::realFileSystem().remove(file);
                return written.error();
            }
            result.file = file.string();
            return result;
        });
}

base::Result<protocol::ValidateResult> Engine::validate(const protocol::ValidateParams& params, const JobContext& job) {
    if (params.repeats && (*params.repeats < 1 || *params.repeats > kMostRepeats)) {
        return base::Error{base::ErrorCode::InvalidArgument, "the number of repeats must be from 1 to 1000", ""};
    }
    return m_data->withCall<protocol::ValidateResult>(
        params.call, job, [&](CallBinding& binding, const std::atomic<bool>& stop) -> base::Result<protocol::ValidateResult> {
            protocol::ValidateResult result;
            if (!binding.call().exceptionType.empty()) {
                result.verdict = "not_comparable";
                result.reason =
                    "the captured call raised " + binding.call().exceptionType + ": " + binding.call().exceptionMessage;
            } else {
                result = validateCall(binding, params, stop, job);
            }
            result.threads = at::get_num_threads();
            for (const std::string& warning : binding.inputLeaves().warnings()) {
                result.warnings.push_back(warning);
            }
            return result;
        });
}

base::Result<protocol::ValidateResult> Engine::gradients(const protocol::CallParams& params, const JobContext& job) {
    return m_data->withCall<protocol::ValidateResult>(
        params, job, [&](CallBinding& binding, const std::atomic<bool>& stop) -> base::Result<protocol::ValidateResult> {
            if (job.progress) {
                job.progress("gradients", 0, 0);
            }
            return checkGradients(binding, stop);
        });
}

base::Result<protocol::BenchmarkResult> Engine::benchmark(const protocol::BenchmarkParams& params, const JobContext& job) {
    return m_data->withCall<protocol::BenchmarkResult>(
        params.call, job, [&](CallBinding& first, const std::atomic<bool>& stop) -> base::Result<protocol::BenchmarkResult> {
            if (auto checked = checkBenchmark(params, first.program().devices().to); !checked) {
                return checked.error();
            }
            if (!params.against) {
                return benchmarkCalls(first, nullptr, params, stop, job);
            }
            if (params.against->handle == params.call.handle) {
                if (params.against->call != params.call.call) {
                    return base::Error{base::ErrorCode::InvalidArgument,
                                       "two calls of one loaded program cannot be compared with one another",
                                       "Load the program once for each side."};
                }
                return benchmarkCalls(first, &first, params, stop, job);
            }
            const auto program = m_data->find(params.against->handle);
            if (!program) {
                return program.error();
            }
            auto second = CallBinding::bind(*program.value(), params.against->call, params.against->tensors, stop);
            if (!second) {
                return second.error().within(program.value()->name());
            }
            return benchmarkCalls(first, second.value().get(), params, stop, job);
        });
}

base::Result<protocol::CalibrateResult> Engine::calibrate(const protocol::CalibrateParams& params, const JobContext& job) {
    const auto device = findDevice(params.device);
    if (!device) {
        return device.error();
    }
    if (auto checked = checkThreads(params.threads); !checked) {
        return checked.error();
    }
    const Interruption interruption(job.stop, params.timeoutMs);
    base::Result<protocol::CalibrateResult> result = torchGuarded("calibrating " + params.device, [&] {
        at::set_num_threads(params.threads.value_or(m_data->defaultThreads));
        return base::Result<protocol::CalibrateResult>(
            calibrateDevice(device.value(), params.budgetMs, interruption.flag(), job));
    });
    if (!result) {
        return m_data->explainDevice(device.value(), interruption.explain(result.error()));
    }
    return result;
}

base::Result<protocol::ProfileResult> Engine::profile(const protocol::ProfileParams& params, const JobContext& job) {
    return m_data->withCall<protocol::ProfileResult>(
        params.call, job, [&](CallBinding& binding, const std::atomic<bool>& stop) -> base::Result<protocol::ProfileResult> {
            return profileCall(binding, params, m_data->nextFile("profile", ".safetensors"), stop, job);
        });
}

base::Result<protocol::MemoryResult> Engine::memory(const protocol::MemoryParams& params, const JobContext& job) {
    return m_data->withCall<protocol::MemoryResult>(
        params.call, job, [&](CallBinding& binding, const std::atomic<bool>& stop) -> base::Result<protocol::MemoryResult> {
            const MemoryFiles files{m_data->nextFile("memory", ".safetensors"), m_data->nextFile("timeline", ".safetensors")};
            return memoryCall(binding, params, files, stop, job);
        });
}

}  // namespace modulelens::engine
