// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/TensorStatistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace modulelens::operations {

namespace {

using capture::ScalarType;

constexpr std::size_t kBlockElements = std::size_t{1} << 16;
constexpr std::size_t kHistogramBins = 16;

/// An IEEE-like small float: sign, `ExponentBits`, the rest mantissa.
template <int ExponentBits, int MantissaBits>
double decodeIeee(std::uint32_t bits) {
    constexpr std::uint32_t kExponentMask = (1U << ExponentBits) - 1;
    constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
    const std::uint32_t mantissa = bits & ((1U << MantissaBits) - 1);
    const std::uint32_t exponent = (bits >> MantissaBits) & kExponentMask;
    const double sign = (bits >> (ExponentBits + MantissaBits)) != 0 ? -1.0 : 1.0;
    if (exponent == kExponentMask) {
        return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    }
    const double fraction = std::ldexp(static_cast<double>(mantissa), -MantissaBits);
    return exponent == 0 ? sign * std::ldexp(fraction, 1 - kBias)
                         : sign * std::ldexp(1.0 + fraction, static_cast<int>(exponent) - kBias);
}

/// The float8 kinds without infinities: `fn` has NaN in the all-ones pattern, `fnuz` in the pattern of negative zero.
template <int ExponentBits, int MantissaBits, bool IsUnsignedZero>
double decodeFinite(std::uint32_t bits) {
    constexpr int kBias = (1 << (ExponentBits - 1)) - (IsUnsignedZero ? 0 : 1);
    const bool isNan = IsUnsignedZero ? bits == 0x80U : (bits & 0x7FU) == 0x7FU;
    if (isNan) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    const std::uint32_t mantissa = bits & ((1U << MantissaBits) - 1);
    const std::uint32_t exponent = (bits >> MantissaBits) & ((1U << ExponentBits) - 1);
    const double sign = (bits & 0x80U) != 0 ? -1.0 : 1.0;
    const double fraction = std::ldexp(static_cast<double>(mantissa), -MantissaBits);
    return exponent == 0 ? sign * std::ldexp(fraction, 1 - kBias)
                         : sign * std::ldexp(1.0 + fraction, static_cast<int>(exponent) - kBias);
}

double decodeE8M0(std::uint32_t bits) {
    return bits == 0xFFU ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

double decodeBfloat16(std::uint32_t bits) {
    const std::uint32_t wide = bits << 16U;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

template <class Stored, class Convert>
void decodeBlock(std::span<const std::byte> bytes, double* out, Convert convert) {
    const std::size_t count = bytes.size() / sizeof(Stored);
    for (std::size_t i = 0; i < count; ++i) {
        Stored stored;
        std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof stored);
        out[i] = static_cast<double>(convert(stored));
    }
}

const auto kAsIs = [](auto value) { return value; };

/// Decodes whole elements; false for a dtype that has no order or no decoder. A null `out` only asks.
bool decode(ScalarType type, std::span<const std::byte> bytes, double* out) {
    switch (type) {
        case ScalarType::UInt8:
            return decodeBlock<std::uint8_t>(bytes, out, kAsIs), true;
        case ScalarType::Int8:
            return decodeBlock<std::int8_t>(bytes, out, kAsIs), true;
        case ScalarType::UInt16:
            return decodeBlock<std::uint16_t>(bytes, out, kAsIs), true;
        case ScalarType::Int16:
            return decodeBlock<std::int16_t>(bytes, out, kAsIs), true;
        case ScalarType::UInt32:
            return decodeBlock<std::uint32_t>(bytes, out, kAsIs), true;
        case ScalarType::Int32:
            return decodeBlock<std::int32_t>(bytes, out, kAsIs), true;
        case ScalarType::UInt64:
            return decodeBlock<std::uint64_t>(bytes, out, kAsIs), true;
        case ScalarType::Int64:
            return decodeBlock<std::int64_t>(bytes, out, kAsIs), true;
        case ScalarType::Bool:
            return decodeBlock<std::uint8_t>(bytes, out, [](std::uint8_t value) { return value != 0 ? 1 : 0; }), true;
        case ScalarType::Float32:
            return decodeBlock<float>(bytes, out, kAsIs), true;
        case ScalarType::Float64:
            return decodeBlock<double>(bytes, out, kAsIs), true;
        case ScalarType::Float16:
            return decodeBlock<std::uint16_t>(bytes, out, decodeIeee<5, 10>), true;
        case ScalarType::BFloat16:
            return decodeBlock<std::uint16_t>(bytes, out, decodeBfloat16), true;
        case ScalarType::Float8E5M2:
            return decodeBlock<std::uint8_t>(bytes, out, decodeIeee<5, 2>), true;
        case ScalarType::Float8E4M3FN:
            return decodeBlock<std::uint8_t>(bytes, out, decodeFinite<4, 3, false>), true;
        case ScalarType::Float8E4M3FNUZ:
            return decodeBlock<std::uint8_t>(bytes, out, decodeFinite<4, 3, true>), true;
        case ScalarType::Float8E5M2FNUZ:
            return decodeBlock<std::uint8_t>(bytes, out, decodeFinite<5, 2, true>), true;
        case ScalarType::Float8E8M0FNU:
            return decodeBlock<std::uint8_t>(bytes, out, decodeE8M0), true;
        default:
            return false;
    }
}

base::Error cancelledError() {
    return {base::ErrorCode::Cancelled, "the statistics were cancelled", {}};
}

/// Calls `visit` with each block of decoded elements. False: stopped.
template <class Visit>
bool forEachBlock(ScalarType type, std::span<const std::byte> bytes, const std::stop_token& stop, Visit visit) {
    const std::size_t elementBytes = capture::elementSizeBytes(type);
    std::vector<double> block(std::min(kBlockElements, bytes.size() / elementBytes));
    for (std::size_t offset = 0; offset < bytes.size(); offset += kBlockElements * elementBytes) {
        if (stop.stop_requested()) {
            return false;
        }
        const auto part = bytes.subspan(offset, std::min(kBlockElements * elementBytes, bytes.size() - offset));
        decode(type, part, block.data());
        visit(std::span<const double>(block.data(), part.size() / elementBytes));
    }
    return true;
}

struct FirstPass {
    std::int64_t nans = 0;
    std::int64_t infinities = 0;
    std::int64_t zeros = 0;
    std::int64_t finite = 0;
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    double sum = 0;

    void add(std::span<const double> values) {
        double blockSum = 0;
        for (const double value : values) {
            if (std::isfinite(value)) {
                ++finite;
                zeros += value == 0 ? 1 : 0;
                minimum = std::min(minimum, value);
                maximum = std::max(maximum, value);
                blockSum += value;
            } else if (std::isnan(value)) {
                ++nans;
            } else {
                ++infinities;
            }
        }
        sum += blockSum;
    }
};

struct SecondPass {
    double mean = 0;
    double minimum = 0;
    double halfWidth = 0; ///< Halves, since the width of float64 values may overflow.
    double squares = 0;
    std::vector<std::int64_t> bins = std::vector<std::int64_t>(kHistogramBins, 0);

    void add(std::span<const double> values) {
        double blockSquares = 0;
        for (const double value : values) {
            if (!std::isfinite(value)) {
                continue;
            }
            const double deviation = value - mean;
            blockSquares += deviation * deviation;
            const double above = value / 2 - minimum / 2;
            const double position = halfWidth > 0 ? above / halfWidth * static_cast<double>(kHistogramBins) : 0;
            ++bins[std::min(static_cast<std::size_t>(position), kHistogramBins - 1)];
        }
        squares += blockSquares;
    }
};

} // namespace

base::Result<TensorStatistics> computeStatistics(const capture::TensorReference& tensor, std::span<const std::byte> bytes,
                                                 std::stop_token stop) {
    TensorStatistics statistics;
    statistics.tensor = tensor;
    statistics.elements = tensor.elementCount();
    if (!decode(tensor.dtype, {}, nullptr)) {
        statistics.gap = "values of dtype " + std::string(capture::scalarTypeName(tensor.dtype)) + " have no order";
        return statistics;
    }
    const std::size_t elementBytes = capture::elementSizeBytes(tensor.dtype);
    if (bytes.size() % elementBytes != 0 || static_cast<std::int64_t>(bytes.size()) != tensor.storedBytes()) {
        return base::Error{base::ErrorCode::Corrupt,
                           "tensor data of " + std::to_string(bytes.size()) + " bytes does not fit its shape",
                           "Import the capture again."};
    }
    const auto stored = static_cast<std::int64_t>(bytes.size() / elementBytes);
    const std::int64_t repeats = stored > 0 ? std::max<std::int64_t>(statistics.elements / stored, 1) : 1;
    FirstPass first;
    if (!forEachBlock(tensor.dtype, bytes, stop, [&](std::span<const double> values) { first.add(values); })) {
        return cancelledError();
    }
    statistics.nanCount = first.nans * repeats;
    statistics.infiniteCount = first.infinities * repeats;
    statistics.zeroCount = first.zeros * repeats;
    if (first.finite == 0) {
        return statistics;
    }
    SecondPass second;
    second.mean = first.sum / static_cast<double>(first.finite);
    second.minimum = first.minimum;
    second.halfWidth = first.maximum / 2 - first.minimum / 2;
    if (!forEachBlock(tensor.dtype, bytes, stop, [&](std::span<const double> values) { second.add(values); })) {
        return cancelledError();
    }
    statistics.minimum = first.minimum;
    statistics.maximum = first.maximum;
    // Sums of finite float64 values may still overflow; what is not a number is not shown as one.
    if (std::isfinite(second.mean)) {
        statistics.mean = second.mean;
    }
    const double deviation = std::sqrt(second.squares / static_cast<double>(first.finite));
    if (std::isfinite(deviation)) {
        statistics.standardDeviation = deviation;
    }
    for (std::int64_t& bin : second.bins) {
        bin *= repeats;
    }
    statistics.histogram = std::move(second.bins);
    return statistics;
}

} // namespace modulelens::operations
