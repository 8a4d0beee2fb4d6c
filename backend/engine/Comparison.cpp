// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Comparison.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
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

LeafResult failed(const std::string& pointer, const std::string& reason) {
    LeafResult leaf;
    leaf.pointer = pointer;
    leaf.verdict = "fail";
    leaf.reason = reason;
    return leaf;
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    }
    return text + "]";
}

std::string numberText(double value) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
    return {buffer, end.ptr};
}

std::string elementText(const at::Tensor& element) {
    if (c10::isComplexType(element.scalar_type())) {
        const auto value = element.to(at::kComplexDouble).item().toComplexDouble();
        return numberText(value.real()) + (std::signbit(value.imag()) ? "" : "+") + numberText(value.imag()) + "j";
    }
    if (c10::isIntegralType(element.scalar_type(), false)) {
        return std::to_string(element.to(at::kLong).item().toLong());
    }
    if (element.scalar_type() == at::kBool) {
        return element.item().toBool() ? "true" : "false";
    }
    if (element.scalar_type() == at::kFloat) {
        char buffer[40];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, element.item().toFloat());
        return {buffer, end.ptr};
    }
    return numberText(element.to(at::kDouble).item().toDouble());
}

bool hasSameBits(const at::Tensor& left, const at::Tensor& right) {
    return left.nbytes() == 0 || std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

at::Tensor asWide(const at::Tensor& tensor) {
    return tensor.to(c10::isComplexType(tensor.scalar_type()) ? at::kComplexDouble : at::kDouble);
}

bool isInexact(c10::ScalarType type) {
    return c10::isFloatingType(type) || c10::isComplexType(type);
}

bool hasArithmetic(c10::ScalarType type) {
    return !c10::isQIntType(type) && type != at::kBits8 && type != at::kBits16 && type != at::kFloat8_e8m0fnu;
}

// Fills the numbers of a leaf whose bits differ. Both tensors are dense, on the CPU, of one shape and type.
void compareValues(const at::Tensor& expected, const at::Tensor& got, LeafResult& leaf) {
    const at::Tensor wide = asWide(expected);
    const at::Tensor wideGot = asWide(got);
    at::Tensor difference = (wide - wideGot).abs();
    at::Tensor isEqual = expected.eq(got);
    if (isInexact(expected.scalar_type())) {
        isEqual = wide.eq(wideGot).logical_or(wide.isnan().logical_and(wideGot.isnan()));
    }
    difference = difference.masked_fill(isEqual, 0.0);
    const at::Tensor allowed = wide.abs() * leaf.relativeTolerance + leaf.absoluteTolerance;
    // Written so that a NaN or an infinity on one side alone is a mismatch. Integers may differ by less than a double shows.
    const at::Tensor isMismatch =
        isInexact(expected.scalar_type())
            ? isEqual.logical_or(difference.le(allowed).logical_and(wide.abs().isfinite())).logical_not()
            : isEqual.logical_not();
    leaf.mismatched = isMismatch.sum().item().toLong();
    const at::Tensor ordered = difference.nan_to_num(std::numeric_limits<double>::infinity());
    const double largest = ordered.max().item().toDouble();
    if (std::isfinite(largest)) {
        leaf.maxAbsDiff = largest;
    }
    const at::Tensor relative = (difference / wide.abs()).masked_fill(wide.abs().eq(0), 0.0);
    const double largestRelative = relative.nan_to_num(std::numeric_limits<double>::infinity()).max().item().toDouble();
    if (std::isfinite(largestRelative)) {
        leaf.maxRelDiff = largestRelative;
    }
    const at::Tensor excess = leaf.mismatched > 0 ? ordered.masked_fill(isMismatch.logical_not(), -1.0) : ordered;
    std::int64_t flat = excess.flatten().argmax().item().toLong();
    leaf.expected = elementText(expected.flatten()[flat]);
    leaf.got = elementText(got.flatten()[flat]);
    leaf.worstIndex.resize(leaf.shape.size());
    for (std::size_t i = leaf.shape.size(); i-- > 0;) {
        leaf.worstIndex[i] = flat % leaf.shape[i];
        flat /= leaf.shape[i];
    }
    leaf.verdict = leaf.mismatched > 0 ? "fail" : "close";
    if (leaf.mismatched > 0) {
        leaf.reason = std::to_string(leaf.mismatched) + " of " + std::to_string(leaf.elements) + " elements differ";
    }
}

bool isOnlyNanBits(const at::Tensor& expected, const at::Tensor& got) {
    const at::Tensor isNan = expected.isnan();
    return isNan.equal(got.isnan()) && hasSameBits(expected.masked_fill(isNan, 0), got.masked_fill(isNan, 0));
}

std::string escaped(const std::string& name) {
    return (nlohmann::json::json_pointer() / name).to_string();
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
        summarize();
        return std::move(m_result);
    }

private:
    void add(LeafResult leaf) { m_result.leaves.push_back(std::move(leaf)); }

    void compareReference(const at::Tensor& got, const capture::TensorReference& reference, const std::string& pointer) {
        if (!got.defined()) {
            add(failed(pointer, "the program gives no tensor where the capture has one"));
            return;
        }
        const base::Result<StoredData> data = m_binding.store().find(reference);
        if (!data) {
            add(notComparable(pointer, data.error().message));
            return;
        }
        const at::Tensor expected = viewOfStored(reference, data.value().pristine).expand(reference.shape);
        LeafResult leaf = compareTensors(expected, got, pointer);
        if (leaf.verdict != "fail" && !hasSameLayout(got, reference)) {
            m_result.warnings.push_back("the strides at " + pointer + " are " + shapeText(got.strides().vec()) +
                                        " here and were " + shapeText(reference.stride) + " in the capture");
        }
        add(std::move(leaf));
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
        std::size_t next = 0;
        for (std::size_t i = 0; i < program.outputs.size() && i < m_outputs.size(); ++i) {
            if (program.outputs[i].kind != graph::OutputKind::UserOutput || next >= program.outputPointers.size()) {
                continue;
            }
            const std::string& pointer = program.outputPointers[next++];
            seen.insert(pointer);
            const auto tensor = tensors.find(pointer);
            if (tensor != tensors.end()) {
                compareReference(m_outputs[i].isTensor() ? m_outputs[i].toTensor() : at::Tensor(), tensor->second, pointer);
            } else {
                comparePlain(m_outputs[i], pointer);
            }
        }
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
            add(notComparable(pointer, kind == "gap" ? expected.value("reason", std::string("it was not captured"))
                                                     : "the capture holds no plain tensor or number here"));
            return;
        }
        leaf.verdict = isEqual ? "exact" : "fail";
        leaf.mismatched = isEqual ? 0 : 1;
        leaf.reason = isEqual ? "" : "the values differ";
        add(std::move(leaf));
    }

    // A write that the capture does not know of is a fault, even when all outputs agree.
    void checkUndeclaredWrites() {
        for (const Leaf& leaf : m_binding.inputLeaves().all()) {
            if (leaf.isMutated && m_binding.call().mutated.count(leaf.name) == 0 && !isAliasOfMutated(leaf)) {
                add(failed(leaf.name, "the program wrote to this input and the captured call did not"));
            }
        }
        for (const Leaf& leaf : m_binding.program().state().all()) {
            if (leaf.isMutated && !isChangedInCapture(leaf)) {
                add(failed("/state_after" + escaped(leaf.name),
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

    void summarize() {
        const auto count = [&](const char* verdict) {
            return std::count_if(m_result.leaves.begin(), m_result.leaves.end(),
                                 [&](const LeafResult& leaf) { return leaf.verdict == verdict; });
        };
        const auto gaps = count("not_comparable");
        m_result.exact = !m_result.leaves.empty() && count("exact") == static_cast<std::ptrdiff_t>(m_result.leaves.size());
        for (const LeafResult& leaf : m_result.leaves) {
            if (leaf.maxAbsDiff) {
                m_result.maxAbsDiff = std::max(m_result.maxAbsDiff.value_or(0), *leaf.maxAbsDiff);
            }
        }
        if (count("fail") > 0) {
            m_result.verdict = "fail";
        } else if (m_result.leaves.empty()) {
            m_result.verdict = "not_comparable";
            m_result.reason = "the call has no output that could be compared";
        } else if (gaps > 0) {
            m_result.verdict = "not_comparable";
            const auto first = std::find_if(m_result.leaves.begin(), m_result.leaves.end(),
                                            [](const LeafResult& leaf) { return leaf.verdict == "not_comparable"; });
            m_result.reason = std::to_string(gaps) + " of " + std::to_string(m_result.leaves.size()) +
                              " values cannot be compared; the first, at " + first->pointer + ": " + first->reason;
        } else {
            m_result.verdict = "pass";
        }
    }

    CallBinding& m_binding;
    const std::vector<c10::IValue>& m_outputs;
    protocol::ValidateResult m_result;
};

}  // namespace

Tolerance toleranceOf(c10::ScalarType type) {
    switch (type) {
        case at::kHalf:
        case at::kComplexHalf:
            return {1e-3, 1e-5};
        case at::kBFloat16:
            return {1.6e-2, 1e-5};
        case at::kFloat:
        case at::kComplexFloat:
            return {1.3e-6, 1e-5};
        case at::kDouble:
        case at::kComplexDouble:
            return {1e-7, 1e-7};
        default:
            return {0, 0};
    }
}

LeafResult compareTensors(const at::Tensor& expectedTensor, const at::Tensor& gotTensor, const std::string& pointer) {
    const at::NoGradGuard noGrad;
    LeafResult leaf;
    leaf.pointer = pointer;
    leaf.dtype = base::scalarTypeName(captureType(expectedTensor.scalar_type()));
    leaf.shape = expectedTensor.sizes().vec();
    leaf.elements = expectedTensor.numel();
    const Tolerance tolerance = toleranceOf(expectedTensor.scalar_type());
    leaf.relativeTolerance = tolerance.relative;
    leaf.absoluteTolerance = tolerance.absolute;
    if (gotTensor.scalar_type() != expectedTensor.scalar_type() || gotTensor.sizes() != expectedTensor.sizes()) {
        leaf.verdict = "fail";
        leaf.mismatched = leaf.elements;
        leaf.reason = "expected " + leaf.dtype + shapeText(leaf.shape) + ", got " +
                      std::string(base::scalarTypeName(captureType(gotTensor.scalar_type()))) +
                      shapeText(gotTensor.sizes().vec());
        return leaf;
    }
    const at::Tensor expected = expectedTensor.detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous();
    const at::Tensor got = gotTensor.detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous();
    const bool canCompute = hasArithmetic(expected.scalar_type());
    if (hasSameBits(expected, got) || (canCompute && isInexact(expected.scalar_type()) && isOnlyNanBits(expected, got))) {
        leaf.verdict = "exact";
        leaf.maxAbsDiff = 0;
        leaf.maxRelDiff = 0;
        return leaf;
    }
    if (canCompute) {
        compareValues(expected, got, leaf);
    } else {
        leaf.verdict = "fail";
        leaf.mismatched = leaf.elements;
        leaf.reason = "the bits differ";
    }
    return leaf;
}

protocol::ValidateResult compareWithCapture(CallBinding& binding, const std::vector<c10::IValue>& outputs) {
    return Comparer(binding, outputs).compare();
}

}  // namespace modulelens::engine
