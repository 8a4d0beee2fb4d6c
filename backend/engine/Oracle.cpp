// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Oracle.h"

#include "backend/engine/Executor.h"
#include "backend/engine/Plan.h"
#include "backend/engine/TensorComparison.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

namespace modulelens::engine {

namespace {

using base::ScalarType;

/// Float64 for a floating type, complex128 for a complex one; nothing for what has no wider meaning (8 bit floats, quantised
/// integers), the type itself for all others.
std::optional<ScalarType> widened(ScalarType type) {
    switch (type) {
        case ScalarType::Float16:
        case ScalarType::BFloat16:
        case ScalarType::Float32:
        case ScalarType::Float64:
            return ScalarType::Float64;
        case ScalarType::Complex32:
        case ScalarType::Complex64:
        case ScalarType::Complex128:
            return ScalarType::Complex128;
        case ScalarType::Float8E4M3FN:
        case ScalarType::Float8E5M2:
        case ScalarType::Float8E4M3FNUZ:
        case ScalarType::Float8E5M2FNUZ:
        case ScalarType::Float8E8M0FNU:
        case ScalarType::QInt8:
        case ScalarType::QUInt8:
        case ScalarType::QInt32:
            return std::nullopt;
        default:
            return type;
    }
}

/// Operators whose meaning is tied to the width of their numbers.
std::optional<std::string> unmappable(const std::string& target) {
    static constexpr std::array<std::string_view, 8> kParts = {"quantized.", "onednn.",         "_scaled_mm",   "_weight_int",
                                                               "fbgemm",     "aten.view.dtype", "quantize_per", "_dyn_quant"};
    const auto found = std::find_if(kParts.begin(), kParts.end(),
                                    [&](std::string_view part) { return target.find(part) != std::string::npos; });
    return found == kParts.end() ? std::nullopt : std::optional("the operator " + target + " is tied to its element types");
}

/// Rewrites the element types that a graph names. Confined to its thread.
class Widening {
public:
    [[nodiscard]] graph::Graph widenedGraph(const graph::Graph& original) {
        graph::Graph copy = original;
        for (graph::Node& node : copy.nodes) {
            if (auto found = unmappable(node.target)) {
                reason = *found;
            }
            for (graph::NamedArgument& input : node.inputs) {
                widen(input.argument);
            }
            if (node.target.ends_with("wrap_with_autocast")) {
                disableAutocast(node);
            }
        }
        return copy;
    }

    std::string reason;      ///< Not empty: it cannot be done.

private:
    void widen(graph::Argument& argument) {
        if (auto* type = std::get_if<graph::ScalarTypeArgument>(&argument)) {
            if (const auto wide = widened(type->value)) {
                type->value = *wide;
            } else {
                reason = "the program converts to " + std::string(base::scalarTypeName(type->value));
            }
        } else if (auto* body = std::get_if<graph::GraphArgument>(&argument); body != nullptr && body->graph) {
            body->graph = std::make_shared<const graph::Graph>(widenedGraph(*body->graph));
        }
    }

