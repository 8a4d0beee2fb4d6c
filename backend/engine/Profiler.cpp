// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Profiler.h"

#include "backend/engine/CostSummary.h"
#include "backend/engine/Passes.h"
#include "backend/engine/ProfileTree.h"
#include "backend/profile/ProfileFile.h"

#include <ATen/Parallel.h>
#include <torch/version.h>
#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFewestRepetitions = 3;

/// A number of repetitions, cut short when the time is up, but never below a few.
class Budget {
public:
    Budget(int repetitions, std::int64_t budgetMs)
        : m_repetitions(std::max(repetitions, 1)),
          m_end(Clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(budgetMs, 0))) {}

    [[nodiscard]] bool allows(int done) const {
        return done < m_repetitions && (done < kFewestRepetitions || Clock::now() < m_end);
    }

private:
    int m_repetitions;
    Clock::time_point m_end;
};

void report(const JobContext& job, std::string_view stage, std::int64_t done, std::int64_t total) {
    if (job.progress) {
        job.progress(stage, done, total);
    }
}

std::vector<const Step*> executionOrder(const PlanGraph& graph) {
    std::vector<const Step*> order;
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

/// Parameter bytes of each module, each storage at the first name that reaches it, in the program's order of parameters.
std::vector<OwnParameters> ownParameters(const LoadedProgram& program, std::int64_t& totalBytes) {
    std::vector<std::string> names;
    std::set<std::string> isListed;
    const auto list = [&](const std::string& name) {
        if (isListed.insert(name).second) {
            names.push_back(name);
        }
    };
    for (const graph::InputSpec& spec : program.program().inputs) {
        if (spec.kind == graph::InputKind::Parameter) {
            list(spec.target);
        }
    }
    for (const auto& [name, tensor] : program.stateTensors()) {
        list(name);
    }
    std::vector<OwnParameters> owners;
    std::set<std::int64_t> storages;
    for (const std::string& name : names) {
        const auto found = program.stateTensors().find(name);
        if (found == program.stateTensors().end() || found->second.isBuffer) {
            continue;
        }
        const capture::TensorReference& tensor = found->second.tensor;
        if (tensor.storage && !storages.insert(*tensor.storage).second) {
            continue;
        }
        const std::size_t dot = name.rfind('.');
        owners.push_back({dot == std::string::npos ? std::string() : name.substr(0, dot), tensor.viewBytes()});
        totalBytes += tensor.viewBytes();
    }
    return owners;
}

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

    base::Result<protocol::ProfileResult> run(ProfilePasses passes, const std::filesystem::path& file) {
        if (passes == ProfilePasses::All) {
            warmUp();
            time();
            count();
        }
        remember();
        keepSaved();
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
            m_result.samplesNs.push_back(m_binding.run(m_stop, {}).hostNs);
            const StepTimes times = timeSteps(m_binding, m_stop);
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
        if (!m_binding.program().devices().to.is_cpu() && m_plan.steps.empty()) {
            return;
        }
        const StepMemory memory = trackMemory(m_binding, m_stop);
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
            if (failure.error().code == base::ErrorCode::Cancelled) {
                throw;
            }
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
        std::int64_t parameterBytes = 0;
        input.parameters = ownParameters(m_binding.program(), parameterBytes);
        m_result.parameterBytes = parameterBytes;
        for (const Step* step : executionOrder(m_plan.root)) {
            const auto id = static_cast<std::size_t>(step->id);
            const bool isShown = step->kind != StepKind::PythonOperator && (m_executions[id] > 0 || !m_result.latencyNs);
            if (isShown) {
                m_numbers[id].scope = step->node->scope;
                m_numbers[id].name = step->name;
                input.operators.push_back(m_numbers[id]);
            }
        }
        input.plainNs = m_result.latencyNs;
        input.plainSamples = m_result.samplesNs;
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
};

}  // namespace

base::Result<protocol::ProfileResult> profileCall(CallBinding& binding, const protocol::ProfileParams& params,
                                                  ProfilePasses passes, const std::filesystem::path& file,
                                                  const std::atomic<bool>& stop, const JobContext& job) {
    return Profiler(binding, params, stop, job).run(passes, file);
}

}  // namespace modulelens::engine
