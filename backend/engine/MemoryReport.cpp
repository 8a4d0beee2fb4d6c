// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/MemoryReport.h"

#include "backend/engine/MemoryPass.h"
#include "backend/engine/MemoryTimelineFile.h"
#include "backend/engine/Passes.h"
#include "backend/engine/Profiler.h"
#include "backend/engine/Repetitions.h"
#include "backend/engine/StateBytes.h"
#include "backend/engine/TrainingProfiler.h"
#include "backend/profile/ProfileFile.h"

#include <ATen/Parallel.h>
#include <torch/version.h>
#include <array>
#include <optional>

namespace modulelens::engine {

namespace {

class MemoryReporter {
public:
    MemoryReporter(CallBinding& binding, const protocol::MemoryParams& params, std::unique_ptr<Optimizer> optimizer,
                   const std::atomic<bool>& stop, const JobContext& job)
        : m_binding(binding),
          m_params(params),
          m_stop(stop),
          m_job(job),
          m_plan(binding.program().plan()),
          m_optimizer(std::move(optimizer)),
          m_training(binding) {
        m_training.setOptimizer(m_optimizer.get());
    }

    base::Result<protocol::MemoryResult> report(const MemoryFiles& files) {
        // Whatever allocates once for the whole process does so here.
        engine::report(m_job, "warm-up", 0, 1);
        (void)m_binding.run(m_stop, {});
        trackForward();
        keepSaved();
        trackStep();
        m_result.events = static_cast<std::int64_t>(m_forward.events.size() + (m_step ? m_step->events.size() : 0));
        if (m_result.events == 0) {
            return base::Error{
                base::ErrorCode::Unsupported,
                "the run of " + m_binding.program().name() + " allocated nothing, so there is no history to show", ""};
        }
        nameStateBytes();
        if (auto written = writeProfile(files.profile); !written) {
            return written.error();
        }
        const std::vector<TimelineRow> rows = timelineRows();
        if (auto written = writeMemoryTimeline(files.timeline, rows, m_forward, m_step ? &*m_step : nullptr); !written) {
            (void)base::realFileSystem().remove(files.profile);
            return written.error();
        }
        m_result.file = files.profile.string();
        m_result.timelineFile = files.timeline.string();
        return m_result;
    }

private:
    void trackForward() {
        engine::report(m_job, "memory", 0, 3);
        m_forward = trackMemory(m_binding, m_stop);
        m_result.peakBytes = m_forward.peakBytes;
        m_result.reservedPeakBytes = m_forward.reservedPeakBytes;
        m_result.deviceUsedBytes = m_forward.deviceUsedBytes;
        if (!m_result.reservedPeakBytes) {
            m_result.reasons["reserved_peak_bytes"] = "the allocator of this device keeps no reserve of its own";
        }
        if (!m_result.deviceUsedBytes) {
            m_result.reasons["device_used_bytes"] = "this device has no driver that counts its memory";
        }
    }

    void keepSaved() {
        engine::report(m_job, "memory", 1, 3);
        const auto reason = [&](const std::string& text) {
            m_result.reasons["activation_bytes"] = text;
            m_result.reasons["activation_held_bytes"] = text;
        };
        try {
            m_saved = recordActivations(m_binding, m_stop);
        } catch (const Failure& failure) {
            rethrowIfFatal(failure, m_binding.program().devices().to);
            reason("the module does not run with autograd on: " + failure.error().message);
            return;
        }
        if (m_saved.savedTensors == 0) {
            reason("autograd records nothing here: no parameter or input requires a gradient");
            return;
        }
        m_result.activationBytes = m_saved.liveBytes;
        m_result.activationHeldBytes = m_saved.heldBytes;
    }

    void trackStep() {
        engine::report(m_job, "memory", 2, 3);
        try {
            m_step = trackTraining(m_training, m_stop);
        } catch (const Failure& failure) {
            rethrowIfFatal(failure, m_binding.program().devices().to);
            for (const char* number : {"training_peak_bytes", "gradient_bytes", "step_peak_bytes"}) {
                m_result.reasons[number] = failure.error().message;
            }
            return;
        }
        m_result.loss = m_training.lossName();
        m_result.trainingPeakBytes = m_step->peakBeforeOptimizer();
        std::int64_t total = 0;
        m_gradients = gradientBytes(m_training, total);
        m_result.gradientBytes = total;
        if (m_optimizer) {
            m_result.stepPeakBytes = m_step->peakBytes;
        } else {
            m_result.reasons["step_peak_bytes"] = "no optimizer was asked for";
        }
    }