    // (device, dtype, enabled, cache_enabled, graph, operands...)
    static void disableAutocast(graph::Node& node) {
        for (graph::NamedArgument& input : node.inputs) {
            if (auto* flag = std::get_if<graph::BooleanArgument>(&input.argument)) {
                flag->value = false;
                return;
            }
        }
    }
};

/// The default element type of factories and of integer division, until destroyed.
class DefaultType {
public:
    DefaultType() : m_before(c10::get_default_dtype()) {
        c10::set_default_dtype(caffe2::TypeMeta::fromScalarType(at::kDouble));
    }
    ~DefaultType() { c10::set_default_dtype(m_before); }
    DefaultType(const DefaultType&) = delete;
    DefaultType& operator=(const DefaultType&) = delete;

private:
    caffe2::TypeMeta m_before;
};

at::Tensor generatorState() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock lock(generator.mutex());
    return generator.get_state();
}

void setGeneratorState(const at::Tensor& state) {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock lock(generator.mutex());
    generator.set_state(state);
}

std::int64_t availableBytes() {
    return std::int64_t{::sysconf(_SC_AVPHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

using Storages = std::set<const c10::StorageImpl*>;

/// What the captured call writes to.
Storages writtenStorages(CallBinding& binding) {
    Storages written;
    const auto add = [&](const at::Tensor& tensor) {
        if (tensor.defined()) {
            written.insert(tensor.storage().unsafeGetStorageImpl());
        }
    };
    for (const auto& [pointer, reference] : binding.call().mutated) {
        add(binding.inputAt(pointer));
    }
    for (const auto& [name, reference] : binding.call().stateAfter) {
        if (const Leaf* leaf = binding.program().state().find(name)) {
            add(leaf->tensor);
        }
    }
    return written;
}

/// Why `tensors` cannot be copied in float64; empty when they can.
std::string obstacleOf(const std::vector<at::Tensor>& tensors, const Storages& written) {
    std::int64_t bytes = 0;
    std::map<const c10::StorageImpl*, const c10::TensorImpl*> owners;
    for (const at::Tensor& tensor : tensors) {
        const ScalarType type = captureType(tensor.scalar_type());
        if (!widened(type)) {
            return "an input or weight is " + std::string(base::scalarTypeName(type));
        }
        const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
        const auto owner = owners.emplace(storage, tensor.unsafeGetTensorImpl()).first;
        if (owner->second != tensor.unsafeGetTensorImpl() && written.contains(storage)) {
            return "the call writes to memory that two tensors share, which copies would not";
        }
        bytes += tensor.is_cpu() ? tensor.numel() * 8 : 0;
    }
    // Intermediate results want room as well.
    if (bytes > (std::int64_t{64} << 20) && bytes > availableBytes() / 3) {
        return "float64 copies of " + std::to_string(bytes >> 20) + " MiB would not leave enough memory";
    }
    return {};
}

/// Copies of `inputs` in float64, one for each tensor however often it occurs. Sets `reason` when that cannot be.
std::vector<c10::IValue> widenInputs(const std::vector<c10::IValue>& inputs, const Storages& written, std::string& reason) {
    std::vector<at::Tensor> tensors;
    for (const c10::IValue& input : inputs) {
        if (input.isTensor() && input.toTensor().defined()) {
            tensors.push_back(input.toTensor());
        }
    }
    reason = obstacleOf(tensors, written);
    if (!reason.empty()) {
        return {};
    }
    std::map<const c10::TensorImpl*, at::Tensor> copies;
    std::vector<c10::IValue> values;
    values.reserve(inputs.size());
    for (const c10::IValue& input : inputs) {
        if (!input.isTensor() || !input.toTensor().defined()) {
            values.push_back(input);
            continue;
        }
        const at::Tensor& tensor = input.toTensor();
        at::Tensor& copy = copies[tensor.unsafeGetTensorImpl()];
        if (!copy.defined()) {
            copy = tensor.detach().to(torchType(*widened(captureType(tensor.scalar_type()))), false, true);
        }
        values.emplace_back(copy);
    }
    return values;
}

OracleRun without(std::string reason) {
    return {{}, std::move(reason)};
}

OracleRun run(CallBinding& binding, const std::atomic<bool>& stop) {
    const graph::Program& original = binding.program().program();
    Widening widening;
    auto program = std::make_shared<graph::Program>(original);
    program->graph = widening.widenedGraph(original.graph);
    std::string reason = widening.reason;
    std::vector<c10::IValue> inputs;
    if (reason.empty()) {
        const std::vector<c10::IValue>& pristine = binding.pristineInputs();
        inputs = widenInputs(pristine, writtenStorages(binding), reason);
    }
    if (!reason.empty()) {
        return without(reason);
    }
    const auto plan = makePlan(program, binding.program().devices());
    if (!plan) {
        return without(plan.error().message);
    }
    const DefaultType defaultType;
    const at::Tensor before = generatorState();
    Executor executor;
    const std::vector<c10::IValue> values = executor.run(*plan.value(), inputs, stop, nullptr);
    if (!generatorState().equal(before)) {
        setGeneratorState(before);
        return without("the program draws random numbers, which are others in another element type");
    }
    OracleRun result;
    std::size_t next = 0;
    for (std::size_t i = 0; i < original.outputs.size() && i < values.size(); ++i) {
        if (original.outputs[i].kind == graph::OutputKind::UserOutput && next < original.outputPointers.size()) {
            const std::string& pointer = original.outputPointers[next++];
            if (values[i].isTensor() && values[i].toTensor().defined()) {
                result.outputs[pointer] = onHost(values[i].toTensor());
            }
        }
    }
    return result;
}

double epsilonOf(c10::ScalarType type) {
    switch (type) {
        case at::kHalf:
        case at::kComplexHalf:
            return 0x1p-10;
        case at::kBFloat16:
            return 0x1p-7;
        default:
            return 0x1p-23;
    }
}

}  // namespace

OracleRun runOracle(CallBinding& binding, const std::atomic<bool>& stop) {
    const at::NoGradGuard noGrad;
    try {
        return run(binding, stop);
    } catch (...) {
        const base::Error error = errorOfException("the float64 run");
        if (error.code == base::ErrorCode::Cancelled) {
            throw;
        }
        return without("it does not run in float64: " + error.message);
    }
}

protocol::OracleLeaf compareWithOracle(const at::Tensor& oracle, const at::Tensor& captured, const at::Tensor& got,
                                       double factor) {
    const at::NoGradGuard noGrad;
    protocol::OracleLeaf leaf;
    const c10::ScalarType type = captured.scalar_type();
    if (!c10::isFloatingType(type) && !c10::isComplexType(type)) {
        leaf.reason = "its values are not floating numbers";
        return leaf;
    }
    if (type == at::kDouble || type == at::kComplexDouble) {
        leaf.reason = "it is in float64 itself";
        return leaf;
    }
    if (oracle.sizes() != captured.sizes() || got.sizes() != captured.sizes()) {
        leaf.reason = "it has another shape in float64";
        return leaf;
    }
    if (captured.numel() == 0) {
        leaf.reason = "it has no elements";
        return leaf;
    }
    const c10::ScalarType wide = c10::isComplexType(type) ? at::kComplexDouble : at::kDouble;
    const at::Tensor truth = oracle.to(wide);
    const at::Tensor theirs = captured.to(wide);
    const at::Tensor ours = got.to(wide);
    // Where the captured value overflowed or is no number, ours must be the same; the oracle may well be finite there.
    const at::Tensor isFinite = truth.isfinite().logical_and(theirs.isfinite());
    const at::Tensor isSame = ours.eq(theirs).logical_or(ours.isnan().logical_and(theirs.isnan()));
    const bool sameElsewhere = isSame.logical_or(isFinite).all().item().toBool();
    const at::Tensor elsewhere = isFinite.logical_not();
    const auto largest = [&](const at::Tensor& values) {
        return values.abs()
            .masked_fill(elsewhere, 0.0)
            .nan_to_num(std::numeric_limits<double>::infinity())
            .max()
            .item()
            .toDouble();
    };
    const double errorOurs = largest(ours - truth);
    const double errorCaptured = largest(theirs - truth);
    const double bound = factor * errorCaptured + epsilonOf(type) * largest(truth);
    leaf.errorCaptured = errorCaptured;
    leaf.bound = bound;
    if (std::isfinite(errorOurs)) {
        leaf.errorOurs = errorOurs;
    }
    leaf.verdict = sameElsewhere && errorOurs <= bound ? "pass" : "fail";
    return leaf;
}

}  // namespace modulelens::engine
