// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Comparison.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace modulelens::engine {

namespace {

using protocol::LeafResult;

LeafResult notComparable(const std::string& pointer, const std::string& reason) {
    LeafResult leaf;
    leaf.pointer = pointer;
    leaf.verdict = "not_comparable";
    leaf.reason = reason;
    return leaf;
}

LeafResult failed(const std::string& pointer, const char* check, const std::string& reason) {
    LeafResult leaf;
    leaf.pointer = pointer;
    leaf.verdict = "fail";
    leaf.statistics.failedCheck = check;
    leaf.reason = reason;
    return leaf;
}

std::string escaped(const std::string& name) {
    return (nlohmann::json::json_pointer() / name).to_string();
}

/// Calls `visit(pointer, value)` for each user output that has a place in the call.
template <class Visit>
void forEachOutput(const graph::Program& program, const std::vector<c10::IValue>& outputs, Visit&& visit) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < program.outputs.size() && i < outputs.size(); ++i) {
        if (program.outputs[i].kind == graph::OutputKind::UserOutput && next < program.outputPointers.size()) {
            visit(program.outputPointers[next++], outputs[i]);
        }
    }
}

class Comparer {
public:
    Comparer(CallBinding& binding, const std::vector<c10::IValue>& outputs) : m_binding(binding), m_outputs(outputs) {}

    protocol::ValidateResult compare() {
        compareOutputs();
        for (const auto& [pointer, reference] : m_binding.call().mutated) {
            compareReference(m_binding.inputAt(pointer), reference, pointer);
        }
        checkUndeclaredWrites();
        for (const auto& [name, reference] : m_binding.call().stateAfter) {
            const Leaf* leaf = m_binding.program().state().find(name);
            if (leaf != nullptr) {
                compareReference(leaf->tensor, reference, "/state_after" + escaped(name));
            } else {
                add(notComparable("/state_after" + escaped(name), "the program does not hold this tensor"));
            }
        }
        summarizeLeaves(m_result);
        return std::move(m_result);
    }

private:
    void add(LeafResult leaf) { m_result.leaves.push_back(std::move(leaf)); }

    void compareReference(const at::Tensor& got, const capture::TensorReference& reference, const std::string& pointer) {
        if (!got.defined()) {
            add(failed(pointer, "structure", "the program gives no tensor where the capture has one"));
            return;
        }
        const base::Result<StoredData> data = m_binding.store().find(reference);
        if (!data) {
            add(notComparable(pointer, data.error().message));
            return;
        }
        const at::Tensor expected = viewOfStored(reference, data.value().pristine).expand(reference.shape);
        LeafResult leaf = compareTensors(expected, got, pointer);
        if (leaf.statistics.failedCheck != "structure") {
            comparePlace(got, reference, leaf);
        }
        add(std::move(leaf));
    }

    // Device and strides of a tensor whose type and shape are right.
    void comparePlace(const at::Tensor& got, const capture::TensorReference& reference, LeafResult& leaf) {
        const DeviceMap& devices = m_binding.program().devices();
        const auto fail = [&](const std::string& reason) {
            leaf.verdict = "fail";
            leaf.statistics.failedCheck = "structure";
            leaf.reason = reason;
        };
        const c10::Device expected = devices(c10::Device(reference.device).type());
        if (got.device().type() != expected.type()) {
            fail("expected it on " + c10::DeviceTypeName(expected.type(), true) + ", got it on " +
                 c10::DeviceTypeName(got.device().type(), true));
            return;
        }
        if (hasSameLayout(got, reference)) {
            return;
        }
        const std::string strides = shapeText(got.strides().vec());
        const std::string captured = shapeText(reference.stride);
        if (c10::Device(reference.device).type() == got.device().type()) {
            fail("expected strides " + captured + ", got " + strides);
        } else {
            // Kernels of another device may choose another order.
            m_result.warnings.push_back("the strides at " + leaf.pointer + " are " + strides + " here and were " + captured +
                                        " in the capture");
        }
    }

