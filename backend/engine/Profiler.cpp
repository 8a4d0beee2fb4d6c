// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Profiler.h"

#include "backend/engine/CostSummary.h"
#include "backend/engine/MemoryPass.h"
#include "backend/engine/Passes.h"
#include "backend/engine/ProfileTree.h"
#include "backend/engine/Repetitions.h"
#include "backend/engine/StateBytes.h"
#include "backend/engine/TrainingProfiler.h"
#include "backend/profile/ProfileFile.h"

#include <ATen/Parallel.h>
#include <torch/version.h>
#include <algorithm>
#include <numeric>

namespace modulelens::engine {

namespace {

class Profiler {
public:
    Profiler(CallBinding& binding, const protocol::ProfileParams& params, const std::atomic<bool>& stop, const JobContext& job)
        : m_binding(binding),
          m_params(params),
          m_stop(stop),
          m_job(job),
          m_plan(binding.program().plan()),
          m_executions(m_plan.steps.size()),
          m_numbers(m_plan.steps.size()) {}

    base::Result<protocol::ProfileResult> run(const std::filesystem::path& file) {
        warmUp();
        time();
        count();
        remember();
        keepSaved();
        if (m_params.backward || !m_params.train.empty()) {
            m_training = profileTraining(m_binding, m_params, m_stop, m_job);
            m_result.training = m_training.result;
        }
        return write(file);
    }

private:
    void warmUp() {
        for (int i = 0; i < std::max(m_params.warmupRuns, 1); ++i) {
            report(m_job, "warm-up", i, m_params.warmupRuns);
            (void)m_binding.run(m_stop, {});
        }
        (void)timeSteps(m_binding, m_stop);
    }

    // Plain and timed runs in turn, so that a drift of the machine's speed meets both.
    void time() {
        std::vector<std::vector<std::int64_t>> stepNs(m_plan.steps.size());
        std::vector<std::int64_t> timedNs;
        std::vector<std::int64_t> sums;
        const Budget budget(m_params.repetitions, m_params.budgetMs);
        for (int i = 0; budget.allows(i); ++i) {
            report(m_job, "timing", i, m_params.repetitions);
            // Each is the first of its pair in half of the rounds, since the client is still busy with the progress then.
            const bool isPlainFirst = i % 2 == 0;
            if (isPlainFirst) {
                m_result.samplesNs.push_back(m_binding.run(m_stop, {}).hostNs);
            }
            const StepTimes times = timeSteps(m_binding, m_stop);
            if (!isPlainFirst) {
                m_result.samplesNs.push_back(m_binding.run(m_stop, {}).hostNs);
            }
            timedNs.push_back(times.runNs);
            sums.push_back(std::accumulate(times.ns.begin(), times.ns.end(), std::int64_t{0}));
            for (std::size_t step = 0; step < stepNs.size(); ++step) {
                stepNs[step].push_back(times.ns[step]);
                m_executions[step] = std::max(m_executions[step], times.executions[step]);
            }
        }
        for (std::size_t step = 0; step < stepNs.size(); ++step) {
            m_numbers[step].latencyNs = median(std::move(stepNs[step]));
        }
        m_result.latencyNs = median(m_result.samplesNs);
        m_result.timedRunNs = median(timedNs);
        m_result.operatorSumNs = median(sums);
    }

    void count() {
        report(m_job, "flops", 0, 1);
        StepCosts costs = countSteps(m_binding, m_stop);
        for (std::size_t step = 0; step < m_numbers.size(); ++step) {
            m_numbers[step].flops = costs.flops[step];
            m_numbers[step].bytes = costs.bytes[step];
            m_executions[step] = std::max(m_executions[step], costs.flops[step] ? 1 : 0);
        }
        if (costs.totalFlops > 0 || costs.coverage.unknown.empty()) {
            m_result.flops = costs.totalFlops;
        } else {
            m_result.reasons["flops"] = "no operator of this module has a FLOP formula";
        }
        m_result.costs = summarizeCosts(m_binding, costs, latencyByOperator());
        m_coverage = std::move(costs.coverage);
        m_result.counted = m_coverage.counted;
        m_result.zero = m_coverage.zero;
        m_result.unknown = m_coverage.unknown;
    }

    std::map<std::string, std::int64_t> latencyByOperator() const {
        std::map<std::string, std::int64_t> latency;
        for (const Step* step : m_plan.steps) {
            const auto id = static_cast<std::size_t>(step->id);
            if (m_executions[id] > 0) {
                latency[step->name] += m_numbers[id].latencyNs.value_or(0);
            }
        }
        return latency;
    }

    void remember() {
        report(m_job, "memory", 0, 2);
        const MemoryHistory memory = trackMemory(m_binding, m_stop);
        m_result.peakBytes = memory.peakBytes;
        for (std::size_t step = 0; step < m_numbers.size(); ++step) {
            m_numbers[step].peakBytes = memory.atPeak[step];
            m_numbers[step].highWaterBytes = memory.highWater[step];
        }
    }

