// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/GradientCheck.h"

#include "backend/engine/TensorComparison.h"
#include "backend/engine/TrainingRun.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <map>

namespace modulelens::engine {

namespace {

using protocol::LeafResult;

std::string escaped(const std::string& name) {
    std::string text;
    for (const char c : name) {
        text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return text;
}

LeafResult withReason(const std::string& pointer, const char* verdict, const std::string& reason) {
    LeafResult leaf;
    leaf.pointer = pointer;
    leaf.verdict = verdict;
    leaf.reason = reason;
    return leaf;
}

class GradientChecker {
public:
    GradientChecker(CallBinding& binding, const TrainingRun& run) : m_binding(binding) {
        for (const GradientTarget& target : run.targets()) {
            (target.isParameter ? m_parameters : m_inputs)[target.name] = &target;
        }
    }

    protocol::ValidateResult check(const capture::CallGradients& expected) {
        checkAll("/gradients/inputs/", expected.inputs, m_inputs);
        checkAll("/gradients/parameters/", expected.parameters, m_parameters);
        summarize();
        return std::move(m_result);
    }

private:
    using Targets = std::map<std::string, const GradientTarget*>;
    using Expected = std::map<std::string, std::optional<capture::TensorReference>>;

    void checkAll(const std::string& prefix, const Expected& expected, Targets& targets) {
        for (const auto& [name, reference] : expected) {
            const std::string pointer = prefix + escaped(name);
            const GradientTarget* target = findTarget(targets, name);
            const at::Tensor gradient = target == nullptr ? at::Tensor() : target->tensor.grad();
            m_result.leaves.push_back(compare(pointer, reference, gradient));
            if (target != nullptr) {
                m_isSeen[target] = true;
            }
        }
        for (const auto& [name, target] : targets) {
            if (m_isSeen.count(target) == 0 && target->tensor.grad().defined()) {
                m_result.leaves.push_back(
                    withReason(prefix + escaped(name), "fail", "it has a gradient here and the captured call gave it none"));
            }
        }
    }

    // A tied tensor may be known here by another of its names.
    const GradientTarget* findTarget(Targets& targets, const std::string& name) const {
        if (const auto found = targets.find(name); found != targets.end()) {
            return found->second;
        }
        const Leaf* leaf = m_binding.program().state().find(name);
        if (leaf == nullptr) {
            leaf = m_binding.inputLeaves().find(name);
        }
        for (const auto& [other, target] : targets) {
            if (leaf != nullptr && target->tensor.is_same(leaf->tensor)) {
                return target;
            }
        }
        return nullptr;
    }

    LeafResult compare(const std::string& pointer, const std::optional<capture::TensorReference>& reference,
                       const at::Tensor& gradient) const {
        if (!reference) {
            return gradient.defined() ? withReason(pointer, "fail", "it has a gradient here and none in eager PyTorch")
                                      : withReason(pointer, "exact", "");
        }
        if (reference->digest.empty()) {
            return withReason(pointer, "not_comparable", "the captured gradient was not kept: " + reference->gap);
        }
        if (!gradient.defined()) {
            return withReason(pointer, "fail", "it has no gradient here and one in eager PyTorch");
        }
        const base::Result<StoredData> data = m_binding.store().find(*reference);
        if (!data) {
            return withReason(pointer, "not_comparable", data.error().message);
        }
        const at::Tensor expected = viewOfStored(*reference, data.value().pristine).expand(reference->shape);
        return compareTensors(expected, gradient.is_sparse() ? gradient.to_dense() : gradient, pointer);
    }

    void summarize() {
        const auto count = [&](const char* verdict) {
            return std::count_if(m_result.leaves.begin(), m_result.leaves.end(),
                                 [&](const LeafResult& leaf) { return leaf.verdict == verdict; });
        };
        for (const LeafResult& leaf : m_result.leaves) {
            if (leaf.maxAbsDiff) {
                m_result.maxAbsDiff = std::max(m_result.maxAbsDiff.value_or(0), *leaf.maxAbsDiff);
            }
        }
        m_result.exact = !m_result.leaves.empty() && count("exact") == static_cast<std::ptrdiff_t>(m_result.leaves.size());
        if (count("fail") > 0) {
            m_result.verdict = "fail";
        } else if (m_result.leaves.empty() || count("not_comparable") > 0) {
            m_result.verdict = "not_comparable";
            m_result.reason = m_result.leaves.empty() ? "the captured call has no gradient to compare with"
                                                      : "some captured gradients were not kept";
        } else {
            m_result.verdict = "pass";
        }
    }

    CallBinding& m_binding;
    Targets m_inputs;
    Targets m_parameters;
    std::map<const GradientTarget*, bool> m_isSeen;
    protocol::ValidateResult m_result;
};

}  // namespace

protocol::ValidateResult checkGradients(CallBinding& binding, const std::atomic<bool>& stop) {
    protocol::ValidateResult result;
    if (!binding.call().gradients) {
        result.verdict = "not_comparable";
        result.reason =
            "the capture holds no gradients of this call: nothing in it needs one, or it was traced without backward=True";
    } else {
        TrainingRun run(binding);
        (void)run.run(stop, {});
        result = GradientChecker(binding, run).check(*binding.call().gradients);
    }
    result.threads = at::get_num_threads();
    return result;
}

}  // namespace modulelens::engine
