// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Validation.h"

#include "backend/engine/Comparison.h"
#include "backend/engine/Oracle.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;
using protocol::LeafResult;

constexpr int kRepeats = 5;
/// Without a wish, repeating ends after this time, but never before the second run.
constexpr std::chrono::seconds kRepeatTime{10};

/// State of the default generators that the program can draw from.
std::vector<at::Tensor> generatorStates(const c10::Device& device) {
    std::vector<at::Tensor> states;
    const auto add = [&](at::Generator generator) {
        const std::scoped_lock lock(generator.mutex());
        states.push_back(generator.get_state().clone());
    };
    add(at::detail::getDefaultCPUGenerator());
    if (!device.is_cpu()) {
        try {
            add(at::globalContext().defaultGenerator(device));
        } catch (const c10::Error&) {
            // A device without a generator draws nothing.
        }
    }
    return states;
}

/// A generator was drawn from whose state the capture does not hold.
bool drewUnknown(const std::vector<at::Tensor>& before, const std::vector<at::Tensor>& after, bool knowsCpu) {
    for (std::size_t i = knowsCpu ? 1 : 0; i < before.size(); ++i) {
        if (!before[i].equal(after[i])) {
            return true;
        }
    }
    return false;
}

/// Leaves memory behind that holds no number, where the next run's results are likely to lie: what it does not write shows.
void poisonMemory(const std::vector<ComparedTensor>& tensors) {
    constexpr std::int64_t kMost = std::int64_t{64} << 20;
    std::vector<at::Tensor> blocks;
    for (const ComparedTensor& compared : tensors) {
        const auto bytes = static_cast<std::int64_t>(compared.tensor.nbytes());
        if (bytes > 0 && bytes <= kMost) {
            blocks.push_back(at::full({bytes}, 0xFF, at::TensorOptions().dtype(at::kByte).device(compared.tensor.device())));
        }
    }
}

int severity(const std::string& verdict) {
    return verdict == "fail" ? 3 : verdict == "not_comparable" ? 2 : verdict == "close" ? 1 : 0;
}

class Validator {
public:
    Validator(CallBinding& binding, const protocol::ValidateParams& params, const std::atomic<bool>& stop,
              const JobContext& job)
        : m_binding(binding), m_params(params), m_stop(stop), m_job(job) {}

    protocol::ValidateResult run() {
        const at::NoGradGuard noGrad;
        report("run", 0, 0);
        const c10::Device device = m_binding.program().devices().to;
        const std::vector<at::Tensor> before = generatorStates(device);
        const Clock::time_point start = Clock::now();
        m_outputs = m_binding.run(m_stop, {}).outputs;
        const bool knowsCpu = m_binding.call().cpuGeneratorState.has_value();
        m_repeats.isStochastic = drewUnknown(before, generatorStates(device), knowsCpu);
        report("compare", 0, 0);
        m_result = compareWithCapture(m_binding, m_outputs);
        for (const ComparedTensor& compared : comparedTensors(m_binding, m_outputs)) {
            m_first.emplace(compared.pointer, onHost(compared.tensor).clone());
        }
        repeat(start);
        compareCapturedCalls();
        judge();
        askOracle();
        m_result.repeats = m_repeats;
        return std::move(m_result);
    }

private:
    void report(std::string_view stage, std::int64_t done, std::int64_t total) const {
        if (m_job.progress) {
            m_job.progress(stage, done, total);
        }
    }

    void repeat(Clock::time_point start) {
        const int wanted = std::max(m_params.repeats.value_or(kRepeats), 1);
        for (; m_repeats.runs < wanted; ++m_repeats.runs) {
            const bool isLate = !m_params.repeats && m_repeats.runs >= 2 && Clock::now() - start > kRepeatTime;
            if (isLate) {
                m_result.warnings.push_back("the run was repeated only " + std::to_string(m_repeats.runs) +
                                            " times, since it takes long");
                break;
            }
            report("repeat", m_repeats.runs, wanted);
            poisonMemory(comparedTensors(m_binding, m_outputs));
            // The outputs before stay alive during the run, so that it cannot find them in its memory.
            std::vector<c10::IValue> outputs = m_binding.run(m_stop, {}).outputs;
            compareRuns(outputs);
            m_outputs = std::move(outputs);
        }
    }

    void compareRuns(const std::vector<c10::IValue>& outputs) {
        bool differs = false;
        for (const ComparedTensor& compared : comparedTensors(m_binding, outputs)) {
            const auto first = m_first.find(compared.pointer);
            if (first == m_first.end()) {
                continue;
            }
            const at::Tensor tensor = onHost(compared.tensor);
            double& spread = m_spread[compared.pointer];
            if (tensor.sizes() != first->second.sizes() || tensor.scalar_type() != first->second.scalar_type()) {
                spread = std::numeric_limits<double>::infinity();
                differs = true;
            } else if (!hasSameBits(tensor, first->second)) {
                spread = std::max(spread, largestDifference(tensor, first->second));
                // Bits of a NaN and signs of zeros are no difference.
                differs = differs || spread > 0;
            }
        }
        if (!differs) {
            return;
        }
        m_repeats.isNondeterministic = true;
        const protocol::ValidateResult again = compareWithCapture(m_binding, outputs);
        for (std::size_t i = 0; i < again.leaves.size() && i < m_result.leaves.size(); ++i) {
            const LeafResult& leaf = again.leaves[i];
            LeafResult& worst = m_result.leaves[i];
            if (leaf.pointer == worst.pointer &&
                (severity(leaf.verdict) > severity(worst.verdict) ||
                 (severity(leaf.verdict) == severity(worst.verdict) && leaf.maxAbsDiff > worst.maxAbsDiff))) {
                worst = leaf;
            }
        }
    }