    void keepSaved() {
        report(m_job, "memory", 1, 2);
        StepActivations saved;
        try {
            saved = recordActivations(m_binding, m_stop);
        } catch (const Failure& failure) {
            rethrowIfFatal(failure, m_binding.program().devices().to);
            m_result.reasons["activation"] = "the module does not run with autograd on: " + failure.error().message;
            return;
        }
        if (saved.savedTensors == 0) {
            m_result.reasons["activation"] = "autograd records nothing here: no parameter or input requires a gradient";
            return;
        }
        m_result.activationBytes = saved.liveBytes;
        m_facts["activation_held_bytes"] = std::to_string(saved.heldBytes);
        for (std::size_t step = 0; step < m_numbers.size(); ++step) {
            m_numbers[step].activationBytes = saved.live[step];
        }
    }

    base::Result<protocol::ProfileResult> write(const std::filesystem::path& file) {
        ProfileInput input;
        input.rootName = m_params.name;
        StateBytes state = stateBytes(m_binding.program().program(), m_binding.program().stateTensors());
        input.parameters = std::move(state.parameters);
        input.buffers = std::move(state.buffers);
        if (m_binding.program().foreign() != nullptr && m_binding.program().stateTensors().empty()) {
            m_result.reasons["parameters"] = "the file does not show its weights";
        } else {
            m_result.parameterBytes = state.parameterBytes;
        }
        for (const Step* step : executionOrder(m_plan.root)) {
            const auto id = static_cast<std::size_t>(step->id);
            const bool isShown = step->kind != StepKind::PythonOperator && (m_executions[id] > 0 || !m_result.latencyNs);
            if (isShown) {
                m_numbers[id].scope = step->node->scope;
                m_numbers[id].name = step->name;
                if (!m_training.steps.empty()) {
                    m_numbers[id].backward = m_training.steps[id];
                    m_numbers[id].trainingPeakBytes = m_training.trainingPeak[id];
                }
                input.operators.push_back(m_numbers[id]);
            }
        }
        input.plainNs = m_result.latencyNs;
        input.plainSamples = m_result.samplesNs;
        input.trainingRows = m_training.rows;
        input.gradients = m_training.gradients;
        input.backwardSamples = m_training.result.backwardSamplesNs;
        input.coverage = m_coverage;
        input.facts = facts();
        auto profile = makeProfile(m_plan.program ? *m_plan.program : graph::Program{}, input);
        if (!profile) {
            return profile.error();
        }
        if (auto written = profile::writeProfile(base::realFileSystem(), file, *profile.value()); !written) {
            (void)base::realFileSystem().remove(file);
            return written.error();
        }
        m_result.file = file.string();
        return m_result;
    }

    std::map<std::string, std::string> facts() {
        std::map<std::string, std::string> facts = m_params.facts;
        for (const auto& [key, value] : m_facts) {
            facts[key] = value;
        }
        facts["device"] = m_binding.program().devices().to.str();
        facts["threads"] = std::to_string(at::get_num_threads());
        facts["torch"] = TORCH_VERSION;
        facts["engine"] = "program";
        facts["repetitions"] = std::to_string(m_result.samplesNs.size());
        facts["mode"] = "hot";
        if (m_result.training && m_result.training->backwardNs) {
            facts["loss"] = m_result.training->loss;
        }
        facts["flops_convention"] = "2 per multiply-add, matrix products only";
        facts["causal_convention"] = "dense";
        return facts;
    }

    CallBinding& m_binding;
    const protocol::ProfileParams& m_params;
    const std::atomic<bool>& m_stop;
    const JobContext& m_job;
    const Plan& m_plan;
    std::vector<int> m_executions;
    std::vector<OperatorNumbers> m_numbers;
    profile::CoverageLists m_coverage;
    std::map<std::string, std::string> m_facts;
    protocol::ProfileResult m_result;
    TrainingProfile m_training;
};

}  // namespace

std::vector<const Step*> executionOrder(const PlanGraph& graph) {
    std::vector<const Step*> order;
    order.reserve(graph.steps.size());
    for (const Step& step : graph.steps) {
        order.push_back(&step);
        for (const ArgumentSource& argument : step.arguments) {
            if (argument.graph) {
                const std::vector<const Step*> inner = executionOrder(*argument.graph);
                order.insert(order.end(), inner.begin(), inner.end());
            }
        }
    }
    return order;
}

base::Result<protocol::ProfileResult> profileCall(CallBinding& binding, const protocol::ProfileParams& params,
                                                  const std::filesystem::path& file, const std::atomic<bool>& stop,
                                                  const JobContext& job) {
    return Profiler(binding, params, stop, job).run(file);
}

}  // namespace modulelens::engine
