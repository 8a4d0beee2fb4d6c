// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/TensorComparison.h"

#include "backend/engine/TorchTypes.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace modulelens::engine {

namespace {

using protocol::LeafResult;

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

at::Tensor asWide(const at::Tensor& tensor) {
    return tensor.to(c10::isComplexType(tensor.scalar_type()) ? at::kComplexDouble : at::kDouble);
}

bool isInexact(c10::ScalarType type) {
    return c10::isFloatingType(type) || c10::isComplexType(type);
}

bool hasArithmetic(c10::ScalarType type) {
    return !c10::isQIntType(type) && type != at::kBits8 && type != at::kBits16 && type != at::kFloat8_e8m0fnu;
}

std::int64_t countOf(const at::Tensor& mask) {
    return mask.sum().item().toLong();
}

std::vector<std::int64_t> indexOf(std::int64_t flat, const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> index(shape.size());
    for (std::size_t i = shape.size(); i-- > 0;) {
        index[i] = flat % shape[i];
        flat /= shape[i];
    }
    return index;
}

/// Floating numbers as integers in their own order, so that neighbours differ by 1 and both zeros are 0.
at::Tensor ordered(const at::Tensor& numbers) {
    const c10::ScalarType type = numbers.scalar_type();
    const bool isShort = type == at::kHalf || type == at::kBFloat16;
    const at::Tensor bits = numbers.view(isShort ? at::kShort : type == at::kFloat ? at::kInt : at::kLong).to(at::kLong);
    const std::int64_t lowest = isShort              ? std::numeric_limits<std::int16_t>::min()
                                : type == at::kFloat ? std::numeric_limits<std::int32_t>::min()
                                                     : std::numeric_limits<std::int64_t>::min();
    return at::where(bits.lt(0), at::rsub(bits, lowest), bits);
}

std::optional<std::int64_t> largestUlp(const at::Tensor& expected, const at::Tensor& got) {
    const at::Tensor left = c10::isComplexType(expected.scalar_type()) ? at::view_as_real(expected) : expected;
    const at::Tensor right = c10::isComplexType(got.scalar_type()) ? at::view_as_real(got) : got;
    const c10::ScalarType type = left.scalar_type();
    if (left.numel() == 0 || (type != at::kHalf && type != at::kBFloat16 && type != at::kFloat && type != at::kDouble)) {
        return std::nullopt;
    }
    const at::Tensor isFinite = left.isfinite().logical_and(right.isfinite());
    const at::Tensor a = ordered(left);
    const at::Tensor b = ordered(right);
    const at::Tensor apart = a.abs().add(b.abs());
    // Across zero in float64 the sum may wrap: as far as can be told, then.
    const at::Tensor across = apart.masked_fill(apart.lt(0), std::numeric_limits<std::int64_t>::max());
    const at::Tensor distance = at::where(a.lt(0).eq(b.lt(0)), a.sub(b).abs(), across);
    return distance.masked_fill(isFinite.logical_not(), 0).max().item().toLong();
}

void countNonFinite(const at::Tensor& expected, const at::Tensor& got, protocol::LeafStatistics& statistics) {
    const at::Tensor isNan = expected.isnan();
    const at::Tensor isNanGot = got.isnan();
    const at::Tensor isInfinite = expected.isinf();
    const at::Tensor isInfiniteGot = got.isinf();
    statistics.nanExpected = countOf(isNan);
    statistics.nanGot = countOf(isNanGot);
    statistics.nanMismatched = countOf(isNan.logical_xor(isNanGot));
    statistics.infiniteExpected = countOf(isInfinite);
    statistics.infiniteGot = countOf(isInfiniteGot);
    statistics.infiniteMismatched = countOf(isInfinite.logical_or(isInfiniteGot).logical_and(expected.ne(got)));
}

/// Cosine and error of both as vectors, where both are finite.
void compareAsVectors(const at::Tensor& wide, const at::Tensor& wideGot, protocol::LeafStatistics& statistics) {
    const at::Tensor isFinite = wide.isfinite().logical_and(wideGot.isfinite());
    const auto flat = [&](const at::Tensor& tensor) {
        const at::Tensor masked = at::where(isFinite, tensor, at::zeros({}, tensor.options()));
        return (c10::isComplexType(masked.scalar_type()) ? at::view_as_real(masked) : masked).flatten();
    };
    at::Tensor a = flat(wide);
    at::Tensor b = flat(wideGot);
    const double largest = std::max(a.abs().max().item().toDouble(), b.abs().max().item().toDouble());
    if (!(largest > 0)) {
        return;
    }
    a = a / largest;
    b = b / largest;
    const double norm = a.norm().item().toDouble();
    const double normGot = b.norm().item().toDouble();
    if (norm > 0) {
        statistics.normRelativeError = a.sub(b).norm().item().toDouble() / norm;
        if (normGot > 0) {
            statistics.cosine = std::min(1.0, at::dot(a, b).item().toDouble() / norm / normGot);
        }
    }
}

void explainMismatch(LeafResult& leaf) {
    const protocol::LeafStatistics& statistics = leaf.statistics;
    leaf.reason = std::to_string(leaf.mismatched) + " of " + std::to_string(leaf.elements) + " elements differ";
    const auto add = [&](std::int64_t count, const char* what) {
        if (count > 0) {
            leaf.reason += ", " + std::to_string(count) + " of them " + what;
        }
    };
    add(statistics.nanMismatched, "NaN on one side alone");
    add(statistics.infiniteMismatched, "not the same infinity");
    leaf.statistics.failedCheck = statistics.nanMismatched > 0 || statistics.infiniteMismatched > 0 ? "non_finite" : "values";
}

// Fills the numbers of a leaf whose bits differ. Both tensors are dense, on the CPU, of one shape and type.
void compareValues(const at::Tensor& expected, const at::Tensor& got, LeafResult& leaf) {
    const bool isReal = isInexact(expected.scalar_type());
    const at::Tensor wide = asWide(expected);
    const at::Tensor wideGot = asWide(got);
    const at::Tensor isEqual =
        isReal ? wide.eq(wideGot).logical_or(wide.isnan().logical_and(wideGot.isnan())) : expected.eq(got);
    const at::Tensor difference = (wide - wideGot).abs().masked_fill(isEqual, 0.0);
    const at::Tensor allowed = wide.abs() * leaf.relativeTolerance + leaf.absoluteTolerance;
    // Written so that a NaN or an infinity on one side alone is a mismatch. Integers may differ by less than a double shows.
    const at::Tensor isMismatch =
        isReal ? isEqual.logical_or(difference.le(allowed).logical_and(wide.abs().isfinite())).logical_not()
               : isEqual.logical_not();
    leaf.mismatched = countOf(isMismatch);
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
    const std::int64_t flat = excess.flatten().argmax().item().toLong();
    leaf.expected = elementText(expected.flatten()[flat]);
    leaf.got = elementText(got.flatten()[flat]);
    leaf.worstIndex = indexOf(flat, leaf.shape);
    leaf.verdict = leaf.mismatched > 0 ? "fail" : "close";
    leaf.statistics.maxUlp = largestUlp(expected, got);
    compareAsVectors(wide, wideGot, leaf.statistics);
    if (isReal) {
        countNonFinite(wide, wideGot, leaf.statistics);
    }
    if (leaf.mismatched > 0) {
        leaf.statistics.firstBadIndex = indexOf(isMismatch.flatten().to(at::kByte).argmax().item().toLong(), leaf.shape);
        explainMismatch(leaf);
    }
}

bool isOnlyNanBits(const at::Tensor& expected, const at::Tensor& got) {
    const at::Tensor isNan = expected.isnan();
    return isNan.equal(got.isnan()) && hasSameBits(expected.masked_fill(isNan, 0), got.masked_fill(isNan, 0));
}

void describeExact(const at::Tensor& expected, LeafResult& leaf) {
    leaf.verdict = "exact";
    leaf.maxAbsDiff = 0;
    leaf.maxRelDiff = 0;
    const c10::ScalarType type = expected.scalar_type();
    const bool isOrdinary = type == at::kHalf || type == at::kBFloat16 || type == at::kFloat || type == at::kDouble ||
                            type == at::kComplexFloat || type == at::kComplexDouble;
    if (!isOrdinary || expected.numel() == 0) {
        return;
    }
    leaf.statistics.maxUlp = 0;
    const bool isZero = !expected.isfinite().logical_and(expected.ne(0)).any().item().toBool();
    if (!isZero) {
        leaf.statistics.cosine = 1;
        leaf.statistics.normRelativeError = 0;
    }
    leaf.statistics.nanExpected = countOf(expected.isnan());
    leaf.statistics.infiniteExpected = countOf(expected.isinf());
    leaf.statistics.nanGot = leaf.statistics.nanExpected;
    leaf.statistics.infiniteGot = leaf.statistics.infiniteExpected;
}

/// What `tensor` is besides a dense tensor; empty for one.
std::string kindOf(const at::Tensor& tensor) {
    if (tensor.is_nested()) {
        return "a nested tensor";
    }
    if (tensor.layout() != at::kStrided) {
        return tensor.is_mkldnn() ? "a tensor in a layout of oneDNN" : "a sparse tensor";
    }
    return {};
}

}  // namespace

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