    static bool hasSameLayout(const at::Tensor& got, const capture::TensorReference& reference) {
        for (std::size_t i = 0; i < reference.shape.size(); ++i) {
            if (reference.shape[i] > 1 && got.strides()[i] != reference.stride[i]) {
                return got.numel() == 0;
            }
        }
        return true;
    }

    void compareOutputs() {
        const graph::Program& program = m_binding.program().program();
        std::map<std::string, capture::TensorReference> tensors;
        for (const capture::LocatedTensor& located : m_binding.call().outputs) {
            tensors.emplace(located.pointer, located.tensor);
        }
        std::set<std::string> seen;
        forEachOutput(program, m_outputs, [&](const std::string& pointer, const c10::IValue& value) {
            seen.insert(pointer);
            const auto tensor = tensors.find(pointer);
            if (tensor != tensors.end()) {
                compareReference(value.isTensor() ? value.toTensor() : at::Tensor(), tensor->second, pointer);
            } else {
                comparePlain(value, pointer);
            }
        });
        for (const auto& [pointer, reference] : tensors) {
            if (seen.count(pointer) == 0) {
                add(notComparable(pointer, "the program does not compute this output"));
            }
        }
    }

    void comparePlain(const c10::IValue& got, const std::string& pointer) {
        const nlohmann::json::json_pointer path(pointer);
        const nlohmann::json& call = *m_binding.call().json;
        if (!call.contains(path)) {
            add(notComparable(pointer, "the capture has no such output"));
            return;
        }
        const nlohmann::json& expected = call.at(path);
        LeafResult leaf;
        leaf.pointer = pointer;
        leaf.elements = 1;
        leaf.expected = expected.dump();
        bool isEqual = false;
        if (got.isNone()) {
            leaf.got = "null";
            isEqual = expected.is_null();
        } else if (got.isBool()) {
            leaf.got = got.toBool() ? "true" : "false";
            isEqual = expected.is_boolean() && expected.get<bool>() == got.toBool();
        } else if (got.isInt()) {
            leaf.got = std::to_string(got.toInt());
            isEqual = expected.is_number_integer() && expected.get<std::int64_t>() == got.toInt();
        } else if (got.isDouble()) {
            leaf.got = numberText(got.toDouble());
            isEqual = expected.is_number() && expected.get<double>() == got.toDouble();
        } else if (got.isString()) {
            leaf.got = got.toStringRef();
            isEqual = expected.is_string() && expected.get<std::string>() == got.toStringRef();
        } else {
            const std::string kind = expected.is_object() ? expected.value("$t", std::string()) : std::string();
            if (got.isTensor() && (expected.is_primitive() || expected.is_array())) {
                add(failed(pointer, "structure", "the program gives a tensor where the capture has " + expected.dump()));
            } else {
                add(notComparable(pointer, kind == "gap" ? expected.value("reason", std::string("it was not captured"))
                                                         : "the capture holds no plain tensor or number here"));
            }
            return;
        }
        leaf.verdict = isEqual ? "exact" : "fail";
        leaf.mismatched = isEqual ? 0 : 1;
        leaf.reason = isEqual ? "" : "the values differ";
        leaf.statistics.failedCheck = isEqual ? "" : "values";
        add(std::move(leaf));
    }

    // A write that the capture does not know of is a fault, even when all outputs agree.
    void checkUndeclaredWrites() {
        for (const Leaf& leaf : m_binding.inputLeaves().all()) {
            if (leaf.isMutated && m_binding.call().mutated.count(leaf.name) == 0 && !isAliasOfMutated(leaf)) {
                add(failed(leaf.name, "write", "the program wrote to this input and the captured call did not"));
            }
        }
        for (const Leaf& leaf : m_binding.program().state().all()) {
            if (leaf.isMutated && !isChangedInCapture(leaf)) {
                add(failed("/state_after" + escaped(leaf.name), "write",
                           "the program wrote to this tensor and the captured call did not"));
            }
        }
    }

