// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/TorchTypes.h"

#include "backend/base/Guarded.h"

#include <c10/util/Exception.h>
#include <array>
#include <utility>

namespace modulelens::engine {

namespace {

using From = base::ScalarType;
using To = c10::ScalarType;

constexpr std::array kPairs{
    std::pair{From::UInt8, To::Byte},
    std::pair{From::Int8, To::Char},
    std::pair{From::Int16, To::Short},
    std::pair{From::Int32, To::Int},
    std::pair{From::Int64, To::Long},
    std::pair{From::UInt16, To::UInt16},
    std::pair{From::UInt32, To::UInt32},
    std::pair{From::UInt64, To::UInt64},
    std::pair{From::Float16, To::Half},
    std::pair{From::Float32, To::Float},
    std::pair{From::Float64, To::Double},
    std::pair{From::BFloat16, To::BFloat16},
    std::pair{From::Complex32, To::ComplexHalf},
    std::pair{From::Complex64, To::ComplexFloat},
    std::pair{From::Complex128, To::ComplexDouble},
    std::pair{From::Bool, To::Bool},
    std::pair{From::Float8E4M3FN, To::Float8_e4m3fn},
    std::pair{From::Float8E5M2, To::Float8_e5m2},
    std::pair{From::Float8E4M3FNUZ, To::Float8_e4m3fnuz},
    std::pair{From::Float8E5M2FNUZ, To::Float8_e5m2fnuz},
    std::pair{From::Float8E8M0FNU, To::Float8_e8m0fnu},
    std::pair{From::QInt8, To::QInt8},
    std::pair{From::QUInt8, To::QUInt8},
    std::pair{From::QInt32, To::QInt32},
    std::pair{From::Bits8, To::Bits8},
    std::pair{From::Bits16, To::Bits16},
    std::pair{From::Float4E2M1FNx2, To::Float4_e2m1fn_x2},
    std::pair{From::QUInt4x2, To::QUInt4x2},
    std::pair{From::QUInt2x4, To::QUInt2x4},
    std::pair{From::Bits1x8, To::Bits1x8},
    std::pair{From::Bits2x4, To::Bits2x4},
    std::pair{From::Bits4x2, To::Bits4x2},
    std::pair{From::UInt1, To::UInt1},
    std::pair{From::UInt2, To::UInt2},
    std::pair{From::UInt3, To::UInt3},
    std::pair{From::UInt4, To::UInt4},
    std::pair{From::UInt5, To::UInt5},
    std::pair{From::UInt6, To::UInt6},
    std::pair{From::UInt7, To::UInt7},
    std::pair{From::Int1, To::Int1},
    std::pair{From::Int2, To::Int2},
    std::pair{From::Int3, To::Int3},
    std::pair{From::Int4, To::Int4},
    std::pair{From::Int5, To::Int5},
    std::pair{From::Int6, To::Int6},
    std::pair{From::Int7, To::Int7},
};

/// Words of LibTorch's allocators. The interpreter of TorchScript keeps nothing else of the error that it met.
bool saysOutOfMemory(std::string_view text) {
    return text.find("can't allocate memory") != std::string_view::npos ||
           text.find("out of memory. Tried to allocate") != std::string_view::npos;
}

bool isAllocationFailure(const c10::Error& error) {
    return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr || saysOutOfMemory(error.what_without_backtrace());
}

base::Error outOfMemory(std::string text) {
    return {base::ErrorCode::OutOfMemory, std::move(text),
            "Work on a smaller module or batch, or on a device with more memory."};
}

}  // namespace

c10::ScalarType torchType(base::ScalarType type) {
    for (const auto& [from, to] : kPairs) {
        if (from == type) {
            return to;
        }
    }
    throw Failure({base::ErrorCode::Unsupported, "the element type cannot be represented in LibTorch", ""});
}

base::ScalarType captureType(c10::ScalarType type) {
    for (const auto& [from, to] : kPairs) {
        if (to == type) {
            return from;
        }
    }
    throw Failure({base::ErrorCode::Unsupported,
                   std::string("tensors of the element type ") + c10::toString(type) + " cannot be stored", ""});
}

base::Error errorOfException(std::string_view where) noexcept {
    try {
        throw;
    } catch (const Failure& failure) {
        return failure.error();
    } catch (const c10::Error& error) {
        const std::string text = std::string(where) + ": " + error.what_without_backtrace();
        if (isAllocationFailure(error)) {
            return outOfMemory(text);
        }
        if (dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr) {
            return {base::ErrorCode::Unsupported, text, "Run on another device."};
        }
        return {base::ErrorCode::Internal, text, ""};
    } catch (const std::exception& error) {
        if (saysOutOfMemory(error.what())) {
            return outOfMemory(std::string(where) + ": there is no memory for the program's tensors");
        }
        return base::errorFromCurrentException(where);
    } catch (...) {
        return base::errorFromCurrentException(where);
    }
}

}  // namespace modulelens::engine