at::Tensor onHost(const at::Tensor& tensor) {
    return tensor.detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous();
}

bool hasSameBits(const at::Tensor& left, const at::Tensor& right) {
    return left.nbytes() == right.nbytes() &&
           (left.nbytes() == 0 || std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0);
}

double largestDifference(const at::Tensor& left, const at::Tensor& right) {
    if (left.numel() == 0 || !hasArithmetic(left.scalar_type())) {
        return 0;
    }
    const at::Tensor a = asWide(left);
    const at::Tensor b = asWide(right);
    const at::Tensor isEqual = a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
    const double infinity = std::numeric_limits<double>::infinity();
    return (a - b).abs().masked_fill(isEqual, 0.0).nan_to_num(infinity, infinity).max().item().toDouble();
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
    const std::string kind = kindOf(gotTensor);
    if (!kind.empty() || gotTensor.scalar_type() != expectedTensor.scalar_type() ||
        gotTensor.sizes() != expectedTensor.sizes()) {
        leaf.verdict = "fail";
        leaf.mismatched = leaf.elements;
        leaf.statistics.failedCheck = "structure";
        leaf.reason = "expected " + leaf.dtype + shapeText(leaf.shape) + ", got " +
                      (kind.empty() ? std::string(base::scalarTypeName(captureType(gotTensor.scalar_type()))) +
                                          shapeText(gotTensor.sizes().vec())
                                    : kind);
        return leaf;
    }
    const at::Tensor expected = onHost(expectedTensor);
    const at::Tensor got = onHost(gotTensor);
    const bool canCompute = hasArithmetic(expected.scalar_type());
    if (hasSameBits(expected, got) || (canCompute && isInexact(expected.scalar_type()) && isOnlyNanBits(expected, got))) {
        describeExact(expected, leaf);
    } else if (canCompute) {
        compareValues(expected, got, leaf);
    } else {
        leaf.verdict = "fail";
        leaf.mismatched = leaf.elements;
        leaf.statistics.failedCheck = "values";
        leaf.reason = "the bits differ";
    }
    return leaf;
}

}  // namespace modulelens::engine