    bool isAliasOfMutated(const Leaf& leaf) const {
        for (const auto& [pointer, reference] : m_binding.call().mutated) {
            const Leaf* other = m_binding.inputLeaves().find(pointer);
            if (other != nullptr && other->tensor.storage().data() == leaf.tensor.storage().data()) {
                return true;
            }
        }
        return false;
    }

    bool isChangedInCapture(const Leaf& leaf) const {
        for (const auto& [name, reference] : m_binding.call().stateAfter) {
            const Leaf* other = m_binding.program().state().find(name);
            if (other != nullptr && other->tensor.storage().data() == leaf.tensor.storage().data()) {
                return true;
            }
        }
        return false;
    }

    CallBinding& m_binding;
    const std::vector<c10::IValue>& m_outputs;
    protocol::ValidateResult m_result;
};

}  // namespace

void summarizeLeaves(protocol::ValidateResult& result) {
    const auto count = [&](const char* verdict) {
        return std::count_if(result.leaves.begin(), result.leaves.end(),
                             [&](const LeafResult& leaf) { return leaf.verdict == verdict; });
    };
    const auto gaps = count("not_comparable");
    result.exact = !result.leaves.empty() && count("exact") == static_cast<std::ptrdiff_t>(result.leaves.size());
    result.maxAbsDiff.reset();
    result.reason.clear();
    for (const LeafResult& leaf : result.leaves) {
        if (leaf.maxAbsDiff) {
            result.maxAbsDiff = std::max(result.maxAbsDiff.value_or(0), *leaf.maxAbsDiff);
        }
    }
    if (count("fail") > 0) {
        result.verdict = "fail";
    } else if (result.leaves.empty()) {
        result.verdict = "not_comparable";
        result.reason = "the call has no output that could be compared";
    } else if (gaps > 0) {
        result.verdict = "not_comparable";
        const auto first = std::find_if(result.leaves.begin(), result.leaves.end(),
                                        [](const LeafResult& leaf) { return leaf.verdict == "not_comparable"; });
        result.reason = std::to_string(gaps) + " of " + std::to_string(result.leaves.size()) +
                        " values cannot be compared; the first, at " + first->pointer + ": " + first->reason;
    } else {
        result.verdict = "pass";
    }
}

protocol::ValidateResult compareWithCapture(CallBinding& binding, const std::vector<c10::IValue>& outputs) {
    return Comparer(binding, outputs).compare();
}

std::vector<ComparedTensor> comparedTensors(CallBinding& binding, const std::vector<c10::IValue>& outputs) {
    std::vector<ComparedTensor> tensors;
    const auto add = [&](const std::string& pointer, const at::Tensor& tensor) {
        if (tensor.defined()) {
            tensors.push_back({pointer, tensor});
        }
    };
    forEachOutput(binding.program().program(), outputs, [&](const std::string& pointer, const c10::IValue& value) {
        add(pointer, value.isTensor() ? value.toTensor() : at::Tensor());
    });
    for (const auto& [pointer, reference] : binding.call().mutated) {
        add(pointer, binding.inputAt(pointer));
    }
    for (const auto& [name, reference] : binding.call().stateAfter) {
        if (const Leaf* leaf = binding.program().state().find(name)) {
            add("/state_after" + escaped(name), leaf->tensor);
        }
    }
    return tensors;
}

std::optional<at::Tensor> capturedOutput(const CallBinding& binding, const capture::CallDocument& call,
                                         const std::string& pointer) {
    const auto found = std::find_if(call.outputs.begin(), call.outputs.end(),
                                    [&](const capture::LocatedTensor& located) { return located.pointer == pointer; });
    if (found == call.outputs.end()) {
        return std::nullopt;
    }
    const base::Result<StoredData> data = binding.store().find(found->tensor);
    return data ? std::optional(viewOfStored(found->tensor, data.value().pristine).expand(found->tensor.shape)) : std::nullopt;
}

}  // namespace modulelens::engine