    /// The reference against itself: captured calls that had the same inputs.
    void compareCapturedCalls() {
        for (const nlohmann::json& json : m_params.sameCalls) {
            const auto call = capture::parseCallDocument(json);
            if (!call || !call.value().exceptionType.empty()) {
                continue;
            }
            ++m_repeats.referenceRuns;
            for (const capture::LocatedTensor& located : m_binding.call().outputs) {
                const auto mine = capturedOutput(m_binding, m_binding.call(), located.pointer);
                const auto other = capturedOutput(m_binding, call.value(), located.pointer);
                if (mine && other && mine->sizes() == other->sizes() && mine->scalar_type() == other->scalar_type()) {
                    double& spread = m_referenceSpread[located.pointer];
                    spread = std::max(spread, largestDifference(onHost(*mine), onHost(*other)));
                }
            }
        }
    }

    void judge() {
        for (LeafResult& leaf : m_result.leaves) {
            const auto spread = m_spread.find(leaf.pointer);
            if (m_repeats.runs > 1 && m_first.count(leaf.pointer) != 0) {
                leaf.statistics.spread = spread == m_spread.end() ? 0 : spread->second;
                m_repeats.spread = std::max(m_repeats.spread.value_or(0), *leaf.statistics.spread);
            }
            const auto reference = m_referenceSpread.find(leaf.pointer);
            if (reference != m_referenceSpread.end()) {
                leaf.statistics.referenceSpread = reference->second;
                m_repeats.referenceSpread = std::max(m_repeats.referenceSpread.value_or(0), reference->second);
            }
            judge(leaf);
        }
        summarizeLeaves(m_result);
    }

    void judge(LeafResult& leaf) const {
        const std::string& check = leaf.statistics.failedCheck;
        if (leaf.verdict != "fail" || (check != "values" && check != "non_finite")) {
            return;
        }
        if (m_repeats.isStochastic) {
            leaf.verdict = "not_comparable";
            leaf.reason = "the run draws random numbers, and the generator's state was not captured";
            return;
        }
        const double spread = leaf.statistics.spread.value_or(0);
        if (!leaf.maxAbsDiff || !(spread > 0)) {
            return;
        }
        if (leaf.statistics.referenceSpread) {
            if (*leaf.maxAbsDiff <= *leaf.statistics.referenceSpread) {
                leaf.verdict = "close";
                leaf.statistics.failedCheck.clear();
                leaf.reason = "nondeterministic: it differs by " + numberText(*leaf.maxAbsDiff) +
                              ", and the captured calls among themselves by " + numberText(*leaf.statistics.referenceSpread);
            }
        } else if (*leaf.maxAbsDiff <= 2 * spread) {
            leaf.verdict = "not_comparable";
            leaf.reason = "nondeterministic: runs differ among themselves by " + numberText(spread) +
                          ", and one captured call does not tell how far it differs itself";
        }
    }

    void askOracle() {
        protocol::OracleResult verdict;
        if (m_result.exact && !m_params.wantsOracle) {
            verdict.reason = "the bits are equal, so both have the same error";
        } else if (m_repeats.isStochastic) {
            verdict.reason = "the run draws random numbers";
        } else if (m_binding.program().foreign() != nullptr) {
            verdict.reason = "the program runs as a whole, so the element types in it cannot be mapped";
        } else {
            report("oracle", 0, 0);
            const OracleRun oracle = runOracle(m_binding, m_stop);
            verdict.reason = oracle.reason;
            for (LeafResult& leaf : m_result.leaves) {
                judgeByOracle(leaf, oracle, verdict);
            }
            if (verdict.verdict.empty() && verdict.reason.empty()) {
                verdict.reason = "no output could be compared in float64";
            }
        }
        m_result.oracle = verdict;
    }

    void judgeByOracle(LeafResult& leaf, const OracleRun& oracle, protocol::OracleResult& all) const {
        protocol::OracleLeaf one;
        const auto truth = oracle.outputs.find(leaf.pointer);
        const auto got = m_first.find(leaf.pointer);
        const auto captured = capturedOutput(m_binding, m_binding.call(), leaf.pointer);
        const bool isOutput = truth != oracle.outputs.end() && got != m_first.end() && captured &&
                              got->second.scalar_type() == captured->scalar_type();
        if (isOutput) {
            one = compareWithOracle(truth->second, onHost(*captured), got->second, all.factor);
        } else {
            one.reason = oracle.reason.empty() ? "it has no counterpart in float64" : oracle.reason;
        }
        if (!one.verdict.empty() && all.verdict != "fail") {
            all.verdict = one.verdict;
        }
        leaf.statistics.oracle = std::move(one);
    }

    CallBinding& m_binding;
    const protocol::ValidateParams& m_params;
    const std::atomic<bool>& m_stop;
    const JobContext& m_job;
    std::vector<c10::IValue> m_outputs;
    protocol::ValidateResult m_result;
    protocol::RepeatResult m_repeats;
    std::map<std::string, at::Tensor> m_first;
    std::map<std::string, double> m_spread;
    std::map<std::string, double> m_referenceSpread;
};

}  // namespace

protocol::ValidateResult validateCall(CallBinding& binding, const protocol::ValidateParams& params,
                                      const std::atomic<bool>& stop, const JobContext& job) {
    return Validator(binding, params, stop, job).run();
}

}  // namespace modulelens::engine