    void nameStateBytes() {
        m_state = stateBytes(m_binding.program().program(), m_binding.program().stateTensors());
        m_result.parameterBytes = m_state.parameterBytes;
        m_result.bufferBytes = m_state.bufferBytes;
        std::vector<at::Tensor> parameters;
        for (const GradientTarget& target : m_training.targets()) {
            if (target.isParameter) {
                parameters.push_back(target.tensor);
            }
        }
        for (const char* name : {"sgd", "adam"}) {
            const auto optimizer = Optimizer::create(name);
            m_result.optimizerStateBytes[name] = optimizer.value()->stateBytesOf(parameters);
            m_result.optimizerStateFormulas[name] = optimizer.value()->stateFormula();
        }
        if (m_optimizer && m_step) {
            m_result.optimizerStateBytes[m_optimizer->name()] = m_optimizer->stateBytes();
        }
    }

    base::Result<void> writeProfile(const std::filesystem::path& file) {
        ProfileInput input;
        input.rootName = m_params.name;
        for (const Step* step : executionOrder(m_plan.root)) {
            if (step->kind == StepKind::PythonOperator) {
                continue;
            }
            const auto id = static_cast<std::size_t>(step->id);
            OperatorNumbers numbers;
            numbers.scope = step->node->scope;
            numbers.name = step->name;
            numbers.peakBytes = m_forward.atPeak[id];
            numbers.highWaterBytes = m_forward.highWater[id];
            if (m_result.activationBytes) {
                numbers.activationBytes = m_saved.live[id];
            }
            if (m_step) {
                numbers.trainingPeakBytes = m_step->atPeak[id];
            }
            input.operators.push_back(std::move(numbers));
        }
        const auto firstRow = static_cast<std::size_t>(m_training.rows().gradientsOf(0));
        for (std::size_t row = firstRow; m_step && row < m_training.rows().count(); ++row) {
            if (m_step->atPeak[row] > 0) {
                TrainingRow shown = describeRow(m_training.rows(), static_cast<int>(row), m_optimizer.get());
                shown.trainingPeakBytes = m_step->atPeak[row];
                input.trainingRows.push_back(std::move(shown));
            }
        }
        input.parameters = m_state.parameters;
        input.buffers = m_state.buffers;
        input.gradients = m_gradients;
        input.facts = {{"device", m_binding.program().devices().to.str()},
                       {"threads", std::to_string(at::get_num_threads())},
                       {"torch", TORCH_VERSION},
                       {"engine", "program"}};
        auto profile = makeProfile(*m_plan.program, input);
        if (!profile) {
            return profile.error();
        }
        if (auto written = profile::writeProfile(base::realFileSystem(), file, *profile.value()); !written) {
            (void)base::realFileSystem().remove(file);
            return written.error();
        }
        return {};
    }

    std::vector<TimelineRow> timelineRows() const {
        std::vector<TimelineRow> rows;
        for (const Step* step : m_plan.steps) {
            const auto& scopes = m_plan.program->scopes;
            const int scope = step->node->scope;
            const bool isKnown = scope >= 0 && static_cast<std::size_t>(scope) < scopes.size();
            rows.push_back({isKnown ? scopes[static_cast<std::size_t>(scope)].path : std::string(),
                            isKnown ? scopes[static_cast<std::size_t>(scope)].call : 0, step->name});
        }
        for (int row = m_training.rows().gradientsOf(0); row < static_cast<int>(m_training.rows().count()); ++row) {
            const TrainingRow described = describeRow(m_training.rows(), row, m_optimizer.get());
            rows.push_back({described.module, 0, described.name});
        }
        return rows;
    }

    CallBinding& m_binding;
    const protocol::MemoryParams& m_params;
    const std::atomic<bool>& m_stop;
    const JobContext& m_job;
    const Plan& m_plan;
    std::unique_ptr<Optimizer> m_optimizer;
    TrainingRun m_training;
    MemoryHistory m_forward;
    std::optional<MemoryHistory> m_step;
    StepActivations m_saved;
    StateBytes m_state;
    std::vector<OwnBytes> m_gradients;
    protocol::MemoryResult m_result;
};

}  // namespace

base::Result<protocol::MemoryResult> memoryCall(CallBinding& binding, const protocol::MemoryParams& params,
                                                const MemoryFiles& files, const std::atomic<bool>& stop,
                                                const JobContext& job) {
    std::unique_ptr<Optimizer> optimizer;
    if (!params.train.empty()) {
        auto created = Optimizer::create(params.train);
        if (!created) {
            return created.error();
        }
        optimizer = std::move(created).value();
    }
    return MemoryReporter(binding, params, std::move(optimizer), stop, job).report(files);
}

}  // namespace modulelens::engine
