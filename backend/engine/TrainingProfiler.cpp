// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/TrainingProfiler.h"

#include "backend/engine/BackwardPass.h"
#include "backend/engine/MemoryPass.h"
#include "backend/engine/Repetitions.h"

#include <map>
#include <numeric>
#include <set>

namespace modulelens::engine {

namespace {

class TrainingProfiler {
public:
    TrainingProfiler(CallBinding& binding, const protocol::ProfileParams& params, std::unique_ptr<Optimizer> optimizer,
                     const std::atomic<bool>& stop, const JobContext& job)
        : m_params(params), m_stop(stop), m_job(job), m_optimizer(std::move(optimizer)), m_run(binding) {
        m_run.setOptimizer(m_optimizer.get());
    }

    TrainingProfile profile() {
        m_profile.result.loss = m_run.lossName();
        if (m_optimizer) {
            m_profile.result.optimizer = m_optimizer->name();
            m_profile.result.optimizerStateFormula = m_optimizer->stateFormula();
        }
        try {
            measure();
        } catch (const Failure& failure) {
            rethrowIfFatal(failure, m_run.binding().program().devices().to);
            m_profile = {};
            m_profile.result.reasons["backward"] = failure.error().message;
        }
        return std::move(m_profile);
    }

private:
    void measure() {
        const TrainingRows& rows = m_run.rows();
        m_numbers.resize(rows.count());
        time();
        count();
        remember();
        const auto stepCount = static_cast<std::size_t>(rows.gradientsOf(0));
        m_profile.steps.assign(m_numbers.begin(), m_numbers.begin() + static_cast<std::ptrdiff_t>(stepCount));
        for (std::size_t row = stepCount; row < m_numbers.size(); ++row) {
            addRow(static_cast<int>(row));
        }
        addEngineRow();
    }

    // Plain and timed passes in turn, so that a drift of the machine's speed meets both.
    void time() {
        for (int i = 0; i < std::max(m_params.warmupRuns, 1); ++i) {
            report(m_job, "backward warm-up", i, m_params.warmupRuns);
            (void)m_run.run(m_stop, {});
        }
        (void)timeBackward(m_run, m_stop);
        std::vector<std::vector<std::int64_t>> rowNs(m_numbers.size());
        std::vector<std::int64_t> forwardNs;
        std::vector<std::int64_t> optimizerNs;
        std::vector<std::int64_t> nodeNs;
        std::vector<std::int64_t> summationNs;
        protocol::TrainingResult& result = m_profile.result;
        const Budget budget(m_params.repetitions, m_params.budgetMs);
        for (int i = 0; budget.allows(i); ++i) {
            report(m_job, "backward", i, m_params.repetitions);
            const TrainingTimes plain = m_run.run(m_stop, {});
            forwardNs.push_back(plain.forwardNs);
            optimizerNs.push_back(plain.optimizerNs);
            result.backwardSamplesNs.push_back(plain.backwardNs);
            result.stepSamplesNs.push_back(plain.stepNs());
            const BackwardTimes times = timeBackward(m_run, m_stop);
            std::int64_t sum = 0;
            for (std::size_t row = 0; row < rowNs.size(); ++row) {
                rowNs[row].push_back(times.ns[row]);
                sum += static_cast<int>(row) == m_run.rows().optimizer() ? 0 : times.ns[row];
            }
            nodeNs.push_back(sum);
            if (i < kFewestRepetitions) {
                summationNs.push_back(timeSummation(m_run, m_stop));
            }
        }
        for (std::size_t row = 0; row < rowNs.size(); ++row) {
            m_numbers[row].latencyNs = median(std::move(rowNs[row]));
        }
        m_numbers[static_cast<std::size_t>(m_run.rows().summation())].latencyNs = median(summationNs);
        if (!m_optimizer) {
            m_numbers[static_cast<std::size_t>(m_run.rows().optimizer())].latencyNs.reset();
        } else {
            result.optimizerNs = median(optimizerNs);
            m_numbers[static_cast<std::size_t>(m_run.rows().optimizer())].latencyNs = result.optimizerNs;
        }
        result.forwardNs = median(forwardNs);
        result.backwardNs = median(result.backwardSamplesNs);
        result.stepNs = median(result.stepSamplesNs);
        result.nodeSumNs = median(nodeNs);
        result.summationNs = median(summationNs);
    }

    void count() {
        report(m_job, "backward flops", 0, 1);
        BackwardCosts costs = countBackward(m_run, m_stop);
        for (std::size_t row = 0; row < m_numbers.size(); ++row) {
            m_numbers[row].flops = costs.flops[row];
            m_numbers[row].bytes = costs.bytes[row];
        }
        protocol::TrainingResult& result = m_profile.result;
        if (costs.totalFlops > 0 || costs.coverage.unknown.empty()) {
            result.flops = costs.totalFlops;
        } else {
            result.reasons["flops"] = "no operator of the backward pass has a FLOP formula";
        }
        result.counted = std::move(costs.coverage.counted);
        result.zero = std::move(costs.coverage.zero);
        result.unknown = std::move(costs.coverage.unknown);
    }

    void remember() {
        report(m_job, "backward memory", 0, 1);
        if (m_optimizer) {
            m_optimizer->forgetState();
        }
        const MemoryHistory history = trackTraining(m_run, m_stop);
        m_profile.trainingPeak.assign(history.atPeak.begin(), history.atPeak.end());
        protocol::TrainingResult& result = m_profile.result;
        result.peakBytes = history.peakBeforeOptimizer();
        std::int64_t total = 0;
        m_profile.gradients = gradientBytes(m_run, total);
        result.gradientBytes = total;
        if (m_optimizer) {
            result.stepPeakBytes = history.peakBytes;
            result.optimizerStateBytes = m_optimizer->stateBytes();
        }
    }

    void addRow(int row) {
        const auto index = static_cast<std::size_t>(row);
        const BackwardNumbers& numbers = m_numbers[index];
        const std::int64_t peak = m_profile.trainingPeak[index].value_or(0);
        if (numbers.latencyNs.value_or(0) == 0 && !numbers.flops && !numbers.bytes && peak == 0) {
            return;
        }
        TrainingRow shown = describeRow(m_run.rows(), row, m_optimizer.get());
        shown.backward = numbers;
        shown.trainingPeakBytes = peak;
        m_profile.rows.push_back(std::move(shown));
    }

    // What no autograd node explains of the plain backward pass.
    void addEngineRow() {
        std::int64_t explained = 0;
        for (std::size_t row = 0; row < m_numbers.size(); ++row) {
            explained += static_cast<int>(row) == m_run.rows().optimizer() ? 0 : m_numbers[row].latencyNs.value_or(0);
        }
        if (*m_profile.result.backwardNs > explained) {
            TrainingRow engine;
            engine.name = "autograd engine";
            engine.backward.latencyNs = *m_profile.result.backwardNs - explained;
            m_profile.rows.push_back(std::move(engine));
        }
    }

    const protocol::ProfileParams& m_params;
    const std::atomic<bool>& m_stop;
    const JobContext& m_job;
    std::unique_ptr<Optimizer> m_optimizer;
    TrainingRun m_run;
    std::vector<BackwardNumbers> m_numbers;
    TrainingProfile m_profile;
};

}  // namespace

std::vector<OwnBytes> gradientBytes(const TrainingRun& run, std::int64_t& total) {
    std::map<int, std::int64_t> byOwner;
    std::set<const c10::StorageImpl*> storages;
    for (const GradientTarget& target : run.targets()) {
        const at::Tensor& gradient = target.tensor.grad();
        if (!gradient.defined() ||
            (gradient.has_storage() && !storages.insert(gradient.storage().unsafeGetStorageImpl()).second)) {
            continue;
        }
        const auto bytes = gradient.has_storage() ? static_cast<std::int64_t>(gradient.storage().nbytes()) : std::int64_t{0};
        byOwner[target.owner] += bytes;
        total += bytes;
    }
    std::vector<OwnBytes> owners;
    owners.reserve(byOwner.size());
    for (const auto& [owner, bytes] : byOwner) {
        owners.push_back({run.rows().owners()[static_cast<std::size_t>(owner)], bytes});
    }
    return owners;
}

TrainingRow describeRow(const TrainingRows& rows, int row, const Optimizer* optimizer) {
    TrainingRow described;
    if (row == rows.loss()) {
        described.name = "loss";
    } else if (row == rows.summation()) {
        described.name = "gradient summation";
    } else if (row == rows.optimizer()) {
        described.name = "optimizer" + (optimizer == nullptr ? std::string() : " " + optimizer->name());
    } else {
        described.module = rows.owners()[static_cast<std::size_t>(row - rows.gradientsOf(0))];
        described.name = "autograd::AccumulateGrad";
        described.isOperator = true;
    }
    return described;
}

TrainingProfile profileTraining(CallBinding& binding, const protocol::ProfileParams& params, const std::atomic<bool>& stop,
                                const JobContext& job) {
    std::unique_ptr<Optimizer> optimizer;
    if (!params.train.empty()) {
        auto created = Optimizer::create(params.train);
        if (!created) {
            throw Failure(created.error());
        }
        optimizer = std::move(created).value();
    }
    return TrainingProfiler(binding, params, std::move(optimizer), stop, job).profile();
}

}  // namespace modulelens::engine
